import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { Disconnected, Refusal, serve } from "@parlance/server";
import { type EventLog, memoryLog } from "@parlance/server/resume";
import type { OpenSocket, Port } from "@parlance/wire";
import { expect, it, test, vi } from "vitest";

// What an outsider broke with the packed packages: each is a test of its kind.

type Fold = Partial<FoldGatewayHandlers>;
const fold = (handlers: object) => handlers as Fold as FoldGatewayHandlers;

test.each(["send", "ask"] as const)(
  "%s of a wrong message fails at its sender, and no reader is harmed",
  async (how) => {
    const failures: unknown[] = [];
    const handlers = {
      prompt: async (_, call) => {
        const session = call.session("s") as unknown as Record<string, (message: object) => Promise<unknown>>;
        const wrong = { type: "tool.call", tool_call_id: "t1", tool: "x", requires_approval: true };
        await Promise.resolve()
          .then(() => session[how]!(wrong))
          .catch((error: unknown) => failures.push(error));
        call.session("s").send({ type: "message.delta", content: "right", role: "assistant" });
        return { status: "accepted", agent_state: "thinking" };
      },
      async *events() {
        yield { type: "agent.state", state: "idle" };
      },
    } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
    const app = serve(emacsAgent, handlers);
    const client = connect(emacsAgent, { fetch: app.fetch });
    const reader = client.events({ session_id: "s" })[Symbol.asyncIterator]();
    await reader.next();
    await client.prompt({ session_id: "s", text: "go" });
    expect(failures).toMatchObject([{ name: "Violation", code: "schema", side: "server" }]);
    expect((await reader.next()).value).toMatchObject({ content: "right" });
    await reader.return?.();
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ asks: 0, sessions: 0, readers: 0 }));
  },
);

it.each([401, 403, 426])(
  "a rejoin that is refused with %i ends the channel, with the messages that were not confirmed",
  async (status) => {
    const app = serve(based, {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
      },
    });
    let refused = false;
    let port: Port | undefined;
    const webSocket: OpenSocket = async (...args) => {
      const opened = await app.webSocket(...args);
      if (!("refused" in opened)) port = opened;
      return opened;
    };
    const fetch = async (request: Request) => (refused ? new Response("{}", { status }) : app.fetch(request));
    const session = await connect(based, { fetch, webSocket, random: () => 0, reconnectFor: 2000 }).session();
    await session.ask({ type: "list_files" });
    refused = true;
    port!.close(1006, "");
    const lost = { type: "prompt", prompt: "lost" } as const;
    session.send(lost as never);
    await expect(session.closed).rejects.toMatchObject({ name: "Disconnected", unconfirmed: [lost] });
  },
);

it.each([400, 426])(
  "a channel goes on after a cut where the first two handshakes are refused with %i",
  async (status) => {
    const app = serve(based, {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
      },
    });
    let refusals = 0;
    let port: Port | undefined;
    const webSocket: OpenSocket = async (...args) => {
      if (refusals-- > 0) return { refused: { status, body: "" } };
      const opened = await app.webSocket(...args);
      if (!("refused" in opened)) port = opened;
      return opened;
    };
    await using session = await connect(based, { fetch: app.fetch, webSocket, random: () => 0 }).session();
    refusals = 2;
    port!.close(1006, "");
    expect(await session.ask({ type: "list_files" })).toEqual({ type: "file_list", files: [] });
  },
);

/** A client whose every stream request runs its handler, and is answered as a second one that was cut on its way. */
function repeatedByFetch(answers: readonly Response[]) {
  const app = serve(
    foldGateway,
    fold({
      async *send() {
        yield { type: "text", text: "begun" };
        yield { type: "done", full_response: "begun" };
      },
    }),
  );
  const left = [...answers];
  const asked: string[] = [];
  const client = connect(foldGateway, {
    random: () => 0,
    async fetch(request) {
      asked.push(request.method);
      const answer = left.shift();
      if (!answer) return app.fetch(request);
      if (request.method === "POST") await (await app.fetch(request)).body?.cancel();
      return answer;
    },
  });
  return { client, asked };
}

it("a stream whose request was repeated, cut on its way and answered with a bare 400 is joined, and nothing of it is lost", async () => {
  const { client, asked } = repeatedByFetch([new Response(null, { status: 400 })]);
  const got = [];
  for await (const message of client.send({ content: "x" })) got.push(message.type);
  expect(got).toEqual(["text", "done"]);
  expect(asked).toEqual(["POST", "GET"]);
});

it.each([
  ["a bare 400 of a server that does not know the key", [400, 404], ["POST", "GET"]],
  ["a 400 with a body", ["the parser does not say this"], ["POST"]],
  ["a 400 with its status as the body", ["status 400"], ["POST"]],
])("%s is the error of its stream", async (_, answers, methods) => {
  const { client, asked } = repeatedByFetch(
    answers.map((answer) =>
      typeof answer === "number" ? new Response(null, { status: answer }) : new Response(answer, { status: 400 }),
    ),
  );
  await expect(client.send({ content: "x" }).text()).rejects.toMatchObject({ name: "Refusal", status: 400 });
  expect(asked).toEqual(methods);
});

it("a stream that is known, whose messages are gone, ends in a gap", async () => {
  const gone = () => new Response("gone", { status: 410, headers: { "Parlance-Resume": "gap; after=0" } });
  const { client, asked } = repeatedByFetch([gone()]);
  await expect(client.send({ content: "x" }).text()).rejects.toMatchObject({ name: "Disconnected", code: "gap" });
  expect(asked).toEqual(["POST"]);
});

it.each([
  ["a bare 400 once", [new Response(null, { status: 400 })], 2, true],
  ["503 twice", [new Response("log", { status: 503 }), new Response("log", { status: 503 })], 3, true],
  ["a 400 that says what it wants", [new Response("Upgrade Required", { status: 400 })], 1, false],
  ["404", [new Response(null, { status: 404 })], 1, false],
] as const)(
  "a channel whose handshake was cut on its way back, asked for and answered with %s",
  async (_, answers, asked, resumes) => {
    let begun = 0;
    const app = serve(based, {
      async session(_, channel) {
        begun++;
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
      },
    });
    const left = [...answers];
    let gets = 0;
    let cut = true;
    const opening = connect(based, {
      random: () => 0,
      async fetch(request) {
        if (request.method === "GET") gets++;
        return left.shift()?.clone() ?? app.fetch(request);
      },
      async webSocket(...args) {
        const opened = await app.webSocket(...args);
        if (!cut || "refused" in opened) return opened;
        cut = false;
        opened.close(1006, "");
        throw new Disconnected("the handshake was cut", { code: "unreachable", retryable: true });
      },
    }).session();
    if (resumes) expect(await (await opening).ask({ type: "list_files" })).toEqual({ type: "file_list", files: [] });
    else await expect(opening).rejects.toMatchObject({ name: "Disconnected", code: "unreachable" });
    expect([gets, begun]).toEqual([asked, 1]);
    app.close();
  },
);

test.each([
  ["rejects with a bug", async () => Promise.reject(new Error("model is down")), 500],
  ["rejects with a refusal", async () => Promise.reject(new Refusal("no such agent", { status: 404 })), 404],
  ["returns no messages", async () => "hello", 500],
  ["returns nothing", () => undefined, 500],
])(
  "a stream's handler that is an async function and %s is answered, and the process goes on",
  async (_, send, status) => {
    const app = serve(foldGateway, fold({ send }), { onError: false });
    const sent = connect(foldGateway, { fetch: app.fetch }).send({ content: "x" });
    await expect(sent.text()).rejects.toMatchObject({ name: "Refusal", status });
  },
);

test("a log whose tail is an async function ends its readers, and the process goes on", async () => {
  const tail = (async () => Promise.reject(new Error("no"))) as unknown as EventLog["tail"];
  const send = async function* () {
    yield { type: "done", full_response: "" };
  };
  const app = serve(foldGateway, fold({ send }), { log: { ...memoryLog(), tail }, onError: false });
  const sent = connect(foldGateway, { fetch: app.fetch, random: () => 0, reconnectFor: 300 }).send({ content: "x" });
  await expect(sent.text()).rejects.toMatchObject({ name: "Disconnected" });
});

test.each([
  ["evil.example", 403],
  ["evil.example:3000", 403],
  ["localhost.evil.example", 403],
  ["localhost:1234", 200],
])("app.fetch answers to the Host header %s with %i, whatever its URL", async (host, status) => {
  const app = serve(foldGateway, fold({ listAgents: () => [] }));
  const request = new Request("http://localhost:3000/api/agents", { headers: { host } });
  expect((await app.fetch(request)).status).toBe(status);
});

/** A memory log whose appends are kept a while later. */
function slow(keep: (append: () => Promise<void> | undefined) => Promise<void>): EventLog {
  const log = memoryLog();
  return {
    ...log,
    async open(stream) {
      const writer = await log.open(stream);
      return writer && { ...writer, append: (seq, text) => keep(() => writer.append(seq, text)) };
    },
  };
}

test("a log's close does not overtake what is still being appended", async () => {
  let last = Promise.resolve();
  const log = slow((append) => {
    last = last.then(() => new Promise<void>((resolve) => setTimeout(resolve, 10))).then(append);
    return last;
  });
  const send = async function* () {
    yield { type: "text", text: "one" };
    yield { type: "done", full_response: "one" };
  };
  const app = serve(foldGateway, fold({ send }), { log });
  expect(await connect(foldGateway, { fetch: app.fetch }).send({ content: "x" }).text()).toBe("one");
});

test.each([
  ["rejects", () => new Promise<void>((_, reject) => setTimeout(reject, 5, new Error("full")))],
  ["never settles", () => new Promise<void>(() => {})],
])("an append that %s after the handler has returned is reported", async (_, keep) => {
  const onError = vi.fn();
  const send = async function* () {
    yield { type: "done", full_response: "" };
  };
  const app = serve(foldGateway, fold({ send }), { log: slow(keep), onError, storeWithin: 30 });
  const sent = connect(foldGateway, { fetch: app.fetch, random: () => 0, reconnectFor: 300 }).send({ content: "x" });
  await expect(sent.text()).rejects.toMatchObject({ name: "Disconnected" });
  expect(onError).toHaveBeenCalledWith(expect.anything(), { source: "log", operation: "send" });
});

test.each(["not json", '{"type":"client.hello"}', '{"type":"client.cancel"}'])(
  "a client that opens with %s is the one that broke the contract, not the handler",
  async (frame) => {
    const onError = vi.fn();
    const stream: LoCoHandlers["stream"] = async (_, channel) => {
      for await (const _message of channel);
    };
    const app = serve(loco, { stream } as Partial<LoCoHandlers> as LoCoHandlers, { onError, allowAnonymous: true });
    const opened = await app.webSocket("ws://localhost/v1/sessions/s/stream", {
      headers: {},
      protocols: [],
      maxSize: 1e6,
    });
    if ("refused" in opened) throw new Error(opened.refused.body);
    const closed = new Promise<number>((resolve) => opened.listen({ frame() {}, close: resolve }));
    opened.send(frame);
    expect(await closed).toBe(1008);
    expect(onError).not.toHaveBeenCalled();
  },
);

test("one signal serves many calls at a time without a warning of Node, and keeps no listener", async () => {
  const { signal } = new AbortController();
  const send = async function* () {
    yield { type: "text", text: "one" };
    yield { type: "done", full_response: "one" };
  };
  const app = serve(foldGateway, fold({ send }));
  const gateway = connect(foldGateway, { fetch: app.fetch, signal });
  const texts = await Promise.all(Array.from({ length: 30 }, () => gateway.send({ content: "x" }).text()));
  expect(new Set(texts)).toEqual(new Set(["one"]));
});
