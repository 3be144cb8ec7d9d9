import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type ConnectOptions, connect, Disconnected, Violation } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { Unknown } from "@parlance/wire";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";

/** A peer that is not ours: it sends these bytes to every request. */
function saying(body: string | Uint8Array, headers: Record<string, string> = SSE): ConnectOptions {
  return { fetch: async () => new Response(body as BodyInit, { headers }), retryWaits: [] };
}
const SSE = { "Content-Type": "text/event-stream; charset=utf-8" };
const JSON_BODY = { "Content-Type": "application/json" };
const send = (options: ConnectOptions) => connect(foldGateway, options).send({ content: "x" });
const text = 'event: text\ndata: {"text":"é😀"}\n\n';
const done = 'event: done\ndata: {"full_response":"é😀"}\n\n';

async function heard<M>(messages: AsyncIterable<M>): Promise<{ messages: M[]; error?: unknown }> {
  const all: M[] = [];
  try {
    for await (const message of messages) all.push(message);
    return { messages: all };
  } catch (error) {
    return { messages: all, error };
  }
}

const logged = ["log", "info", "warn", "error", "debug"].map((name) =>
  vi.spyOn(console, name as "log").mockImplementation(() => {}),
);
const loose: unknown[] = [];
process.on("unhandledRejection", (reason) => loose.push(reason));
afterEach(() => {
  for (const spy of logged) expect(spy).not.toHaveBeenCalled();
  expect(loose).toEqual([]);
});

describe("A stream", () => {
  const chat = 'data: {"content":"é"}\n\n';
  const state = 'event: agent.state\r\ndata: {"type":"agent.state","state":"idle"}\r\n\r\n';
  const streams: Readonly<
    Record<string, readonly [blocks: readonly string[], read: (options: ConnectOptions) => AsyncIterable<object>]>
  > = {
    "fold-gateway": [[text, text, done], send],
    agentsmithy: [
      [chat, chat, 'data: {"done":true}\n\n'],
      (options) => connect(agentsmithy, options).chat({ messages: [{ role: "user", content: "x" }] }),
    ],
    // It declares no end: even whole it stopped too early.
    "emacs-agent": [[state, state], (options) => connect(emacsAgent, options).events({ session_id: "s" })],
  };

  it.each(Object.entries(streams))(
    "of %s that is cut after any byte is Disconnected, with what was sent before",
    async (protocol, [blocks, read]) => {
      const bytes = new TextEncoder().encode(blocks.join(""));
      const block = new TextEncoder().encode(blocks[0]).length;
      const declaresEnd = protocol !== "emacs-agent";
      for (let cut = 0; cut < bytes.length + (declaresEnd ? 0 : 1); cut++) {
        const { messages, error } = await heard(read(saying(bytes.slice(0, cut))));
        // CR ends a line without its LF: an event is whole one byte before its block.
        const whole = Math.floor((cut + (declaresEnd ? 0 : 1)) / block);
        expect(messages, `cut after byte ${cut}`).toHaveLength(Math.min(2, whole));
        const expected = { name: "Disconnected", code: "ended_early", retryable: !declaresEnd };
        expect(error, `cut after byte ${cut}`).toMatchObject(expected);
      }
      if (declaresEnd) expect((await heard(read(saying(bytes)))).error).toBeUndefined();
    },
  );

  it("whose socket is destroyed in the middle is Disconnected", async () => {
    const server = createServer((_, answer) => {
      answer.writeHead(200, SSE);
      answer.write(text, () => answer.destroy());
    });
    const baseUrl = await listening(server);
    const { messages, error } = await heard(send({ baseUrl }));
    expect(messages).toHaveLength(1);
    expect(error).toMatchObject({ name: "Disconnected", code: "ended_early", retryable: false });
  });

  it("that says nothing for longer than the idle timeout is Disconnected", async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });
    const fetch = async () => new Response(body, { headers: SSE });
    const { messages, error } = await heard(send({ fetch, idleTimeout: 20 }));
    expect(messages).toHaveLength(1);
    expect(error).toMatchObject({ name: "Disconnected", code: "idle" });
  });

  it("is cancelled after its end message, however much the peer would still say", async () => {
    let cancelled = false;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(done + text)),
      cancel: () => {
        cancelled = true;
      },
    });
    const fetch = async () => new Response(body, { headers: SSE });
    expect((await heard(send({ fetch }))).messages).toEqual([{ type: "done", full_response: "é😀" }]);
    await expect.poll(() => cancelled, { timeout: 10_000 }).toBe(true);
  });

  it("of agentsmithy may end after `error`, without `done`", async () => {
    const input = { messages: [{ role: "user" as const, content: "x" }] };
    const chat = () => connect(agentsmithy, saying('data: {"content":"a"}\n\ndata: {"error":"no"}\n\n')).chat(input);
    expect(await heard(chat())).toEqual({
      messages: [
        { type: "content", content: "a" },
        { type: "error", error: "no" },
      ],
    });
    await expect(chat().text()).rejects.toMatchObject({ name: "Refusal", message: "no" });
  });

  it("that was cut after `error` and more is Disconnected: only the last message may be an end", async () => {
    const input = { messages: [{ role: "user" as const, content: "x" }] };
    const cut = saying('data: {"error":"no"}\n\ndata: {"content":"a"}\n\n');
    const { messages, error } = await heard(connect(agentsmithy, cut).chat(input));
    expect(messages).toHaveLength(2);
    expect(error).toMatchObject({ name: "Disconnected", code: "ended_early" });
  });

  it("that stops after an unknown event is Disconnected in the event's words", async () => {
    const { error } = await heard(send(saying(`${text}event: canceled\ndata: {"reason":"by the user"}\n\n`)));
    expect(error).toMatchObject({ name: "Disconnected", code: "ended_early" });
    expect((error as Error).message).toBe(
      'fold-gateway.send stopped without done or error, after the unknown event canceled {"reason":"by the user"}',
    );
    const known = await heard(send(saying(`event: usage\ndata: {}\n\n${text}`)));
    expect((known.error as Error).message).toBe("fold-gateway.send stopped without done or error");
  });

  it("that stops after a long unknown event is Disconnected with its name, and its body in the details", async () => {
    const told = async (block: string) => (await heard(send(saying(block)))).error as Disconnected;
    const text = `{"a":"${"x".repeat(192)}"}`;
    const stopped = "fold-gateway.send stopped without done or error, after the unknown event ";
    expect(text).toHaveLength(200);
    expect(await told(`event: e\ndata: ${text}\n\n`)).toMatchObject({ message: `${stopped}e ${text}` });
    const body = text.replace("x", "xy");
    expect(await told(`event: e\ndata: ${body}\n\n`)).toMatchObject({ message: `${stopped}e`, details: { body } });
  });

  it("may be repeated after a cut only where it declares no end: neither a message nor a sentinel", async () => {
    const events = emacsAgent.operations.events!;
    const block = 'data: {"type":"agent.state","state":"idle"}\n\n';
    const stopped = "emacs-agent.events stopped";
    for (const [ends, retryable, message] of [
      [{}, true, stopped],
      [{ end: ["text.done"] }, false, `${stopped} without text.done`],
      [{ end: [], sentinel: "[DONE]" }, false, `${stopped} without [DONE]`],
      [{ sentinel: "[DONE]" }, false, `${stopped} without [DONE]`],
      [{ end: ["text.done", "error"], sentinel: "[DONE]" }, false, `${stopped} without text.done or error or [DONE]`],
    ] as const) {
      const stream = { ...events.answer.stream, ...ends };
      const operations = { ...emacsAgent.operations, events: { ...events, answer: { ...events.answer, stream } } };
      const client = connect({ ...emacsAgent, operations } as never as typeof emacsAgent, {
        ...saying(block),
        resume: false,
      });
      const { messages, error } = await heard(client.events({ session_id: "s" }));
      expect(messages).toHaveLength(1);
      expect(error).toMatchObject({ name: "Disconnected", code: "ended_early", retryable, message });
      const ended = connect({ ...emacsAgent, operations } as never as typeof emacsAgent, {
        ...saying(`${block}data: [DONE]\n\n${block}`),
        resume: false,
        onViolation: () => {},
      });
      const whole = await heard(ended.events({ session_id: "s" }));
      expect([ends, whole.messages.length, whole.error === undefined]).toEqual([
        ends,
        "sentinel" in ends ? 1 : 2,
        "sentinel" in ends,
      ]);
    }
  });

  it("whose final text is empty has the text that it has streamed", async () => {
    const empty = 'event: done\ndata: {"full_response":""}\n\n';
    expect(await send(saying(text + text + empty)).text()).toBe("é😀é😀");
    expect(await send(saying(empty)).text()).toBe("");
  });

  it("without an end of its own that stops is Disconnected, unless this client ended the session", async () => {
    const events = connect(emacsAgent, saying('data: {"type":"agent.state","state":"idle"}\n\n')).events({
      session_id: "s",
    });
    expect((await heard(events)).error).toMatchObject({ name: "Disconnected", code: "ended_early", retryable: true });
  });

  it("goes on after messages that the contract does not know, which reach onUnknown", async () => {
    const unknown: Unknown[] = [];
    const extra = ['event: usage\ndata: {"tokens":7}\n\n', "event: started\ndata: null\n\n", "data: 7\n\n"];
    const { messages, error } = await heard(
      send({ ...saying(extra.join("") + text + done), onUnknown: (one) => unknown.push(one) }),
    );
    expect([messages.length, error]).toEqual([2, undefined]);
    expect(unknown).toEqual([
      { event: "usage", body: { tokens: 7 } },
      { event: "started", body: null },
      { event: undefined, body: 7 },
    ]);
  });
});

const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const violations: readonly (readonly [string, string, object])[] = [
  ["malformed JSON", "{text:", { code: "malformed_json", side: "server", protocol: "fold-gateway" }],
  ["no JSON at all", "", { code: "malformed_json" }],
  ["an array", "[]", { code: "schema" }],
  ["null", "null", { code: "schema" }],
  ["a missing field", "{}", { code: "schema", subject: "text", flaws: [{ at: "", keyword: "required" }] }],
  ["a wrong type", '{"text":7}', { code: "schema", subject: "text", flaws: [{ at: "/text", keyword: "type" }] }],
  ["nesting of 65", `{"text":"","x":${deep(64)}}`, { code: "too_deep" }],
  ["__proto__", '{"text":"","__proto__":{"polluted":1}}', { code: "forbidden_key" }],
  ["__proto__, escaped", '{"text":"","\\u005f_proto__":{"polluted":1}}', { code: "forbidden_key" }],
  [
    "constructor.prototype",
    '{"text":"","x":{"constructor":{"prototype":{"polluted":1}}}}',
    { code: "forbidden_key", flaws: [{ at: "/x/constructor" }] },
  ],
];

describe.each(violations)("A message with %s", (_, data, expected) => {
  const stream = `${text}event: text\ndata: ${data}\n\n${text}${done}`;

  it("is a Violation that ends the stream, after what came before it", async () => {
    const { messages, error } = await heard(send(saying(stream)));
    expect(messages).toHaveLength(1);
    expect(error).toBeInstanceOf(Violation);
    expect(error).toMatchObject(expected);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("is dropped where onViolation returns, and the stream goes on", async () => {
    const seen: Violation[] = [];
    const { messages, error } = await heard(send({ ...saying(stream), onViolation: (one) => void seen.push(one) }));
    expect([messages.length, error]).toEqual([3, undefined]);
    expect(seen).toMatchObject([expected]);
  });
});

describe("What is inside the limits passes:", () => {
  it.each([
    ["nesting of 64", `{"text":"","x":${deep(63)}}`],
    ["a key named constructor", '{"text":"","constructor":"x"}'],
    ["the text __proto__", '{"text":"__proto__"}'],
    ["brackets in a string", JSON.stringify({ text: deep(500) })],
  ])("%s", async (_, data) => {
    expect((await heard(send(saying(`event: text\ndata: ${data}\n\n${done}`)))).error).toBeUndefined();
  });
});

describe("An answer", () => {
  const html = "<!doctype html><title>502 Bad Gateway</title>";
  const agents = (options: ConnectOptions) => connect(foldGateway, options).listAgents();

  it("of HTML instead of a stream is a Violation with its title, and all of it in the details", async () => {
    const { error } = await heard(send(saying(html, { "Content-Type": "text/html" })));
    expect(error).toMatchObject({ name: "Violation", code: "content_type", details: { body: html } });
    expect((error as Error).message).toContain('"502 Bad Gateway"');
  });

  it.each([
    ["HTML instead of JSON", html, { "Content-Type": "text/html" }, { code: "content_type" }],
    ["HTML that says it is JSON", html, JSON_BODY, { code: "malformed_json" }],
    ["no content type", "[]", { "Content-Type": "" }, { code: "content_type" }],
    ["a wrong form", '[{"id":1}]', JSON_BODY, { code: "schema", flaws: expect.arrayContaining([]) }],
    ["a forbidden key", '[{"__proto__":{}}]', JSON_BODY, { code: "forbidden_key" }],
    ["nesting of 65", deep(65), JSON_BODY, { code: "too_deep" }],
  ])("with %s is a Violation", async (_, body, headers, expected) => {
    await expect(agents(saying(body, headers))).rejects.toMatchObject({
      name: "Violation",
      side: "server",
      ...expected,
    });
  });

  it("or a message over the limit is a Violation, and no more of it is read", async () => {
    let pulled = 0;
    const endless = (headers: Record<string, string>): ConnectOptions => ({
      maxMessageSize: 1000,
      fetch: async () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              pulled++;
              controller.enqueue(new TextEncoder().encode("data: ".repeat(20)));
            },
          }),
          { headers },
        ),
    });
    await expect(agents(endless(JSON_BODY))).rejects.toMatchObject({ name: "Violation", code: "too_large" });
    expect((await heard(send(endless(SSE)))).error).toMatchObject({ name: "Violation", code: "too_large" });
    expect(pulled).toBeLessThan(60);
  });

  it("that refuses with something that is not in the protocol's form is a Refusal that quotes it", async () => {
    const refusing = (status: number, body: string): ConnectOptions => ({
      fetch: async () => new Response(body, { status }),
      retryWaits: [],
    });
    await expect(agents(refusing(502, html))).rejects.toMatchObject({
      name: "Refusal",
      status: 502,
      message: "502 Bad Gateway",
      details: { body: html },
    });
    await expect(agents(refusing(500, ""))).rejects.toMatchObject({ message: "status 500", code: "status_500" });
    await expect(agents(refusing(500, "x".repeat(9999)))).rejects.toThrow(/^x{500}…$/);
    expect((await heard(send(refusing(404, '{"error":"no"}')))).error).toMatchObject({ status: 404, message: "no" });
  });
});

describe("When nobody answers", () => {
  const refused = async () => {
    const server = createServer();
    const baseUrl = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    return baseUrl;
  };

  it("a call is Disconnected, and may be tried again", async () => {
    const baseUrl = await refused();
    const expected = { name: "Disconnected", code: "unreachable", retryable: true };
    await expect(connect(foldGateway, { baseUrl, retryWaits: [] }).health()).rejects.toMatchObject(expected);
    expect((await heard(connect(foldGateway, { baseUrl, retryWaits: [] }).send({ content: "x" }))).error).toMatchObject(
      expected,
    );
  });

  it.each([
    ["getSession", "GET", 4],
    ["endSession", "DELETE", 4],
    ["prompt", "POST", 1],
  ] as const)("%s, a %s that may have been received, is sent %i times", async (operation, _, times) => {
    let sent = 0;
    const fetch = async () => {
      sent++;
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
    };
    const client = connect(emacsAgent, { fetch, retryWaits: [0, 0, 0] });
    await expect(client[operation]({ session_id: "s", text: "x" })).rejects.toBeInstanceOf(Disconnected);
    expect(sent).toBe(times);
  });
});

/** What Node's fetch throws where it never had a connection. */
const unconnected: [string, object][] = [
  ["a refused connection", { code: "ECONNREFUSED", syscall: "connect" }],
  ["a connection time-out", { code: "UND_ERR_CONNECT_TIMEOUT" }],
  ["a time-out of the system", { code: "ETIMEDOUT", syscall: "connect" }],
  ["an unreachable host", { code: "EHOSTUNREACH", syscall: "connect" }],
  ["an unreachable network", { code: "ENETUNREACH", syscall: "connect" }],
  ["a failed look-up", { code: "ENOTFOUND", syscall: "getaddrinfo" }],
  ["a look-up to try again", { code: "EAI_AGAIN", syscall: "getaddrinfo" }],
  [
    "several addresses, none of which was reached",
    {
      code: "ETIMEDOUT",
      errors: [
        { code: "ETIMEDOUT", syscall: "connect" },
        { code: "ENETUNREACH", syscall: "connect" },
      ],
    },
  ],
];
const connected: [string, object][] = [
  ["a reset", { code: "ECONNRESET", syscall: "read" }],
  ["a time-out of a read", { code: "ETIMEDOUT", syscall: "read" }],
  ["a host that was lost on the way", { code: "EHOSTUNREACH", syscall: "write" }],
  ["headers that did not come", { code: "UND_ERR_HEADERS_TIMEOUT" }],
  ["nothing known", {}],
  [
    "several failures, one after sending",
    { errors: [{ syscall: "connect" }, { code: "ECONNRESET", syscall: "read" }] },
  ],
];
it.each([
  ...unconnected.map(([what, cause]) => [what, cause, 4] as const),
  ...connected.map(([what, cause]) => [what, cause, 1] as const),
])("a prompt after %s is sent again only where nothing was sent", async (_, cause, times) => {
  let sent = 0;
  const fetch = async () => {
    sent++;
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("failed"), cause) });
  };
  const client = connect(emacsAgent, { fetch, retryWaits: [0, 0, 0] });
  await expect(client.prompt({ session_id: "s", text: "x" })).rejects.toMatchObject({ retryable: times > 1 });
  expect(sent).toBe(times);
});

it.each(["text/markdown; charset=utf-8", "text/plain", "text/org", "text/x-org", "application/json"])(
  "a transcript in Org mode is read, though it is called %s: the format asked for decides",
  async (type) => {
    const fetch = async () => new Response("#+TITLE: x\n", { headers: { "Content-Type": type } });
    expect(await connect(emacsAgent, { fetch }).getTranscriptOrg({ session_id: "s" })).toBe("#+TITLE: x\n");
  },
);

it("a page in place of a transcript is a Violation", async () => {
  const fetch = async () => new Response("<html>", { headers: { "Content-Type": "text/html" } });
  const answer = connect(emacsAgent, { fetch }).getTranscriptOrg({ session_id: "s" });
  await expect(answer).rejects.toMatchObject({ name: "Violation", code: "content_type" });
});

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
