import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { passes, refusal } from "../src/calls.js";
import { RedisStoreError } from "../src/error.js";
import { stoppedCalls } from "./stopped-calls.js";

// The waits on Redis, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const TIMEOUT = 1000;

function calls(more: object = {}) {
  const redis = { status: "ready", ...more };
  const made = stoppedCalls(redis, TIMEOUT);
  const outcome = (promise: Promise<unknown>) => {
    const seen: { outcome: unknown } = { outcome: "open" };
    promise.then(
      (value) => {
        seen.outcome = value;
      },
      (error) => {
        seen.outcome = error;
      },
    );
    return seen;
  };
  return { redis, made, outcome, rest: () => ({ pending: made.pending(), timers: made.timers() }) };
}
const REST = { pending: 0, timers: 0 };
const reply = (message: string) => Object.assign(new Error(message), { name: "ReplyError" });
const never = () => new Promise<never>(() => {});

describe("A call", () => {
  test("gives its answer, and holds nothing then", async () => {
    const { made, rest } = calls();
    const answer = made.ask("read s", async () => 7);
    expect(rest()).toEqual({ pending: 1, timers: 1 });
    expect([await answer, rest()]).toEqual([7, REST]);
    expect([await made.within("PING", Promise.resolve("PONG")), rest()]).toEqual(["PONG", REST]);
  });

  test("is tried again each 50 ms after an error that passes, until its time is over", async () => {
    const { made, outcome, rest } = calls();
    const send = vi.fn(() => Promise.reject(reply("LOADING Redis is loading")));
    const seen = outcome(made.ask("read s", send));
    await after(0);
    expect(send).toHaveBeenCalledTimes(1);
    await after(49);
    expect(send).toHaveBeenCalledTimes(1);
    await after(1);
    expect(send).toHaveBeenCalledTimes(2);
    await after(TIMEOUT - 51);
    expect([seen.outcome, send.mock.calls.length]).toEqual(["open", 20]);
    await after(1);
    expect(seen.outcome).toBeInstanceOf(RedisStoreError);
    expect(seen.outcome).toMatchObject({
      code: "timeout",
      message: "no answer within 1000 ms to: read s",
      cause: { message: "LOADING Redis is loading" },
    });
    await after(TIMEOUT);
    expect([send.mock.calls.length <= 21, rest()]).toEqual([true, REST]);
  });

  test("that was to be tried again is not, once its time is over", async () => {
    const { made, outcome, rest } = calls();
    let fail = (_: unknown): void => {};
    const send = vi.fn(() => new Promise((_, reject) => (fail = reject)));
    const seen = outcome(made.ask("read s", send));
    await after(TIMEOUT - 20);
    fail(new Error("cut"));
    await after(20);
    expect([(seen.outcome as RedisStoreError).code, rest()]).toEqual(["timeout", REST]);
    await after(1000);
    expect(send).toHaveBeenCalledOnce();
  });

  test("without an answer times out, which has no cause then", async () => {
    const { made, outcome } = calls();
    const [asked, waited] = [outcome(made.ask("read s", never)), outcome(made.within("PING", never()))];
    await after(TIMEOUT);
    for (const [{ outcome: error }, what] of [
      [asked, "read s"],
      [waited, "PING"],
    ] as const) {
      expect(error).toMatchObject({ code: "timeout", message: `no answer within 1000 ms to: ${what}` });
      expect("cause" in (error as Error)).toBe(false);
    }
  });

  test("is refused by an error that does not pass, and by a client that has ended", async () => {
    const wrong = reply("WRONGTYPE no");
    const { made, redis, rest } = calls();
    await expect(made.ask("read s", () => Promise.reject(wrong))).rejects.toMatchObject({
      name: "RedisStoreError",
      code: "refused",
      message: "Redis refused: read s: WRONGTYPE no",
      cause: wrong,
    });
    redis.status = "end";
    await expect(made.ask("read s", () => Promise.reject(new Error("Connection is closed.")))).rejects.toMatchObject({
      code: "refused",
    });
    await expect(made.within("PING", Promise.reject(wrong))).rejects.toBe(wrong);
    expect(rest()).toEqual(REST);
  });

  test("fails with all others when they are stopped, and none begins after that", async () => {
    const { made, outcome, rest } = calls();
    const send = vi.fn(() => Promise.reject(new Error("cut")));
    const seen = [outcome(made.ask("read s", send)), outcome(made.within("PING", never()))];
    made.after(10, () => expect.unreachable());
    await after(0);
    expect(made.stopped).toBe(false);
    made.stop();
    await after(0);
    for (const { outcome: error } of seen)
      expect(error).toMatchObject({ code: "stopped", message: "stop() was called before: a pending call" });
    expect([made.stopped, rest()]).toEqual([true, REST]);
    await expect(made.ask("read s", send)).rejects.toMatchObject({
      code: "stopped",
      message: "stop() was called before: read s",
    });
    await after(5000);
    expect(send).toHaveBeenCalledOnce();
  });

  test("whose answer comes too late counts for nothing", async () => {
    const { made, outcome, rest } = calls();
    let answer = (_: unknown): void => {};
    const send = vi.fn(() => new Promise((_, reject) => (answer = reject)));
    const seen = outcome(made.ask("read s", send));
    await after(TIMEOUT);
    answer(new Error("cut"));
    await after(1000);
    expect([(seen.outcome as RedisStoreError).code, send.mock.calls.length, rest()]).toEqual(["timeout", 1, REST]);
  });

  test("of a cluster has its masters looked up anew while it waits, four times in its time", async () => {
    const refreshSlotsCache = vi.fn();
    const { made, outcome, rest } = calls({ nodes: () => [], refreshSlotsCache });
    outcome(made.ask("read s", never));
    await after(249);
    expect(refreshSlotsCache).not.toHaveBeenCalled();
    await after(1);
    expect(refreshSlotsCache).toHaveBeenCalledTimes(1);
    await after(500);
    expect(refreshSlotsCache).toHaveBeenCalledTimes(3);
    await after(5000);
    expect([refreshSlotsCache.mock.calls.length <= 4, rest()]).toEqual([true, REST]);
    const single = calls({ refreshSlotsCache: () => expect.unreachable() });
    single.outcome(single.made.ask("read s", never));
    await after(TIMEOUT);
    // An old client cannot.
    const old = calls({ nodes: () => [] });
    const seen = old.outcome(old.made.ask("read s", never));
    await after(TIMEOUT);
    expect(seen.outcome).toMatchObject({ code: "timeout" });
  });

  test.each<readonly [error: unknown, again: boolean]>([
    ...["CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS", "BUSY"].map(
      (code) => [reply(`${code} x`), true] as const,
    ),
    [new Error("Connection is closed."), true],
    ["text", true],
    [reply("BUSYKEY x"), false],
    [reply("OOM x"), false],
    [reply("ERR LOADING"), false],
  ])("may be tried again after %s: %s", (error, again) => expect(passes(error)).toBe(again));

  test("that is refused says by what", () => {
    expect(refusal("x", "text")).toMatchObject({ message: "Redis refused: x: text", cause: "text" });
  });
});

test("an error of this package is known by any copy of it, and a subclass by itself alone", () => {
  class Own extends RedisStoreError {}
  const [error, own] = [new RedisStoreError("refused", "no", { cause: 7 }), new Own("refused", "no")];
  expect([error.name, error.code, error.cause, error instanceof Error]).toEqual([
    "RedisStoreError",
    "refused",
    7,
    true,
  ]);
  expect([own instanceof RedisStoreError, own instanceof Own, error instanceof Own]).toEqual([true, true, false]);
  const foreign = Object.assign(new Error("no"), { [Symbol.for("@parlance/RedisStoreError")]: true });
  expect(foreign instanceof RedisStoreError).toBe(true);
  for (const other of [undefined, null, "no", new Error("no"), {}])
    expect(other instanceof RedisStoreError).toBe(false);
});

test("a refusal by Redis is one line of at most 500 characters, with the error of Redis as its cause", () => {
  const cause = new Error(`ERR user_script:3:\n  ${"x".repeat(1000)}`);
  const { message, code, cause: kept } = refusal("append", cause);
  expect(message).toMatch(/^Redis refused: append: ERR user_script:3: x+$/);
  expect([message.length, code, kept]).toEqual([500, "refused", cause]);
});
