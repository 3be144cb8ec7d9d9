import { getEventListeners } from "node:events";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { lifetime, pause, silence, within } from "../../src/lifetime.js";

const thrown = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

/** What a wait of a second that comes to nothing is rejected with. */
const hanging = (life: ReturnType<typeof lifetime>, late: Error) =>
  thrown(
    within(
      life,
      () => new Promise(() => {}),
      1000,
      () => late,
    ),
  );

describe("A lifetime", () => {
  test("that is over starts nothing, and has its reason", async () => {
    const reason = new Error("over");
    const start = vi.fn(() => 1);
    const callers = [new AbortController(), new AbortController()];
    const life = lifetime(callers[0]!.signal, undefined, callers[1]!.signal);
    expect(await within(life, start)).toBe(1);
    callers[1]!.abort(reason);
    callers[0]!.abort(new Error("later"));
    expect(life.signal.reason).toBe(reason);
    expect(await thrown(within(life, start))).toBe(reason);
    expect(await thrown(pause(1e9, life))).toBe(reason);
    expect(start).toHaveBeenCalledOnce();
    expect(lifetime(undefined, callers[1]!.signal).signal.reason).toBe(reason);
  });

  test("that is released hears its callers no more, and is not over", async () => {
    const caller = new AbortController();
    const [one, other] = [lifetime(caller.signal), lifetime(caller.signal)];
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    one.release();
    one.release();
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    caller.abort(new Error("enough"));
    expect([one.signal.aborted, other.signal.aborted]).toEqual([false, true]);
    expect(await within(one, async () => 1)).toBe(1);
    expect([one, other].map(({ signal }) => getEventListeners(signal, "abort"))).toEqual([[], []]);
  });

  test("gives an abort without a reason the code of its name", () => {
    const life = lifetime();
    life.abort();
    expect(life.signal.reason).toMatchObject({ name: "AbortError" });
    const coded = lifetime();
    coded.abort(new DOMException("enough", "TimeoutError"));
    expect(coded.signal.reason).toMatchObject({ name: "TimeoutError", code: "TimeoutError" });
  });

  test("ends with what it waits for too long, and leaves no timer", async () => {
    vi.useFakeTimers();
    try {
      const life = lifetime();
      const late = new Error("late");
      const waiting = hanging(life, late);
      await vi.advanceTimersByTimeAsync(999);
      expect(life.signal.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect([await waiting, life.signal.reason, vi.getTimerCount()]).toEqual([late, late, 0]);
      const free = lifetime();
      let over = false;
      void pause(1000, free).then(() => {
        over = true;
      });
      await vi.advanceTimersByTimeAsync(999);
      expect(over).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect([over, vi.getTimerCount()]).toEqual([true, 0]);
      const left = thrown(pause(1000, free));
      free.abort(late);
      expect([await left, vi.getTimerCount()]).toEqual([late, 0]);
      // Without a limit there is no timer.
      void within(lifetime(), () => new Promise(() => {}));
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("has one more turn where the process stood still, before it is too late", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      for (const [took, more] of [
        [1000, false],
        [1100, false],
        [1100.5, true],
        [60_000, true],
      ] as const) {
        const life = lifetime();
        const late = new Error("late");
        const waiting = hanging(life, late);
        now += took;
        vi.advanceTimersByTime(1000);
        expect([took, life.signal.aborted, vi.getTimerCount()]).toEqual([took, !more, more ? 1 : 0]);
        if (more) vi.advanceTimersToNextTimer();
        expect([await waiting, vi.getTimerCount()]).toEqual([late, 0]);
      }
      // What came meanwhile is in time.
      let answer = (_: string): void => {};
      const life = lifetime();
      const start = () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        });
      const waiting = within(life, start, 1000, () => new Error("late"));
      now += 5000;
      vi.advanceTimersByTime(1000);
      answer("in time");
      expect([await waiting, life.signal.aborted, vi.getTimerCount()]).toEqual(["in time", false, 0]);
      // A timer takes no longer delay, and would fire at once.
      const set = vi.fn(setTimeout);
      vi.stubGlobal("setTimeout", set);
      const limits = [2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, Number.POSITIVE_INFINITY];
      for (const limit of limits) within(lifetime(), start, limit).catch(() => {});
      expect(set.mock.calls.map(([, delay]) => delay)).toEqual([2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1]);
    } finally {
      clock.mockRestore();
      vi.unstubAllGlobals();
      vi.useRealTimers();
    }
  });
});

describe("A silence", () => {
  /** A silence of 16 s, whose ticks are a second each, and a clock that a test moves with the timers or alone. */
  function silent() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const expire = vi.fn();
    return { expire, ...silence(16_000, expire) };
  }

  test("ends a wait after its limit, and a later one after a tick more at most", () => {
    const { expire, begin, end } = silent();
    begin();
    vi.advanceTimersByTime(15_999);
    expect(expire).not.toHaveBeenCalled();
    end();
    begin();
    vi.advanceTimersByTime(16_000);
    expect(expire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect([expire.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("ends no wait that is over, and leaves no timer", () => {
    const { expire, begin, end, stop } = silent();
    begin();
    end();
    vi.advanceTimersByTime(60_000);
    expect([expire.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
    begin();
    stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60_000);
    expect(expire).not.toHaveBeenCalled();
  });

  test("waits one tick more after a suspension, and counts late ticks by the clock", () => {
    const { expire, begin, end } = silent();
    let late = 0;
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + late);
    onTestFinished(() => void vi.restoreAllMocks());
    begin();
    late = 3_600_000;
    vi.advanceTimersByTime(1000);
    expect(expire).not.toHaveBeenCalled();
    end();
    begin();
    vi.advanceTimersByTime(2000);
    expect(expire).not.toHaveBeenCalled();
    late *= 2;
    vi.advanceTimersByTime(2000);
    expect(expire).toHaveBeenCalledOnce();
  });

  test("without a limit has no timer", () => {
    silent();
    silence(0, () => {}).begin();
    expect(vi.getTimerCount()).toBe(0);
  });
});
