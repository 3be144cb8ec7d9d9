import { getEventListeners } from "node:events";
import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { totals, within } from "../src/scope.js";
import { fail, opened, zero } from "./opened-scope.js";

test("a scope releases what it holds once, newest first, whatever throws or rejects", async () => {
  const { scope, failures } = opened();
  const released: number[] = [];
  for (const i of [1, 2, 3, 4, 5])
    scope.add(() => {
      released.push(i);
      if (i === 2) throw new Error("two");
      if (i === 4) return Promise.reject(new Error("four"));
    });
  scope.close();
  scope.close();
  await Promise.resolve();
  expect(released).toEqual([5, 4, 3, 2, 1]);
  expect(failures.map(String)).toEqual(["Error: two", "Error: four"]);
});

test("what is released early is not released again", () => {
  const { scope } = opened();
  const release = vi.fn();
  const early = scope.hold(release, "places");
  expect(scope.stats().places).toBe(1);
  early();
  early();
  scope.close();
  expect(release).toHaveBeenCalledTimes(1);
  expect(scope.stats()).toEqual(zero);
});

test("what is added to a closed scope is released at once", () => {
  const { scope } = opened();
  scope.close("over");
  const release = vi.fn();
  scope.hold(release, "places")();
  scope.add(release);
  expect(release).toHaveBeenCalledTimes(2);
  const child = scope.child("streams");
  expect([child.closed, child.reason, child.signal.aborted, child.signal.reason]).toEqual([true, "over", true, "over"]);
  expect(scope.stats()).toEqual(zero);
});

test("children close with their parent, for its reason, before what the parent acquired earlier", () => {
  const { scope } = opened();
  const order: string[] = [];
  scope.add(() => order.push("parent"));
  const child = scope.child("readers");
  child.add(() => order.push(`child ${child.reason}`));
  const other = scope.child("readers");
  other.close();
  expect(scope.stats().readers).toBe(1);
  const { signal } = child;
  scope.close("reason");
  expect(order).toEqual(["child reason", "parent"]);
  expect(signal.reason).toBe("reason");
});

test("work that is done aborts nothing", () => {
  const { scope } = opened();
  const { signal } = scope;
  const child = scope.child();
  scope.close();
  expect([signal.aborted, scope.signal.aborted, child.signal.aborted]).toEqual([false, false, false]);
});

test("a foreign signal keeps no listener of a scope that is closed", () => {
  const { scope } = opened();
  const outer = new AbortController();
  const run = vi.fn();
  scope.onAbort(outer.signal, run);
  expect(getEventListeners(outer.signal, "abort")).toHaveLength(1);
  scope.close();
  expect(getEventListeners(outer.signal, "abort")).toHaveLength(0);
  outer.abort();
  expect(run).not.toHaveBeenCalled();
  const late = opened();
  late.scope.onAbort(outer.signal, run);
  expect(run).toHaveBeenCalledTimes(1);
});

test("timers are counted, end with their scope, and never overflow", () => {
  vi.useFakeTimers();
  try {
    const { scope, failures } = opened();
    const run = vi.fn();
    scope.timeout(1e12, run);
    scope.timeout(Number.POSITIVE_INFINITY, run);
    scope.timeout(10, () => {
      throw new Error("ten");
    });
    scope.interval(10, run);
    expect(scope.stats().timers).toBe(3);
    vi.advanceTimersByTime(25);
    expect(run).toHaveBeenCalledTimes(2);
    expect(String(failures[0])).toBe("Error: ten");
    expect(scope.stats().timers).toBe(2);
    scope.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("measures add up while their scopes are open, here and over the whole process", () => {
  const { scope } = opened();
  const one = scope.child("sessions");
  one.measure("queued", () => 3);
  scope.measure("queued", () => 4);
  expect(scope.stats()).toMatchObject({ queued: 7, sessions: 1 });
  expect(totals()).toMatchObject({ queued: 7, sessions: 1 });
  one.close();
  expect(scope.stats()).toMatchObject({ queued: 4, sessions: 0 });
  scope.close();
  expect(totals()).toEqual(zero);
});

test.each([
  ["returns", () => {}],
  ["throws", () => fail()],
  ["rejects", async () => fail()],
])("a value that comes after the limit is handed to `late`, which may fail unheard: it %s", async (_, taken) => {
  const { scope } = opened();
  let settle!: (value: string) => void;
  const late = vi.fn(taken);
  const start = () => new Promise<string>((resolve) => (settle = resolve));
  await expect(within(scope, 1, "it", start, late)).rejects.toMatchObject({ code: "timeout" });
  settle("value");
  await Promise.resolve();
  expect(late).toHaveBeenCalledWith("value");
});

test("any number of things is held and released, in reverse order of acquiring", () => {
  for (const count of [1, 8, 9, 100]) {
    const { scope } = opened();
    const released: number[] = [];
    const early = Array.from({ length: count }, (_, i) => scope.hold(() => released.push(i), "places"));
    early[count >> 1]!();
    expect(scope.stats().places).toBe(count - 1);
    scope.close();
    const rest = Array.from({ length: count }, (_, i) => i).filter((i) => i !== count >> 1);
    expect(released).toEqual([count >> 1, ...rest.reverse()]);
    expect(scope.stats()).toEqual(zero);
  }
});

/** The whole process waits, as one that its system has stopped. */
const standStill = (milliseconds: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

test.each([
  ["begun", 0],
  ["half over", 110],
])(
  "an answer that needs several turns after the process stood still is in time, also when the wait was %s",
  async (_, after) => {
    const { scope } = opened();
    await tick();
    const come = within(scope, 200, "an answer", async () => {
      await (after > 0 && sleep(after));
      standStill(350);
      for (let turn = 0; turn < 5; turn++) await tick();
      await sleep(5);
    });
    await expect(come).resolves.toBeUndefined();
    scope.close();
  },
);

test.each<[delay: number, waits: readonly [late: number, runs: boolean][]]>([
  // Half of it, and half again, each at most 100 ms and its own length late.
  [
    200,
    [
      [0, false],
      [0, true],
    ],
  ],
  [
    200,
    [
      [199.9, false],
      [199.9, true],
    ],
  ],
  [
    200,
    [
      [200, false],
      [0, false],
      [0, true],
    ],
  ],
  [
    200,
    [
      [0, false],
      [200, false],
      [5000, false],
      [0, true],
    ],
  ],
  [
    0,
    [
      [0, false],
      [99.9, true],
    ],
  ],
  [
    0,
    [
      [100, false],
      [0, false],
      [0, true],
    ],
  ],
  [
    5,
    [
      [102.9, false],
      [101.9, true],
    ],
  ],
  [
    5,
    [
      [103, false],
      [0, false],
      [102, false],
      [0, true],
    ],
  ],
])("a half of a wait of %d ms in which the process stood still does not count: %j", (delay, waits) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let now = 1000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const set = vi.fn(setTimeout);
  vi.stubGlobal("setTimeout", set);
  try {
    const { scope } = opened();
    const run = vi.fn();
    scope.timeout(delay, run);
    for (const [late, runs] of waits) {
      now += set.mock.lastCall![1]! + late;
      vi.advanceTimersToNextTimer();
      expect([late, run.mock.calls.length]).toEqual([late, runs ? 1 : 0]);
      expect(scope.stats().timers).toBe(runs ? 0 : 1);
    }
    const halves = set.mock.calls.map(([, half]) => half);
    expect(halves.slice(0, 1)).toEqual([Math.ceil(delay / 2)]);
    expect(halves.at(-1)).toBe(Math.floor(delay / 2));
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    clock.mockRestore();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  }
});

test("a scope's timers keep no process alive", () => {
  const { scope } = opened();
  const made = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "setInterval")];
  scope.timeout(1000, () => {});
  scope.interval(1000, () => {});
  void within(scope, 1000, "it", new Promise(() => {})).catch(() => {});
  const timers = made.flatMap((spy) => spy.mock.results.map(({ value }) => value as NodeJS.Timeout));
  for (const spy of made) spy.mockRestore();
  expect(timers.length).toBeGreaterThan(1);
  expect(timers.map((timer) => timer.hasRef())).toEqual(timers.map(() => false));
  scope.close();
});
