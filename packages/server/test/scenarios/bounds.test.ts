import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { bearer, serve } from "@parlance/server";
import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, test, vi } from "vitest";
import { agentOn, say } from "../cluster.js";

test("a session without a reader holds as much as `maxQueued`, and not a character more", async () => {
  const message = say("x");
  const maxQueued = 3 * JSON.stringify(message).length;
  const { session } = agentOn(memoryPubSub(), memoryLog(), { maxQueued });
  const { send } = await session("s");
  for (let i = 0; i < 3; i++) send(message);
  expect(() => send(message)).toThrow(`more than ${maxQueued} characters wait`);
});

test("copies of a request take places as readers do: twice `maxStreams`, and then 429", async () => {
  const handlers = {
    async *send(_, { signal }) {
      yield { type: "text", text: "one" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { authenticate: bearer({ a: "A" }), maxStreams: 1 });
  const headers = { "Content-Type": "application/json", Authorization: "Bearer a", [RESUME]: newKey() };
  const post = () =>
    app.fetch(new Request("http://localhost/api/send", { method: "POST", headers, body: '{"content":"x"}' }));
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await post());
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  for (const { body } of answers) await body!.cancel();
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ readers: 0, places: 1 }));
});
