import { type ConnectOptions, connect } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { RESUME } from "@parlance/wire/resume-key";
import { afterEach, describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { StreamReader } from "../../src/stream/stream.js";

// What a stream leaves behind, by how it ends: its request, its body, and the server's handler.

afterEach(() => void vi.useRealTimers());

const TEXT = 'event: text\ndata: {"text":"a"}\n\n';
const DONE = 'event: done\ndata: {"full_response":"a"}\n\n';
const SSE = { "Content-Type": "text/event-stream" };
const OFFER = { [RESUME]: "e1; grace=30; beat=0" };
const turns = async () => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};

type How = "hold" | "end" | "cut";

/** A server that sends some text and then holds, ends or cuts its body, and what it notes. */
function server(text: string, how: How, headers: Record<string, string> = {}) {
  const noted = { methods: [] as string[], keys: [] as (string | null)[], cancelled: [] as unknown[] };
  let request: Request | undefined;
  const fetch = async (asked: Request) => {
    noted.methods.push(asked.method);
    noted.keys.push(asked.headers.get(RESUME));
    if (noted.methods.length > 1) return new Response("no", { status: 404 });
    request = asked;
    let sent = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          if (!sent) {
            sent = true;
            return controller.enqueue(new TextEncoder().encode(text));
          }
          if (how === "hold") return new Promise(() => {});
          if (how === "cut") controller.error(new Error("cut"));
          else controller.close();
        },
        cancel: (reason) => void noted.cancelled.push(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { ...SSE, ...headers } });
  };
  return { fetch, noted, aborted: () => request?.signal.aborted, reason: () => request?.signal.reason };
}

const enough = new Error("enough");
/** The message with which it begins, then what ends it. */
const ends: Readonly<
  Record<string, { text: string; how: How; act?: "cancel" | "break" | "signal"; aborted: boolean; deletes: boolean }>
> = {
  "its last message": { text: TEXT + DONE, how: "end", aborted: false, deletes: false },
  "cancel()": { text: TEXT, how: "hold", act: "cancel", aborted: true, deletes: true },
  "the end of its loop": { text: TEXT, how: "hold", act: "break", aborted: true, deletes: true },
  "its caller's signal": { text: TEXT, how: "hold", act: "signal", aborted: true, deletes: true },
  "a message that breaks its schema": {
    text: `${TEXT}event: text\ndata: {"text":7}\n\n`,
    how: "hold",
    aborted: true,
    deletes: true,
  },
  "a cut": { text: TEXT, how: "cut", aborted: true, deletes: false },
  "an end without its last message": { text: TEXT, how: "end", aborted: true, deletes: false },
};

describe.each([true, false])("Of a server that offers to resume (%s)", (offers) => {
  test.each(Object.entries(ends))("a stream that ends by %s lets go of its request", async (_, end) => {
    const { fetch, noted, aborted, reason } = server(end.text, end.how, offers ? OFFER : {});
    const abort = new AbortController();
    const stream = connect(foldGateway, { fetch, random: () => 0, reconnectFor: 300 }).send(
      { content: "x" },
      { signal: abort.signal },
    );
    const error = await (async () => {
      for await (const _message of stream) {
        if (end.act === "break") break;
        if (end.act === "cancel") stream.cancel();
        if (end.act === "signal") abort.abort(enough);
      }
    })().catch((failure: unknown) => failure);
    await turns();
    expect(aborted()).toBe(end.aborted);
    if (end.act === "signal") expect([error, reason()]).toEqual([enough, enough]);
    else if (end.act !== undefined)
      expect(reason()).toMatchObject({
        name: "AbortError",
        code: "AbortError",
        message: expect.stringContaining("the stream was cancelled"),
      });
    expect(noted.methods.includes("DELETE")).toBe(offers && end.deletes);
    // Each request of a stream has its key.
    expect(new Set(noted.keys).size).toBe(1);
    expect(noted.cancelled.length).toBe(end.how === "hold" ? 1 : 0);
  });
});

describe("The body of a stream that is over", () => {
  test("is read to its end for a second, and cancelled then", async () => {
    const { fetch, noted } = server(TEXT + DONE, "hold");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stream = connect(foldGateway, { fetch, resume: false }).send({ content: "x" });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["text", "done"]);
    await vi.advanceTimersByTimeAsync(999);
    expect(noted.cancelled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(noted.cancelled).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each(["end", "cut"] as const)("leaves no timer where it is %s by itself", async (how) => {
    const { fetch } = server(TEXT + DONE, how);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    expect(await connect(foldGateway, { fetch, resume: false }).send({ content: "x" }).text()).toBe("a");
    await turns();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a stream that is left while it is joined again aborts its join", async () => {
  const joins: Request[] = [];
  const { fetch } = server(TEXT, "cut", OFFER);
  let first: Request | undefined;
  const joining = (request: Request) => {
    if (!first) {
      first = request;
      return fetch(request);
    }
    if (request.method === "GET") joins.push(request);
    return new Promise<Response>(() => {});
  };
  const stream = connect(foldGateway, { fetch: joining, random: () => 0 }).send({ content: "x" });
  const reader = stream[Symbol.asyncIterator]();
  await reader.next();
  const next = reader.next();
  while (joins.length === 0) await turns();
  // Its body was cut, and may still hold a connection.
  expect(first!.signal).toMatchObject({ aborted: true, reason: { name: "Disconnected" } });
  stream.cancel();
  expect(await next).toEqual({ done: true, value: undefined });
  await turns();
  expect(joins.map(({ signal }) => signal.aborted)).toEqual([true]);
});

describe("A stream that is left while it is opened", () => {
  const leaving = async (contract: object, options: ConnectOptions = {}) => {
    const methods: string[] = [];
    const fetch = ({ method }: Request) => {
      methods.push(method);
      return new Promise<Response>(() => {});
    };
    const abort = new AbortController();
    const { events } = connect(contract as typeof emacsAgent, { fetch, ...options });
    const failed = events({ session_id: "s" }, { signal: abort.signal }).opened.catch((error: unknown) => error);
    while (methods.length === 0) await turns();
    abort.abort(enough);
    expect(await failed).toBe(enough);
    await turns();
    return methods;
  };
  const { events, endSession } = emacsAgent.operations as Record<string, { path: string; method: string }>;

  test("is cancelled at its server, which may have begun", async () => {
    expect(await leaving(emacsAgent)).toEqual(["GET", "DELETE"]);
  });

  test("is not where nothing is resumed, or where its path has a DELETE of its own", async () => {
    expect(await leaving(emacsAgent, { resume: false })).toEqual(["GET"]);
    const own = { ...emacsAgent.operations, endSession: { ...endSession, path: events!.path } };
    expect(await leaving({ ...emacsAgent, operations: own })).toEqual(["GET"]);
    // Another method on its path, or another path, is no such operation.
    const put = { ...emacsAgent.operations, endSession: { ...endSession, path: events!.path, method: "PUT" } };
    expect(await leaving({ ...emacsAgent, operations: put })).toEqual(["GET", "DELETE"]);
  });
});

describe("The answer to a stream's request", () => {
  const answered = (response: () => Response, options: ConnectOptions = {}) =>
    connect(foldGateway, { fetch: async () => response(), retryWaits: [], ...options })
      .send({ content: "x" })
      .opened.then(
        () => "opened",
        (error) => error,
      );
  const gone = { [RESUME]: "gap; after=3; first=9" };

  test("that its messages are gone is a gap, where it resumes, and a refusal where not", async () => {
    const cancel = vi.fn();
    const refused = () => new Response(new ReadableStream({ cancel }), { status: 410, headers: gone });
    expect(await answered(refused)).toMatchObject({
      name: "Disconnected",
      code: "gap",
      retryable: false,
      missing: { after: 3, first: 9 },
      message: "fold-gateway.send: messages after 3 are gone",
    });
    expect(cancel).toHaveBeenCalledOnce();
    const plain = () => new Response('{"error":"gone"}', { status: 410, headers: gone });
    expect(await answered(plain, { resume: false })).toMatchObject({ name: "Refusal", status: 410, message: "gone" });
    const other = () => new Response('{"error":"gone"}', { status: 410 });
    expect(await answered(other)).toMatchObject({ name: "Refusal", status: 410, message: "gone" });
  });

  test("without a body is an empty stream", async () => {
    const empty = () => new Response(null, { headers: SSE });
    expect(await answered(empty)).toBe("opened");
    const stream = connect(foldGateway, { fetch: async () => empty(), resume: false }).send({ content: "x" });
    await expect(stream.text()).rejects.toMatchObject({
      code: "ended_early",
      retryable: false,
      message: "fold-gateway.send stopped without done or error",
    });
  });
});

test("a stream ends with what reading a message throws, where that is no violation", async () => {
  const mistake = new RangeError("a reader that fails");
  const reads = {
    ...foldGateway.reads,
    message() {
      throw mistake;
    },
  };
  const { fetch, aborted } = server(TEXT, "hold");
  const onViolation = vi.fn();
  const client = connect({ ...foldGateway, reads } as never as typeof foldGateway, { fetch, onViolation });
  await expect(client.send({ content: "x" }).text()).rejects.toBe(mistake);
  expect([aborted(), onViolation.mock.calls]).toEqual([true, []]);
});

test("a stream reads a character whose bytes come apart", async () => {
  const bytes = new TextEncoder().encode(TEXT.replace('"a"', '"é€🙂"') + DONE);
  const body = () =>
    new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
  const fetch = async () => new Response(body(), { headers: SSE });
  const stream = connect(foldGateway, { fetch, resume: false }).send({ content: "x" });
  const texts: unknown[] = [];
  for await (const message of stream) if (message.type === "text") texts.push(message.text);
  expect(texts).toEqual(["é€🙂"]);
});

test("a stream fails with the error of the function that tells whether its session has ended", async () => {
  const mistake = new RangeError("no session");
  const { messages } = new StreamReader(foldGateway as unknown as AnyContract, {}, "send", {
    what: "p.send",
    stream: foldGateway.operations.send!.answer.stream!,
    life: lifetime(),
    send: async () => new Response(TEXT, { headers: SSE }),
    abandon: vi.fn(),
    sessionEnded: () => Promise.reject(mistake),
    over: vi.fn(),
  });
  expect((await messages.next()).value?.type).toBe("text");
  await expect(messages.next()).rejects.toBe(mistake);
  expect(await messages.next()).toEqual({ done: true, value: undefined });
});

test("a stream that sends nothing for the idle time-out says so, with the time", async () => {
  const { fetch } = server(TEXT, "hold");
  const stream = connect(foldGateway, { fetch, idleTimeout: 20, resume: false }).send({ content: "x" });
  await expect(stream.text()).rejects.toMatchObject({
    code: "idle",
    retryable: false,
    message: "fold-gateway.send sent nothing for 20 ms",
  });
  const cut = server(TEXT, "cut");
  await expect(
    connect(foldGateway, { fetch: cut.fetch, resume: false }).send({ content: "x" }).text(),
  ).rejects.toMatchObject({
    code: "ended_early",
    message: "fold-gateway.send was cut",
    cause: { message: "cut" },
  });
});

test.each([
  ["", 0],
  ["retry: 1500\n\n", 1500],
])("a stream is over once, with what its server asked for before a reconnect: %j", async (asked, retry) => {
  const over = vi.fn();
  const life = lifetime();
  const { messages } = new StreamReader(foldGateway as unknown as AnyContract, {}, "send", {
    what: "p.send",
    stream: foldGateway.operations.send!.answer.stream!,
    life,
    send: async () => new Response(asked + TEXT + DONE, { headers: SSE }),
    abandon: vi.fn(),
    sessionEnded: async () => false,
    over,
  });
  for (const type of ["text", "done", undefined]) expect((await messages.next()).value?.type).toBe(type);
  life.abort(enough);
  expect(over.mock.calls).toEqual([[retry]]);
});
