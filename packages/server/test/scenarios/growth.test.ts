import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { type Contract, router } from "@parlance/wire";
import { expect, test } from "vitest";
import { measureGrowth } from "../../../edits/test/growth.js";

/** Makes the work of a size. */
type Work = (size: number) => () => Promise<void>;

const TEXT = "a piece of an answer, as models say it";

/** A gateway whose streams have as many messages as their content says. */
function gateway() {
  return serve(
    foldGateway,
    {
      async *send({ content }) {
        for (let i = 0; i < Number(content); i++) yield { type: "text", text: TEXT };
        yield { type: "done", full_response: TEXT };
      },
    },
    { partial: true, maxQueued: 64 * 1024 * 1024 },
  );
}

async function readAll(app: ReturnType<typeof gateway>, content: number, key?: string): Promise<void> {
  const headers = { "Content-Type": "application/json", ...(key && { "Parlance-Resume": key }) };
  const body = JSON.stringify({ content: String(content) });
  const answer = await app.fetch(new Request("http://localhost/api/send", { method: "POST", headers, body }));
  expect(await answer.text()).toContain("event: done\n");
}

const newKey = () => crypto.randomUUID().replaceAll("-", "");

const works: Readonly<Record<string, { readonly size: number; readonly work: Work }>> = {
  "messages of a stream": {
    size: 1000,
    work: (size) => async () => {
      const app = gateway();
      await readAll(app, size);
      await app.close();
    },
  },
  "messages of a stream with a key": {
    size: 1000,
    work: (size) => async () => {
      const app = gateway();
      await readAll(app, size, newKey());
      await app.close();
    },
  },
  "streams that are open at once": {
    size: 50,
    work: (size) => async () => {
      const app = gateway();
      await Promise.all(Array.from({ length: size }, () => readAll(app, 10)));
      await app.close();
    },
  },
  "streams with keys that are open at once": {
    size: 50,
    work: (size) => async () => {
      const app = gateway();
      await Promise.all(Array.from({ length: size }, () => readAll(app, 10, newKey())));
      await app.close();
    },
  },
  "sessions, each with a reader": {
    size: 50,
    work: (size) => async () => {
      const app = serve(
        emacsAgent,
        {
          async *events() {
            yield { type: "agent.state", state: "idle" };
          },
          prompt({ session_id }, call) {
            call.session(session_id).send({ type: "message.delta", content: TEXT, role: "assistant" });
            return { status: "accepted", agent_state: "thinking" };
          },
          endSession: ({ session_id }) => ({ status: "closed", session_id }),
        },
        { partial: true },
      );
      const ask = (id: number, method: string, path: string, body?: string) => {
        const headers = { "Content-Type": "application/json" };
        return app.fetch(new Request(`http://localhost/api/sessions/${id}${path}`, { method, headers, body }));
      };
      const ids = Array.from({ length: size }, (_, id) => id);
      const read = await Promise.all(ids.map((id) => ask(id, "GET", "/events")));
      const texts = read.map((answer) => answer.text());
      for (const id of ids) expect((await ask(id, "POST", "/prompt", '{"text":"go"}')).status).toBe(200);
      await Promise.all(ids.map((id) => ask(id, "DELETE", "")));
      for (const text of await Promise.all(texts)) expect(text).toContain(TEXT);
      await app.close();
    },
  },
  "routes of a contract": {
    size: 1000,
    work: (size) => async () => {
      const paths = Array.from({ length: size }, (_, i) => `/v1/things-${i}/{id}`);
      const operations = paths.map((path, i) => [`of${i}`, { method: "GET", path, answer: { status: 204 } }]);
      const find = router({ operations: Object.fromEntries(operations), channels: {} } as unknown as Contract);
      for (const path of paths) expect(find("GET", path.replace("{id}", "7"))).toMatchObject({ path: { id: "7" } });
    },
  },
};

test.each(Object.entries(works))(
  "twice the %s take at most 2.3 times the processor time",
  async (_, { size, work }) => {
    expect(await measureGrowth(work, size, 2.3)).toBeLessThanOrEqual(2.3);
  },
);
