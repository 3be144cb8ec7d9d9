import { Disconnected, Refusal } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway, type SendMessage } from "@parlance/protocols/fold-gateway";
import { expect, it } from "vitest";
import { aborted, all, deferred, hold, overEachCarrier } from "./carriers.js";

const agents = [{ id: "1", name: "echo", capabilities: ["chat"] }];
const handlers: FoldGatewayHandlers = {
  health: () => "OK",
  ready: () => "ready (1 agents)",
  listAgents: () => agents,
  async *send({ content }) {
    yield { type: "text", text: content };
    yield { type: "done", full_response: content };
  },
};
const saying = (send: FoldGatewayHandlers["send"]): FoldGatewayHandlers => ({ ...handlers, send });
const flow: readonly SendMessage[] = [
  { type: "thinking", text: "hm\u2028\r\n" },
  { type: "text", text: "I " },
  { type: "tool_use", id: "t1", name: "read_file", input_json: "not JSON {" },
  { type: "tool_result", id: "t1", output: "😀\0", is_error: false },
  { type: "text", text: "see" },
  { type: "file", filename: "a.png", mime_type: "image/png" },
  { type: "done", full_response: "I see it" },
];

overEachCarrier("fold-gateway", (carrier) => {
  it("a whole conversation, which the hooks see in order", async () => {
    const { client, seen } = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        yield* flow;
      }),
    );
    expect(await client.health()).toBe("OK");
    expect(await client.ready()).toBe("ready (1 agents)");
    expect(await client.listAgents()).toEqual(agents);
    seen.length = 0;
    expect(await all(client.send({ content: "look" }))).toEqual(flow);
    expect(seen).toEqual(["request send", "open send", ...flow.map(({ type }) => `server ${type}`), "close send done"]);
  });

  it("the text is what `done` says, whatever text events were dropped", async () => {
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        yield* flow;
      }),
    );
    expect(await client.send({ content: "look" }).text()).toBe("I see it");
  });

  it.each([
    [404, "agent 7 not found"],
    [503, "no agents connected"],
  ])("a handler refuses with %s before its first message", async (status, message) => {
    const { client, seen } = await hold(
      carrier,
      foldGateway,
      saying(() => {
        throw new Refusal(message, { status });
      }),
    );
    const stream = client.send({ content: "hello", agent_id: "7" });
    await expect(stream.opened).rejects.toMatchObject({ name: "Refusal", status, message });
    await expect(all(stream)).rejects.toBeInstanceOf(Refusal);
    expect(seen).toEqual(["request send", `refuse send ${status}`]);
  });

  it("readiness is refused in plain text, and the rest in JSON", async () => {
    const { connection, client } = await hold(carrier, foldGateway, {
      ...handlers,
      ready: () => {
        throw new Refusal("no agents connected", { status: 503 });
      },
    });
    await expect(client.ready()).rejects.toMatchObject({
      status: 503,
      message: "no agents connected",
      retryable: true,
    });
    const request = (path: string) => (connection.fetch ?? fetch)(new Request(`${connection.baseUrl}${path}`));
    const ready = await request("/health/ready");
    expect([ready.status, ready.headers.get("Content-Type"), await ready.text()]).toEqual([
      503,
      "text/plain",
      "no agents connected",
    ]);
    const nothing = await request("/nothing");
    expect([nothing.status, nothing.headers.get("Content-Type")]).toEqual([404, "application/json"]);
    expect(await nothing.json()).toEqual({ error: expect.stringContaining("/nothing") });
  });

  it.each([
    ["a refusal, in its words", () => new Refusal("the agent has gone", { status: 502 }), "the agent has gone"],
    ["a bug, without its words", () => new TypeError("secret"), "the server failed"],
  ])("a handler that fails in the middle with %s ends the stream with `error`", async (_, error, message) => {
    const failing = saying(async function* () {
      yield { type: "text", text: "I " };
      throw error();
    });
    const { client, seen } = await hold(carrier, foldGateway, failing);
    expect(await all(client.send({ content: "x" }))).toEqual([
      { type: "text", text: "I " },
      { type: "error", error: message },
    ]);
    expect(seen.at(-1)).toBe("close send failed");
    await expect(client.send({ content: "x" }).text()).rejects.toMatchObject({ name: "Refusal", message });
  });

  it("a handler that breaks its own schema is a failure that the hook sees: a status first, a message later", async () => {
    const wrong = { type: "text", text: 7 } as unknown as SendMessage;
    const causes: unknown[] = [];
    const served = { hooks: { refuse: (_: Request, __: Refusal, cause: unknown) => void causes.push(cause) } };
    const first = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        yield wrong;
      }),
      { served },
    );
    await expect(first.client.send({ content: "x" }).opened).rejects.toMatchObject({ status: 500 });
    const later = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        yield { type: "text", text: "a" };
        yield wrong;
      }),
      { served },
    );
    expect((await all(later.client.send({ content: "x" }))).at(-1)).toEqual({
      type: "error",
      error: "the server failed",
    });
    expect(causes).toMatchObject([
      { name: "Violation", code: "schema", side: "server", subject: "text", flaws: [{ at: "/text" }] },
      { name: "Violation", code: "schema", side: "server", subject: "text", flaws: [{ at: "/text" }] },
    ]);
  });

  it("a handler that forgets to end its stream has failed", async () => {
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        yield { type: "text", text: "a" };
      }),
    );
    await expect(client.send({ content: "x" }).text()).rejects.toMatchObject({ message: "the server failed" });
  });

  it("leaving the loop aborts the handler's signal and runs its `finally`", async () => {
    const left = deferred();
    const over = deferred();
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* (_, call) {
        try {
          for (let i = 0; !call.signal.aborted; i++) {
            yield { type: "text", text: `${i}` };
            await new Promise((resolve) => setImmediate(resolve));
          }
          left.resolve();
        } finally {
          over.resolve();
        }
      }),
    );
    for await (const message of client.send({ content: "x" })) if (message.type === "text") break;
    await Promise.race([left.promise, over.promise]);
    await over.promise;
  });

  it("leaving the loop reaches a handler that waits for something else", async () => {
    const left = deferred();
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* (_, call) {
        yield { type: "text", text: "wait" };
        await aborted(call.signal);
        left.resolve();
      }),
    );
    for await (const _ of client.send({ content: "x" })) break;
    await left.promise;
  });

  it("a signal ends a stream with its reason, before it is opened and while it is read", async () => {
    const left = deferred();
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* (_, call) {
        yield { type: "text", text: "wait" };
        await aborted(call.signal);
        left.resolve();
      }),
    );
    const reason = new Error("enough");
    const early = client.send({ content: "x" }, { signal: AbortSignal.abort(reason) });
    await expect(early.opened).rejects.toBe(reason);
    await expect(all(early)).rejects.toBe(reason);
    const controller = new AbortController();
    const stream = client.send({ content: "x" }, { signal: controller.signal });
    const reading = (async () => {
      for await (const _ of stream) controller.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    await left.promise;
  });

  it("a signal ends a call that nobody answers, and the whole client", async () => {
    const reached = deferred();
    const left = deferred();
    const controller = new AbortController();
    const never: FoldGatewayHandlers = {
      ...handlers,
      listAgents: async (_, call) => {
        reached.resolve();
        await aborted(call.signal);
        left.resolve();
        return agents;
      },
    };
    const { client } = await hold(carrier, foldGateway, never, { connected: { signal: controller.signal } });
    const call = client.listAgents();
    const reason = new Error("enough");
    reached.promise.then(() => controller.abort(reason));
    await expect(call).rejects.toBe(reason);
    await left.promise;
    await expect(client.health()).rejects.toBe(reason);
  });

  it("twenty conversations at once do not mix", async () => {
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* ({ content }) {
        for (let i = 0; i < 5; i++) {
          yield { type: "text", text: `${content}.${i} ` };
          await new Promise((resolve) => setImmediate(resolve));
        }
        yield { type: "done", full_response: "" };
      }),
    );
    const numbers = Array.from({ length: 20 }, (_, i) => `${i}`);
    const heard = await Promise.all(numbers.map((content) => all(client.send({ content }))));
    for (const [i, messages] of heard.entries())
      expect(messages.map((message) => (message.type === "text" ? message.text : ""))).toEqual([
        `${i}.0 `,
        `${i}.1 `,
        `${i}.2 `,
        `${i}.3 `,
        `${i}.4 `,
        "",
      ]);
  });

  it("after `done` nothing more is asked of the handler, which is closed", async () => {
    const over = deferred();
    const { client } = await hold(
      carrier,
      foldGateway,
      saying(async function* () {
        try {
          yield { type: "done", full_response: "a" };
          yield { type: "text", text: "too late" };
          throw new Error("nobody should come here");
        } finally {
          over.resolve();
        }
      }),
    );
    expect(await client.send({ content: "x" }).text()).toBe("a");
    await over.promise;
  });

  it("a closing server cuts what runs, and its client gets an error", async () => {
    const opened = deferred();
    const { client, app } = await hold(
      carrier,
      foldGateway,
      saying(async function* (_, call) {
        yield { type: "text", text: "wait" };
        opened.resolve();
        await aborted(call.signal);
      }),
    );
    const reading = all(client.send({ content: "x" }));
    await opened.promise;
    app.close();
    await expect(reading).rejects.toBeInstanceOf(Disconnected);
    await expect(client.send({ content: "x" }).opened).rejects.toMatchObject({ status: 503 });
  });

  it("an empty content counts as a missing one", async () => {
    const { client } = await hold(carrier, foldGateway, handlers);
    for (const input of [{ content: "" }, {} as { content: string }])
      await expect(client.send(input).text()).rejects.toMatchObject({ name: "Refusal", status: 400 });
  });

  it("no agent at all is an empty list", async () => {
    const { client } = await hold(carrier, foldGateway, { ...handlers, listAgents: () => [] });
    expect(await client.listAgents()).toEqual([]);
  });

  it("a field of a later version is kept", async () => {
    const file = { type: "file" as const, filename: "a.png", mime_type: "image/png", url: "/files/1" };
    const saying = async function* () {
      yield file;
      yield { type: "done" as const, full_response: "" };
    };
    const { client } = await hold(carrier, foldGateway, { ...handlers, send: saying });
    expect((await all(client.send({ content: "x" })))[0]).toEqual(file);
  });

  it("over a socket the stream's connection is kept alive", async () => {
    const { connection } = await hold(carrier, foldGateway, handlers);
    if (connection.fetch) return;
    const answer = await fetch(`${connection.baseUrl}/api/send`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"content":"x"}',
    });
    expect(answer.headers.get("Connection")).toBe("keep-alive");
    await answer.text();
  });
});
