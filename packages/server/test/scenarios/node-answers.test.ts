import { EventEmitter } from "node:events";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Answer } from "../../src/http/answer.js";
import type { HttpRequest } from "../../src/http/request.js";
import { boundHandler } from "../../src/node/http.js";
import type { App } from "../../src/serve.js";
import type { Sink } from "../../src/stream/writer.js";

// Answers to requests of Node, without a connection.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const TEXT: Answer = { status: 200, headers: { A: "b" }, body: "é" };

interface Setting {
  readonly answer?: Answer | Error;
  readonly incoming?: object;
  readonly outgoing?: object;
  readonly expecting?: boolean;
  /** A framework, which has a listener behind this one. */
  readonly next?: (error?: unknown) => void;
  readonly path?: string;
  /** Called with the request when the app is asked. */
  readonly asked?: (request: HttpRequest) => void;
}

async function answering({
  answer = TEXT,
  incoming = {},
  outgoing = {},
  expecting,
  next,
  path = "/known",
  asked,
}: Setting = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const call = root.child("calls");
  const wrote: unknown[] = [];
  const note =
    (what: string, result?: unknown) =>
    (...given: unknown[]) => {
      wrote.push([what, ...given]);
      return result;
    };
  const out: object = Object.assign(new EventEmitter(), {
    req: { method: "GET" },
    headersSent: false,
    destroyed: false,
    writableEnded: false,
    writableFinished: false,
    shouldKeepAlive: true,
    socket: { writableLength: 0 },
    writeContinue: note("continue"),
    flushHeaders: note("flush"),
    write: note("write", true),
    end: note("end"),
    destroy: note("destroy"),
    writeHead(...head: unknown[]) {
      wrote.push(["head", ...head]);
      return out;
    },
    ...outgoing,
  });
  const socket = Object.assign(new EventEmitter(), { destroyed: false });
  const request = Object.assign(new EventEmitter(), {
    method: "GET",
    url: path,
    httpVersion: "1.1",
    rawHeaders: ["Host", "localhost"],
    headers: {},
    readableDidRead: false,
    complete: true,
    read: () => null,
    socket,
    ...incoming,
  });
  const app = {
    limits: { stall: 500 },
    open: () => call,
    isDraining: () => false,
    onDrain() {},
    knows: (pathname: string) => pathname === "/known",
    async answer(request: HttpRequest, _: Scope, bound?: string) {
      asked?.(request);
      if (bound !== "bound") throw new Error("it is bound");
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as App;
  boundHandler(app, "bound", { expecting: expecting === true })(request as never, out as never, next);
  await after(0);
  return { wrote, call, out: out as unknown as EventEmitter & Record<string, unknown>, socket, root };
}

describe("An answer", () => {
  test("is written with the length of its bytes", async () => {
    const { wrote, root } = await answering();
    expect(wrote).toEqual([
      ["head", 200, { A: "b", "Content-Length": 2 }],
      ["end", "é"],
    ]);
    expect(root.stats().timers).toBe(0);
  });

  test.each([
    [204, false],
    [304, false],
    [200, true],
    [205, true],
  ])("of %i has a length: %s", async (status, has) => {
    const { wrote } = await answering({ answer: { status, headers: {}, body: "" } });
    expect(wrote[0]).toEqual(["head", status, has ? { "Content-Length": 0 } : {}]);
  });

  test("whose connection is gone is not written", async () => {
    expect((await answering({ outgoing: { destroyed: true } })).wrote).toEqual([]);
  });

  test.each([true, false])(
    "that its peer does not read is cut after `stall`, also where it had to wait for earlier ones: %s",
    async (pipelined) => {
      const { wrote, out, call, root } = await answering({
        outgoing: { socket: pipelined ? null : { writableLength: 9 } },
      });
      await after(1000);
      if (pipelined) {
        expect(wrote).toHaveLength(2);
        out.emit("socket");
        await after(499);
        expect(wrote).toHaveLength(2);
        await after(1);
      }
      expect(wrote.slice(2)).toEqual([["destroy"]]);
      call.close();
      expect(root.stats().timers).toBe(0);
    },
  );

  test("that is a stream is written as it comes, and waits for room", async () => {
    let sink!: Sink;
    const run = (given: Sink) => {
      sink = given;
      return new Promise<void>(() => {});
    };
    let has = true;
    const { wrote, out } = await answering({
      answer: { status: 200, headers: {}, body: { run } },
      outgoing: { write: () => has },
    });
    expect(wrote).toEqual([["head", 200, {}], ["flush"]]);
    expect(sink.write("x")).toBeUndefined();
    has = false;
    let room = false;
    void sink.write("y")!.then(() => (room = true));
    await after(0);
    expect(room).toBe(false);
    out.emit("drain");
    await after(0);
    expect(room).toBe(true);
    sink.end();
    expect(wrote.at(-1)).toEqual(["end"]);
    for (const over of ["writableEnded", "destroyed"]) {
      Object.assign(out, { writableEnded: false, destroyed: false, [over]: true });
      expect(sink.write("late")).toBeUndefined();
      const before = wrote.length;
      sink.end();
      expect(wrote).toHaveLength(before);
    }
    sink.cut();
    expect(wrote.at(-1)).toEqual(["destroy"]);
  });

  test.each([true, false])("that fails is cut, as its protocol cuts one (HTTP/2: %s)", async (http2) => {
    const close = vi.fn();
    const { wrote } = await answering({ answer: new Error("defect"), outgoing: http2 ? { stream: { close } } : {} });
    expect([wrote, close.mock.calls]).toEqual(http2 ? [[], [[2]]] : [[["destroy"]], []]);
    if (http2) await answering({ answer: new Error("defect"), outgoing: { stream: undefined } });
  });

  test.each([
    [{}, { writableFinished: true }, undefined],
    [{}, { writableEnded: true }, "the caller has gone"],
    [{ stream: {} }, { writableEnded: true }, undefined],
    [{ stream: {} }, { writableFinished: true }, "the caller has gone"],
  ])("is over with its connection, which has lost it unless it was written: %j %j", async (outgoing, end, reason) => {
    const { call, out } = await answering({ outgoing });
    expect(call.closed).toBe(false);
    Object.assign(out, end);
    out.emit("close");
    expect([call.closed, (call.reason as Error | undefined)?.message]).toEqual([true, reason]);
  });

  test("is over with its socket", async () => {
    const { call, socket } = await answering();
    socket.emit("close");
    expect(call.reason).toMatchObject({ message: "the caller has gone" });
  });

  test.each([
    ["1.0", false],
    ["1.1", true],
    ["2.0", true],
  ])("of HTTP/%s keeps its connection: %s", async (httpVersion, keeps) => {
    expect((await answering({ incoming: { httpVersion } })).out.shouldKeepAlive).toBe(keeps);
  });

  test("to a body that did not arrive in time closes its connection, which HTTP/2 need not", async () => {
    const answer = { ...TEXT, status: 408 };
    expect((await answering({ answer })).wrote[0]).toEqual([
      "head",
      408,
      { A: "b", Connection: "close", "Content-Length": 2 },
    ]);
    expect((await answering({ answer, outgoing: { stream: {} } })).wrote[0]).toEqual([
      "head",
      408,
      { A: "b", "Content-Length": 2 },
    ]);
  });
});

describe("A body that its sender waits to be asked for", () => {
  const incoming = { method: "POST", readableDidRead: false };
  const read = (request: HttpRequest) => void request.body()!.read();

  test("is asked for once, when it is first read", async () => {
    const { wrote } = await answering({
      incoming,
      expecting: true,
      asked(request) {
        read(request);
        read(request);
      },
    });
    expect(wrote).toEqual([["continue"], ["head", 200, { A: "b", "Content-Length": 2 }], ["end", "é"]]);
  });

  test("is not asked for where it is not read: the connection ends then, because it may come or not", async () => {
    expect((await answering({ incoming, expecting: true })).wrote[0]).toEqual([
      "head",
      200,
      { A: "b", Connection: "close", "Content-Length": 2 },
    ]);
  });

  test("is not asked for where an answer has begun, or where its sender does not wait", async () => {
    for (const setting of [{ expecting: true, outgoing: { headersSent: true } }, {}])
      expect((await answering({ incoming, asked: read, ...setting })).wrote).not.toContainEqual(["continue"]);
  });
});

describe("A request", () => {
  test("at an unknown path is the framework's, or refused by the first app", async () => {
    const next = vi.fn();
    const { wrote } = await answering({ path: "/unknown", next });
    expect([next.mock.calls, wrote]).toEqual([[[]], []]);
    expect((await answering({ path: "/unknown" })).wrote).toHaveLength(2);
  });

  test("that is none is refused, and its connection ends", async () => {
    for (const [outgoing, closes] of [
      [{}, { Connection: "close" }],
      [{ stream: {} }, {}],
    ] as const)
      expect((await answering({ incoming: { rawHeaders: ["Host", "a/b"] }, outgoing })).wrote).toEqual([
        ["head", 400, { "Content-Type": "text/plain", ...closes }],
        ["end", "bad request target or Host"],
      ]);
  });

  test("whose body is gone is the framework's to report, or refused with 500", async () => {
    const incoming = { method: "POST", readableDidRead: true };
    const next = vi.fn();
    const { wrote } = await answering({ incoming, next });
    expect([next.mock.calls[0]![0].message, wrote]).toEqual([expect.stringContaining("the body was read"), []]);
    const alone = await answering({ incoming });
    expect(alone.wrote).toMatchObject([
      ["head", 500, { "Content-Type": "text/plain" }],
      ["end", expect.stringContaining("the body was read")],
    ]);
  });

  test("has what a parser has left of its body", async () => {
    let text: Promise<string> | undefined;
    const asked = (request: HttpRequest) => {
      text = request.request.text();
    };
    await answering({ incoming: { method: "POST", readableDidRead: true, body: { a: 1 } }, next: () => {}, asked });
    expect(await text).toBe('{"a":1}');
  });
});
