import { Refusal } from "@parlance/server";
import { describe, expect, it } from "vitest";
import { type Opened, rawClient, rawServer } from "../methods-fixture.js";

// biome-ignore lint/suspicious/noExplicitAny: handlers of every form
type Loose = any;

/** Both of our sides, each with a raw peer. `asked` is a request that the raw peer may send, `called` one that our side may. */
const sides: readonly [side: string, open: (handlers?: Loose, options?: object) => Promise<Opened>][] = [
  ["client", rawServer],
  ["server", rawClient],
];

const deep = `${'{"a":'.repeat(80)}1${"}".repeat(80)}`;

describe.each(sides)("a channel with methods of the %s", (side, open) => {
  const asked = side === "client" ? "turn/allow" : "turn/load";
  const called = side === "client" ? "turn/load" : "turn/allow";
  const notice = side === "client" ? "turn/text" : "turn/stop";
  const params = { sessionId: "s" };
  const answer = side === "client" ? { yes: true } : {};
  const result = side === "client" ? {} : { yes: true };

  const bad: readonly [what: string, frame: string, error: object, code: string][] = [
    ["text that is not JSON", "{nope", { id: null, code: -32700 }, "malformed_json"],
    ["a batch", `[{"jsonrpc":"2.0","id":1,"method":"${asked}"}]`, { id: null, code: -32600 }, "not_a_request"],
    ["no object", "7", { id: null, code: -32600 }, "not_a_request"],
    ["an empty batch", "[]", { id: null, code: -32600 }, "not_a_request"],
    [
      "an id whose digits are lost",
      `{"jsonrpc":"2.0","id":9007199254740993,"method":"${asked}","params":{"sessionId":"s"}}`,
      { id: null, code: -32600 },
      "not_a_request",
    ],
    [
      "a request named as a result",
      '{"jsonrpc":"2.0","id":4,"method":"rpc.result"}',
      { id: 4, code: -32601 },
      "not_a_request",
    ],
    [
      "a request named as an error",
      '{"jsonrpc":"2.0","id":4,"method":"rpc.error"}',
      { id: 4, code: -32601 },
      "not_a_request",
    ],
    ["no version", `{"id":4,"method":"${asked}","params":{}}`, { id: 4, code: -32600 }, "not_a_request"],
    ["another version", `{"jsonrpc":"1.0","id":4,"method":"${asked}"}`, { id: 4, code: -32600 }, "not_a_request"],
    ["a method that is no string", '{"jsonrpc":"2.0","id":4,"method":7}', { id: 4, code: -32600 }, "not_a_request"],
    [
      "an id of another type",
      `{"jsonrpc":"2.0","id":{},"method":"${asked}"}`,
      { id: null, code: -32600 },
      "not_a_request",
    ],
    ["neither method nor answer", '{"jsonrpc":"2.0"}', { id: null, code: -32600 }, "not_a_request"],
    [
      "a notification with an id",
      `{"jsonrpc":"2.0","id":"n","method":"${notice}"}`,
      { id: "n", code: -32600 },
      "not_a_request",
    ],
    [
      "a key that is refused",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}","params":{"__proto__":{}}}`,
      { id: 4, code: -32600 },
      "forbidden_key",
    ],
    [
      "params that are too deep",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}","params":${deep}}`,
      { id: 4, code: -32600 },
      "too_deep",
    ],
    [
      "params without what is required",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}"}`,
      { id: 4, code: -32602 },
      "schema",
    ],
    [
      "params of another type",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}","params":{"sessionId":5}}`,
      { id: 4, code: -32602 },
      "schema",
    ],
    [
      "params by position",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}","params":["s"]}`,
      { id: 4, code: -32602 },
      "schema",
    ],
  ];

  it.each(bad)("answers %s, and goes on", async (_, frame, { id, code }: Loose, violation) => {
    const { raw, violations, close } = await open({ [asked]: () => answer });
    raw.write(frame);
    expect(await raw.next()).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
    expect(violations.map((one) => one.code)).toEqual([violation]);
    raw.send({ id: 9, method: asked, params });
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id: 9, result: answer });
    await close();
  });

  it("names the places of wrong params in the error's data", async () => {
    const { raw, close } = await open();
    raw.send({ id: 1, method: asked, params: { sessionId: 5 } });
    const { error } = await raw.next();
    expect(error.data.flaws).toEqual([{ at: "/sessionId", keyword: "type", params: { type: "string" } }]);
    raw.send({ id: 2, method: asked, params: {} });
    expect((await raw.next()).error.message).toContain("`params.sessionId` is missing");
    await close();
  });

  it.each([0, -1, 1.5, "", "a", null, 9007199254740991])("answers the id %j as it came", async (id) => {
    const { raw, close } = await open({ [asked]: () => answer });
    raw.send({ id, method: asked, params });
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id, result: answer });
    raw.send({ id, method: "fly" });
    expect(await raw.next()).toMatchObject({ id, error: { code: -32601 } });
    await close();
  });

  it.each(["fly", "constructor", "_hello", asked])(
    "answers a request for %s without a handler with -32601",
    async (method) => {
      const { raw, close } = await open();
      raw.send({ id: 1, method, params });
      expect((await raw.next()).error).toEqual({
        code: -32601,
        message: `there is no method ${method}`,
        data: { method },
      });
      await close();
    },
  );

  it("reports unknown notifications, and gives extensions to their handlers", async () => {
    const got: unknown[] = [];
    const { raw, unknown, close } = await open({ _hello: (given: unknown) => got.push(given), [asked]: () => answer });
    raw.send({ method: "fly", params: 1 });
    raw.send({ method: "_unheard" });
    raw.send({ method: "_hello", params: [1] });
    raw.send({ id: 1, method: "_hello", params: "x" });
    expect(await raw.next()).toMatchObject({ id: 1, result: 2 });
    expect(unknown).toEqual([{ body: { jsonrpc: "2.0", method: "fly", params: 1 } }]);
    expect(got).toEqual([[1], "x"]);
    await close();
  });

  it("sends extensions unchecked", async () => {
    const { raw, ours, close } = await open();
    const answered = ours.call("_ext/add", { a: 1 });
    const { id, ...frame } = await raw.next();
    expect(frame).toEqual({ jsonrpc: "2.0", method: "_ext/add", params: { a: 1 } });
    raw.send({ id, result: [3] });
    expect(await answered).toEqual([3]);
    ours.notify("_ext/done", 7);
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", method: "_ext/done", params: 7 });
    await close();
  });

  it("reads params and results that are null where nothing in them is required", async () => {
    const got: unknown[] = [];
    const { raw, ours, close } = await open({ ping: (given: unknown) => void got.push(given) });
    for (const frame of [{}, { params: null }, { params: {} }]) {
      raw.send({ id: 1, method: "ping", ...frame });
      expect(await raw.next()).toMatchObject({ id: 1, result: {} });
    }
    expect(got).toEqual([{}, {}, {}]);
    const answered = ours.call("ping", {});
    raw.send({ id: (await raw.next()).id, result: null, error: null });
    expect(await answered).toEqual({});
    await close();
  });

  it("rejects a call with the peer's error: its code, text and data", async () => {
    const { raw, ours, close } = await open();
    const errors: readonly [error: object, refusal: object][] = [
      [
        { code: -32000, message: "gone", data: { a: [1] } },
        { code: "away", message: "gone", details: { a: [1] } },
      ],
      [
        { code: -32601, message: "no" },
        { code: "method_not_found", details: undefined },
      ],
      [
        { code: 7, message: "seven", data: null },
        { code: "7", details: null },
      ],
    ];
    for (const [error, refusal] of errors) {
      const answered = ours.call(called, params);
      raw.send({ id: (await raw.next()).id, error });
      await expect(answered).rejects.toMatchObject({ name: "Refusal", ...refusal });
    }
    await close();
  });

  it("rejects a call with a violation where its answer breaks the contract", async () => {
    const { raw, ours, violations, close } = await open();
    const method = side === "client" ? "hello" : called;
    for (const broken of [
      { result: { version: "x", yes: 7 } },
      { error: { code: "x" } },
      { result: {}, error: { code: 1, message: "" } },
    ]) {
      const answered = ours.call(method, { version: 1, ...params });
      answered.catch(() => {});
      raw.send({ id: (await raw.next()).id, ...broken });
      await expect(answered).rejects.toMatchObject({ name: "Violation" });
    }
    expect(violations).toHaveLength(3);
    await close();
  });

  it.each([
    ["a result that is too deep", `"jsonrpc":"2.0","result":${deep}`],
    ["a result with a key that is refused", '"jsonrpc":"2.0","result":{"__proto__":{}}'],
    ["a result without a version", '"result":{}'],
    ["an error without a version", '"error":{"code":1,"message":"no"}'],
  ])("rejects a call whose answer is %s, and goes on", async (_, fields) => {
    const { raw, ours, violations, close } = await open({ [asked]: () => answer });
    const answered = ours.call(called, params);
    answered.catch(() => {});
    raw.write(`{"id":${JSON.stringify((await raw.next()).id)},${fields}}`);
    await expect(answered).rejects.toMatchObject({ name: "Violation" });
    expect(violations).toHaveLength(1);
    raw.send({ id: 1, method: asked, params });
    expect(await raw.next()).toMatchObject({ id: 1, result: answer });
    await close();
  });

  it("reports an answer to what was not asked, and goes on", async () => {
    const { raw, violations, close } = await open({ [asked]: () => answer });
    raw.send({ id: 77, result: {} });
    raw.send({ id: null, error: { code: -32700, message: "what?" } });
    raw.send({ id: 1, method: asked, params });
    expect(await raw.next()).toMatchObject({ id: 1, result: answer });
    expect(violations.map(({ code }) => code)).toEqual(["unknown_id", "unknown_id"]);
    await close();
  });

  it("refuses a second request with the id of an open one", async () => {
    let finish!: (value: unknown) => void;
    const held = new Promise((resolve) => {
      finish = resolve;
    });
    const { raw, violations, close } = await open({ [asked]: () => held });
    raw.send({ id: 1, method: asked, params });
    raw.send({ id: 1, method: asked, params });
    expect(await raw.next()).toMatchObject({ id: 1, error: { code: -32600 } });
    expect(violations.map(({ code }) => code)).toEqual(["duplicate_id"]);
    finish(answer);
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id: 1, result: answer });
    await close();
  });

  it("calls the peer from a handler before it answers", async () => {
    const { raw, close } = await open({
      [asked]: async (_: unknown, call: Loose) => {
        await call.call(called, params);
        return answer;
      },
    });
    raw.send({ id: "outer", method: asked, params });
    const inner = await raw.next();
    expect(inner).toMatchObject({ method: called, params });
    raw.send({ id: inner.id, result });
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id: "outer", result: answer });
    await close();
  });

  it("keeps requests of both directions with one id apart", async () => {
    const { raw, ours, close } = await open({ [asked]: () => answer });
    const answered = ours.call(called, params);
    const { id } = await raw.next();
    raw.send({ id, method: asked, params });
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id, result: answer });
    raw.send({ id, result });
    expect(await answered).toEqual(result);
    await close();
  });

  it("answers concurrent requests as each is done", async () => {
    const waiting = new Map<string, (value: unknown) => void>();
    const { raw, close } = await open({
      [asked]: ({ sessionId }: Loose) => new Promise((resolve) => waiting.set(sessionId, resolve)),
      ping: () => ({}),
    });
    for (const sessionId of ["a", "b"]) raw.send({ id: sessionId, method: asked, params: { sessionId } });
    raw.send({ id: "c", method: "ping" });
    expect(await raw.next()).toMatchObject({ id: "c" });
    for (const sessionId of ["b", "a"]) {
      waiting.get(sessionId)!(answer);
      expect(await raw.next()).toMatchObject({ id: sessionId });
    }
    await close();
  });

  it("cancels a request by its id: the handler's signal aborts, and it ends with -32800", async () => {
    const { raw, close } = await open({
      [asked]: (_: unknown, { signal }: Loose) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    raw.send({ id: 5, method: asked, params });
    raw.send({ method: "$/cancel", params: { requestId: 6 } });
    raw.send({ method: "$/cancel", params: { requestId: 5 } });
    expect(await raw.next()).toMatchObject({ id: 5, error: { code: -32800 } });
    await close();
  });

  it("sends the cancel of a call that is aborted, and takes how the peer ends it", async () => {
    const { raw, ours, close } = await open();
    const ends: readonly [end: object, outcome: unknown][] = [
      [{ result }, result],
      [{ error: { code: -32800, message: "cancelled" } }, "reason"],
      [{ error: { code: -32000, message: "gone" } }, "gone"],
    ];
    for (const [end, outcome] of ends) {
      const stop = new AbortController();
      const answered = ours.call(called, params, { signal: stop.signal });
      const { id } = await raw.next();
      stop.abort(new Error("reason"));
      expect(await raw.next()).toEqual({ jsonrpc: "2.0", method: "$/cancel", params: { requestId: id } });
      raw.send({ id, ...end });
      expect(await answered.catch((error: Error) => error.message)).toEqual(outcome);
    }
    await close();
  });

  it("sends nothing for a signal that is aborted before", async () => {
    const { raw, ours, close } = await open();
    await expect(ours.call(called, params, { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expect(raw.unread).toEqual([]);
    await close();
  });

  it("rejects open calls and aborts open handlers when the channel ends", async () => {
    let reason: unknown;
    const { raw, ours, close } = await open({
      [asked]: (_: unknown, { signal }: Loose) =>
        new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason))),
    });
    raw.send({ id: 1, method: asked, params });
    const answered = ours.call(called, params);
    answered.catch(() => {});
    await raw.next();
    raw.close();
    await expect(answered).rejects.toMatchObject({ name: "Disconnected", code: "closed" });
    expect(reason).toMatchObject({ name: "Disconnected" });
    await expect(ours.call(called, params)).rejects.toMatchObject({ name: "Disconnected" });
    await close();
  });

  it.each<[what: string, result: () => unknown]>([
    ["a bigint", () => ({ ...answer, more: 1n })],
    [
      "a circle",
      () => {
        const circle: Record<string, unknown> = { ...answer };
        circle.more = circle;
        return circle;
      },
    ],
  ])("answers %s, which JSON cannot write, with an error, and goes on", async (_, resultOf) => {
    const { raw, close } = await open({ [asked]: resultOf, _ext: () => answer });
    raw.send({ id: 1, method: asked, params });
    expect(await raw.next()).toMatchObject({ id: 1, error: { code: -32603 } });
    raw.send({ id: 2, method: "_ext", params });
    expect(await raw.next()).toMatchObject({ id: 2, result: answer });
    await close();
  });

  it("answers a failing handler with an error, and goes on", async () => {
    let thrown: unknown;
    const { raw, close } = await open({
      [asked]: () => {
        throw thrown;
      },
    });
    const cases: readonly [thrown: unknown, error: object][] = [
      [new Refusal("gone", { code: "away", details: { a: 1 } }), { code: -32000, message: "gone", data: { a: 1 } }],
      [new Refusal("own", { code: "-1234" }), { code: -1234, message: "own" }],
      [new Refusal("bad", { status: 400 }), { code: -32602, message: "bad" }],
      [new TypeError("secret"), { code: -32603, message: side === "client" ? "secret" : "the server failed" }],
    ];
    for (const [index, [one, error]] of cases.entries()) {
      thrown = one;
      raw.send({ id: index, method: asked, params });
      expect(await raw.next()).toEqual({ jsonrpc: "2.0", id: index, error });
    }
    await close();
  });
});
