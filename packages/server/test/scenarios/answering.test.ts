import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import type { HttpRequest } from "../../src/http/request.js";
import { refuse, STREAM_HEADERS, toResponse } from "../../src/http/response.js";
import { closeWithin, hostInUrl } from "../../src/listening.js";
import { inMemory } from "../../src/memory.js";
import type { Sink, SseWriter } from "../../src/stream/writer.js";

const scoped = () => {
  const call = Scope.open(() => {});
  onTestFinished(() => call.close());
  return call;
};

/** A stream whose writer a test is, as a web response. */
function streaming(left?: AbortSignal) {
  const call = scoped();
  let sink!: Sink;
  let over = { resolve: (): void => {}, reject: (_: unknown): void => {} };
  const body: SseWriter = {
    run(given) {
      sink = given;
      return new Promise((resolve, reject) => {
        over = { resolve, reject };
      });
    },
  };
  const response = toResponse({ status: 200, headers: STREAM_HEADERS, body }, call, left);
  return { call, response, reader: response.body!.getReader(), sink, over: () => over };
}
const textOf = (value: Uint8Array | undefined) => new TextDecoder().decode(value);

describe("An answer as a web response", () => {
  test.each([
    [200, "x", "x"],
    [204, "", null],
    [205, "", null],
    [404, "", ""],
  ])("of %i has its body, unless it may have none, and its call is over", async (status, body, expected) => {
    const call = scoped();
    const response = toResponse({ status, headers: { A: "b" }, body }, call);
    expect([response.status, response.headers.get("A"), call.closed, call.reason]).toEqual([
      status,
      "b",
      true,
      undefined,
    ]);
    if (expected === null) expect(response.body).toBeNull();
    else expect(await response.text()).toBe(expected);
  });

  test("has what is written, text or bytes, up to its end, and then its call is over", async () => {
    const { sink, reader, response, call, over } = streaming();
    expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
    const first = reader.read();
    expect(sink.write("é")).toBeUndefined();
    expect(textOf((await first).value)).toBe("é");
    sink.write(new Uint8Array([65]));
    sink.end();
    expect(textOf((await reader.read()).value)).toBe("A");
    expect(await reader.read()).toEqual({ done: true, value: undefined });
    expect(sink.write("late")).toBeUndefined();
    sink.end();
    sink.cut();
    over().resolve();
    await vi.waitFor(() => expect(call.closed).toBe(true));
    expect(call.reason).toBeUndefined();
  });

  test("has its writer wait above 64 KiB, for all writes until its reader asks for more", async () => {
    const { sink, reader } = streaming();
    expect(sink.write("x".repeat(64 * 1024 - 1))).toBeUndefined();
    const [one, two] = [sink.write("x"), sink.write("x")];
    expect([one instanceof Promise, two]).toEqual([true, one]);
    let room = false;
    void one!.then(() => (room = true));
    await Promise.resolve();
    expect(room).toBe(false);
    for (let read = 0; read < 64 * 1024 + 1; ) read += (await reader.read()).value!.length;
    await one;
    expect(room).toBe(true);
    expect(sink.write("x")).toBeUndefined();
  });

  test("that is cut is an error once its reader has what came before", async () => {
    const { sink, reader } = streaming();
    sink.write("x");
    sink.cut();
    expect(textOf((await reader.read()).value)).toBe("x");
    await expect(reader.read()).rejects.toThrow("the connection was cut");
    const empty = streaming();
    empty.sink.cut();
    await expect(empty.reader.read()).rejects.toThrow("the connection was cut");
  });

  test("whose writer fails is that error", async () => {
    const { reader, over, call } = streaming();
    over().reject(new Error("defect"));
    await expect(reader.read()).rejects.toThrow("defect");
    await vi.waitFor(() => expect(call.closed).toBe(true));
  });

  test("whose call is over is its error, or its end where nobody is left to see one", async () => {
    const { reader, call } = streaming();
    call.close(new Error("aborted"));
    await expect(reader.read()).rejects.toThrow("aborted");
    const left = new AbortController();
    const gone = streaming(left.signal);
    left.abort();
    gone.call.close(new Error("gone"));
    expect(await gone.reader.read()).toMatchObject({ done: true });
    const present = streaming(new AbortController().signal);
    present.call.close(new Error("closing"));
    await expect(present.reader.read()).rejects.toThrow("closing");
  });

  test("that its reader cancels cancels its call", async () => {
    const { reader, call, sink } = streaming();
    await reader.cancel();
    expect(call.reason).toMatchObject({ name: "AbortError", message: "the caller has cancelled" });
    expect(sink.write("late")).toBeUndefined();
  });
});

test.each([
  [undefined, { status: 401 }, { "WWW-Authenticate": 'Bearer realm="parlance"' }],
  [{ apiKey: "required" }, { status: 401 }, { "WWW-Authenticate": 'ApiKey realm="parlance"' }],
  [undefined, { status: 503, retryAfter: 1.2 }, { "Retry-After": "2" }],
  [undefined, { status: 409 }, {}],
])("a refusal says how to come in, and when to come again: %j %j", (auth, details, headers) => {
  const [refused, report] = [vi.fn(), vi.fn()];
  const context = { contract: { ...foldGateway, auth }, callbacks: { refuse: refused, report } } as unknown as Context;
  const refusal = new Refusal("no", details);
  const answer = refuse(context, {} as never, refusal, "health");
  expect(answer).toEqual({
    status: details.status,
    headers: { "Content-Type": "application/json", ...headers },
    body: '{"error":"no"}',
  });
  expect([refused.mock.calls, report.mock.calls]).toEqual([[[{}, refusal, refusal, "health"]], []]);
  const hidden = new Error("secret");
  expect(refuse(context, {} as never, hidden, "health")).toMatchObject({
    status: 500,
    body: '{"error":"the server failed"}',
  });
  expect(report.mock.calls).toEqual([[hidden, "a call", "health"]]);
});

describe("An app in memory", () => {
  const door = (answer: () => Promise<never>) => {
    const call = scoped();
    const accept = vi.fn(async (..._: unknown[]) => ({ refused: { status: 404 } }) as never);
    return {
      call,
      accept,
      ...inMemory({ contract: foldGateway as never, knows: () => true, open: () => call, answer, accept }),
    };
  };

  test("rejects as soon as the request is aborted, and its call ends with that reason", async () => {
    const { fetch, call } = door(() => new Promise(() => {}));
    const left = new AbortController();
    const answer = fetch(new Request("http://localhost/", { signal: left.signal }));
    left.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    expect(call.reason).toMatchObject({ message: "enough" });
  });

  test("rejects with what the app fails with", async () => {
    const { fetch, call } = door(() => Promise.reject(new Error("defect")));
    await expect(fetch(new Request("http://localhost/"))).rejects.toThrow("defect");
    expect(call.reason).toMatchObject({ message: "defect" });
  });

  test("is asked for a socket at an address of HTTP, with its headers and protocols", async () => {
    for (const [url, asked] of [
      ["ws://localhost/ws", "http://localhost/ws"],
      ["wss://localhost/ws", "https://localhost/ws"],
    ] as const) {
      const { webSocket, accept, call } = door(() => new Promise(() => {}));
      const given = { headers: { A: "b" }, protocols: ["one"], maxSize: 1 };
      expect(await webSocket(url, given)).toEqual({ refused: { status: 404 } });
      const [request, protocols, scope] = accept.mock.calls[0] as [HttpRequest, unknown, unknown];
      expect([request.url.href, request.headers.get("A"), protocols, scope]).toEqual([asked, "b", ["one"], call]);
    }
  });

  test("opens no socket that is not wanted any more", async () => {
    const { webSocket, call } = door(() => new Promise(() => {}));
    const left = new AbortController();
    const opening = webSocket("ws://localhost/", { headers: {}, protocols: [], maxSize: 1, signal: left.signal });
    left.abort(new Error("enough"));
    await expect(opening).rejects.toThrow("enough");
    expect(call.reason).toMatchObject({ message: "enough" });
  });
});

describe("A server that closes", () => {
  const app = () => ({ drain: vi.fn(), close: vi.fn(async () => {}) });
  type Apps = Parameters<typeof closeWithin>[1];

  test("drains its apps, and closes them once its last connection has ended", async () => {
    const [one, two, cut] = [app(), app(), vi.fn()];
    let finish = (): void => {};
    const closed = closeWithin(
      60_000,
      [one, two] as unknown as Apps,
      () => new Promise<void>((resolve) => (finish = resolve)),
      cut,
    );
    for (const { drain, close } of [one, two])
      expect([drain.mock.calls.length, close.mock.calls.length]).toEqual([1, 0]);
    finish();
    await closed;
    for (const { close } of [one, two]) expect(close).toHaveBeenCalledOnce();
    expect(cut).not.toHaveBeenCalled();
  });

  test("closes its apps and cuts the rest after its time, and leaves no timer", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const one = app();
    let finish = (): void => {};
    const cut = vi.fn(() => finish());
    const closed = closeWithin(
      500,
      [one] as unknown as Apps,
      () => new Promise<void>((resolve) => (finish = resolve)),
      cut,
    );
    await vi.advanceTimersByTimeAsync(499);
    expect([one.close.mock.calls.length, cut.mock.calls.length]).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([one.close.mock.calls.length >= 1, cut.mock.calls.length]).toEqual([true, 1]);
    await closed;
    const quick = closeWithin(500, [one] as unknown as Apps, async () => {}, cut);
    await quick;
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "[::1]"],
  ])("is addressed as URLs write it: %s", (host, written) => expect(hostInUrl(host)).toBe(written));
});
