import { expect, test, vi } from "vitest";
import { until, within } from "../../src/scope.js";
import { fail, opened, zero } from "../opened-scope.js";

test.each([
  ["a value", () => 1, 1],
  ["a promise", async () => 2, 2],
])("within gives %s and holds nothing afterwards", async (_, start, value) => {
  const { scope } = opened();
  await expect(within<number>(scope, 1000, "it", start)).resolves.toBe(value);
  expect(scope.stats()).toEqual(zero);
});

test.each([
  ["throws", () => fail(), "Error: failed"],
  ["rejects", async () => fail(), "Error: failed"],
  ["never settles", () => new Promise<void>(() => {}), "Disconnected: it did not finish within 5 ms"],
])("within rejects when what it waits for %s, and holds nothing afterwards", async (_, start, message) => {
  const { scope } = opened();
  const error = await within<void>(scope, 5, "it", start).catch((thrown: unknown) => thrown);
  expect(String(error)).toBe(message);
  expect(scope.stats()).toEqual(zero);
});

test.each(["closed", "open"])(
  "within handles the rejection of what had started before, in a scope that is %s",
  async (state) => {
    const { scope } = opened();
    if (state === "closed") scope.close(new Error("gone"));
    const started = Promise.reject(new Error("cut"));
    await expect(within(scope, 1000, "it", started)).rejects.toThrow(state === "closed" ? "gone" : "cut");
    // An unhandled rejection would fail this test.
    await new Promise((resolve) => setImmediate(resolve));
  },
);

test("within rejects with the reason of a scope that closes, and aborts what it waits for", async () => {
  const { scope } = opened();
  let attempt: AbortSignal | undefined;
  const waiting = within(scope, 1000, "it", ({ signal }) => {
    attempt = signal;
    return new Promise(() => {});
  });
  scope.close(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  expect(attempt!.aborted).toBe(true);
  await expect(within(scope, 1000, "it", () => 1)).rejects.toThrow("gone");
});

test("within fails after its limit, which may be tried again, and hands a late value on", async () => {
  vi.useFakeTimers();
  try {
    const { scope, failures } = opened();
    let answer = (_: string): void => {};
    let signal: AbortSignal | undefined;
    const late = vi.fn(() => {
      throw new Error("nobody hears it");
    });
    const waiting = within(
      scope,
      1000,
      "the log",
      (attempt) => {
        signal = attempt.signal;
        return new Promise<string>((resolve) => {
          answer = resolve;
        });
      },
      late,
    );
    const error = waiting.catch((reason: unknown) => reason);
    await vi.advanceTimersByTimeAsync(999);
    expect(signal!.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await error).toMatchObject({
      name: "Disconnected",
      message: "the log did not finish within 1000 ms",
      code: "timeout",
      retryable: true,
    });
    expect(signal!.reason).toBe(await error);
    answer("late");
    await vi.advanceTimersByTimeAsync(0);
    expect([late.mock.calls, failures, scope.stats()]).toEqual([[["late"]], [], zero]);
  } finally {
    vi.useRealTimers();
  }
});

test("until waits for a promise, its limit or its scope, whichever is first, and holds nothing then", async () => {
  vi.useFakeTimers();
  try {
    const { scope } = opened();
    const never = new Promise<string>(() => {});
    const one = scope.child();
    expect(await until(one, 1000, Promise.resolve("value"))).toBe("value");
    expect([one.closed, one.reason]).toEqual([true, undefined]);
    await expect(until(scope.child(), 1000, Promise.reject(new Error("no")))).rejects.toThrow("no");
    let outcome: unknown = "open";
    const note = (promise: Promise<unknown>) => {
      outcome = "open";
      void promise.then((value) => {
        outcome = value;
      });
    };
    note(until(scope.child(), 1000, never));
    await vi.advanceTimersByTimeAsync(999);
    expect(outcome).toBe("open");
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome).toBeUndefined();
    const left = scope.child();
    note(until(left, 1000, never));
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome).toBe("open");
    left.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome).toBeUndefined();
    expect([scope.stats(), vi.getTimerCount()]).toEqual([zero, 0]);
  } finally {
    vi.useRealTimers();
  }
});
