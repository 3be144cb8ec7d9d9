import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import type { EventWriter } from "../../src/resume/event-log.js";
import { type Ended, endings, overNames, tombstones } from "../../src/resume/tombstones.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the names of dropped streams are kept, the newest of them", () => {
  const names = overNames(2);
  const known = () => ["a", "b", "c"].filter((name) => names.has(name));
  const seen = ["a", "b", "a", "c", "c"].map((name) => {
    names.add(name);
    return known().join("");
  });
  expect(seen).toEqual(["a", "ab", "ab", "bc", "bc"]);
  expect(overNames(2).has("a")).toBe(false);
});

describe("A cancelled stream", () => {
  function marking(maxTombstones = 2) {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    const log: string[] = [];
    const kept = tombstones({ ...LIMITS, tombstoneLife: 1000, maxTombstones }, root);
    const writer = (name: string, more: Partial<EventWriter> = {}) =>
      ({
        close: async () => void log.push(`close ${name}`),
        trim: async (seq: number) => void log.push(`trim ${name} ${seq}`),
        drop: async () => void log.push(`drop ${name}`),
        ...more,
      }) as EventWriter;
    return { root, log, kept, writer };
  }

  test("is closed, then emptied, and dropped after its time", async () => {
    const { root, log, kept, writer } = marking();
    await kept.mark(writer("a"), 7);
    expect([log, root.stats().timers]).toEqual([["close a", "trim a 7"], 1]);
    await vi.advanceTimersByTimeAsync(999);
    expect(log).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect([log.slice(2), root.stats().timers]).toEqual([["drop a"], 0]);
  });

  test("is dropped before its time where there are more than may be, oldest first, and with its server", async () => {
    const { root, log, kept, writer } = marking(2);
    for (const name of ["a", "b"]) await kept.mark(writer(name), 0);
    expect(log.filter((line) => line.startsWith("drop"))).toEqual([]);
    await kept.mark(writer("c"), 0);
    expect(log.filter((line) => line.startsWith("drop"))).toEqual(["drop a"]);
    root.close();
    expect(log.filter((line) => line.startsWith("drop")).sort()).toEqual(["drop a", "drop b", "drop c"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that is over counts no more among those that may be", async () => {
    const { log, kept, writer } = marking(2);
    const drops = () => log.filter((line) => line.startsWith("drop"));
    for (const name of ["a", "b"]) await kept.mark(writer(name), 0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(drops()).toEqual(["drop a", "drop b"]);
    for (const name of ["c", "d"]) await kept.mark(writer(name), 0);
    expect(drops()).toEqual(["drop a", "drop b"]);
    await kept.mark(writer("e"), 0);
    expect(drops()).toEqual(["drop a", "drop b", "drop c"]);
  });

  test.each(["close", "trim"] as const)("is dropped in its time where its log fails to %s it", async (call) => {
    const { log, kept, writer } = marking();
    const failing = writer("a", { [call]: () => Promise.reject(new Error("no")) });
    await expect(kept.mark(failing, 1)).rejects.toThrow("no");
    await vi.advanceTimersByTimeAsync(1000);
    expect(log.at(-1)).toBe("drop a");
  });
});

describe("A conversation that its client has closed", () => {
  const ended: Ended = { epoch: "e", received: 3, sent: 5 };
  function noting(maxTombstones = 2) {
    const forgotten: (string | undefined)[] = [];
    const all = endings({ ...LIMITS, maxTombstones, grace: 1000 }, ({ ticket }) => forgotten.push(ticket));
    return { all, forgotten };
  }
  const cursor = { epoch: "e", seq: 5 };

  test("is found by a client that has all of its frames, and by no other", () => {
    const { all } = noting();
    all.note("a", ended);
    expect(all.find("a", cursor)).toMatchObject(ended);
    for (const [name, other] of [
      ["b", cursor],
      ["a", undefined],
      ["a", { epoch: "f", seq: 5 }],
      ["a", { epoch: "e", seq: 4 }],
      ["a", { epoch: "e", seq: 6 }],
    ] as const)
      expect([name, other, all.find(name, other)]).toEqual([name, other, undefined]);
  });

  test("is known for `grace`, and forgotten with the next one after that", () => {
    const { all, forgotten } = noting(10);
    all.note("a", { ...ended, ticket: "ta" });
    vi.advanceTimersByTime(1000);
    expect(all.find("a", cursor)).toBeDefined();
    vi.advanceTimersByTime(1);
    expect([all.find("a", cursor), forgotten]).toEqual([undefined, []]);
    all.note("b", { ...ended, ticket: "tb" });
    expect([forgotten, all.find("b", cursor)?.ticket]).toEqual([["ta"], "tb"]);
  });

  test("is forgotten where there are more than may be, oldest first", () => {
    const { all, forgotten } = noting(2);
    for (const name of ["a", "b", "c", "d"]) all.note(name, { ...ended, ticket: name });
    expect(forgotten).toEqual(["a", "b"]);
    expect(["a", "b", "c", "d"].map((name) => all.find(name, cursor)?.ticket)).toEqual([
      undefined,
      undefined,
      "c",
      "d",
    ]);
  });
});
