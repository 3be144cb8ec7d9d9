import { type AgentSmithyHandlers, agentsmithy, type ChatMessage } from "@parlance/protocols/agentsmithy";
import { Refusal } from "@parlance/server";
import { expect, it } from "vitest";
import { aborted, all, deferred, hold, overEachCarrier } from "./carriers.js";

const diff: ChatMessage & { type: "diff" } = {
  type: "diff",
  file: "a.py",
  diff: "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n",
  line_start: 1,
  line_end: 1,
  reason: "é",
};
const flow: readonly ChatMessage[] = [
  { type: "classification", task_type: "refactor" },
  { type: "content", content: "I'll " },
  diff,
  { type: "content", content: "do it" },
  { type: "done" },
];
const input = { messages: [{ role: "user" as const, content: "refactor" }] };
const completion = { content: "I'll do it", diffs: [diff], done: true as const };
const handlers: AgentSmithyHandlers = {
  async *chat() {
    yield* flow;
  },
  complete: () => completion,
};
const saying = (chat: AgentSmithyHandlers["chat"]): AgentSmithyHandlers => ({ ...handlers, chat });

overEachCarrier("agentsmithy", (carrier) => {
  it("a whole conversation, which the hooks see in order", async () => {
    const { client, seen } = await hold(carrier, agentsmithy, handlers);
    expect(await all(client.chat(input))).toEqual(flow);
    expect(seen).toEqual(["request chat", "open chat", ...flow.map(({ type }) => `server ${type}`), "close chat done"]);
    expect(await client.chat(input).text()).toBe("I'll do it");
  });

  it("`stream: false` is answered with one JSON body, on the same path", async () => {
    const { client, seen } = await hold(carrier, agentsmithy, handlers);
    expect(await client.complete(input)).toEqual(completion);
    expect(seen).toEqual(["request complete"]);
  });

  it("the end is written as every editor client knows it, and in the document's bare form where that is asked for", async () => {
    const forms: [served: { profile?: string }, end: object][] = [
      [{}, { type: "done", done: true }],
      [{ profile: "bare" }, { done: true }],
    ];
    for (const [served, end] of forms) {
      const { client, connection } = await hold(carrier, agentsmithy, handlers, { served });
      expect(await all(client.chat(input))).toEqual(flow);
      const request = new Request(`${connection.baseUrl}/api/chat`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(input),
      });
      const text = await (await (connection.fetch ?? fetch)(request)).text();
      expect(JSON.parse(text.trimEnd().split("\n").at(-1)!.slice("data: ".length))).toEqual(end);
    }
  });

  it("a refusal before the first message has a status of its own", async () => {
    const { client } = await hold(
      carrier,
      agentsmithy,
      saying(() => {
        throw new Refusal("too many chats", { status: 429, retryAfter: 7 });
      }),
    );
    await expect(client.chat(input).opened).rejects.toMatchObject({
      name: "Refusal",
      status: 429,
      message: "too many chats",
      retryAfter: 7,
      retryable: true,
    });
  });

  it("a handler that fails in the middle ends the stream with `error`, and its text is a refusal", async () => {
    const { client } = await hold(
      carrier,
      agentsmithy,
      saying(async function* () {
        yield { type: "content", content: "I " };
        throw new Refusal("the model is gone");
      }),
    );
    expect(await all(client.chat(input))).toEqual([
      { type: "content", content: "I " },
      { type: "error", error: "the model is gone" },
    ]);
    await expect(client.chat(input).text()).rejects.toMatchObject({ name: "Refusal", message: "the model is gone" });
  });

  it("`error` and then the end of the body is an end, and so is `error` and then `done`", async () => {
    for (const rest of [[], [{ type: "done" }]] as ChatMessage[][]) {
      const said: ChatMessage[] = [{ type: "error", error: "no" }, ...rest];
      const { client, seen } = await hold(
        carrier,
        agentsmithy,
        saying(async function* () {
          yield* said;
        }),
      );
      expect(await all(client.chat(input))).toEqual(said);
      expect(seen.at(-1)).toBe("close chat done");
      await expect(client.chat(input).text()).rejects.toMatchObject({ name: "Refusal", message: "no" });
    }
  });

  it("more streams than the limit are refused with 429, and fewer are not", async () => {
    const { client } = await hold(
      carrier,
      agentsmithy,
      saying(async function* (_, { signal }) {
        yield { type: "content", content: "wait" };
        await aborted(signal);
      }),
      { served: { maxStreams: 2, authenticate: () => "me" }, connected: { resume: false } },
    );
    const open = [client.chat(input), client.chat(input)];
    for (const stream of open) await stream.opened;
    await expect(client.chat(input).opened).rejects.toMatchObject({ name: "Refusal", status: 429 });
    for (const stream of open) stream.cancel();
  });

  it("leaving the loop, or cancelling, aborts the handler's signal", async () => {
    const left = [deferred(), deferred()];
    let calls = 0;
    const { client } = await hold(
      carrier,
      agentsmithy,
      saying(async function* (_, { signal }) {
        const mine = left[calls++]!;
        yield { type: "content", content: "wait" };
        await aborted(signal);
        mine.resolve();
      }),
    );
    for await (const _ of client.chat(input)) break;
    const stream = client.chat(input);
    await stream.opened;
    stream.cancel();
    await Promise.all(left.map(({ promise }) => promise));
    expect(await all(stream)).toEqual([]);
  });

  it("a signal ends a call, and aborts its handler", async () => {
    const controller = new AbortController();
    const left = deferred();
    const { client } = await hold(carrier, agentsmithy, {
      ...handlers,
      async complete(_, { signal }) {
        controller.abort(new Error("enough"));
        await aborted(signal);
        left.resolve();
        return completion;
      },
    });
    await expect(client.complete(input, { signal: controller.signal })).rejects.toThrow("enough");
    await left.promise;
  });
});
