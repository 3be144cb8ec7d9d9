import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";

// Closes an app whose log never answers, in a process that nothing else keeps alive, and prints a word after that.

const log = memoryLog();
const app = serve(
  foldGateway,
  {
    async *send() {
      yield { type: "text", text: "one" };
      await new Promise(() => {});
    },
  } as never,
  {
    partial: true,
    storeWithin: 200,
    log: {
      ...log,
      async open(stream) {
        return { ...(await log.open(stream))!, close: () => new Promise(() => {}) };
      },
    },
  },
);
const answer = await app.fetch(
  new Request("http://localhost/api/send", {
    method: "POST",
    headers: { "Content-Type": "application/json", [RESUME]: newKey() },
    body: '{"content":"x"}',
  }),
);
await answer.body!.getReader().read();
await app.close();
console.log("closed");
