import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RedisStoreError } from "../src/error.js";
import type { Look, StreamScripts } from "../src/streams.js";
import type { Joining, Subscriptions } from "../src/subscriptions.js";
import { followStream } from "../src/tail.js";
import { never, outcomeOf } from "./fake-redis.js";
import { stoppedCalls } from "./stopped-calls.js";

// How a stream is followed, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const entriesOf = (...seqs: readonly number[]) => seqs.map((seq) => ({ seq, text: `${seq}` }));
const found = (seqs: readonly number[], more: Partial<Look> = {}): Look => ({
  epoch: "e",
  first: 1,
  last: seqs.at(-1) ?? 0,
  closed: false,
  entries: entriesOf(...seqs),
  ...more,
});
const wake = (first: number, ...texts: readonly string[]) => JSON.stringify(["entries", "e", first, ...texts]);

interface Settings {
  /** What Redis answers, one after the other; it hangs then. */
  readonly looks?: readonly (Look | undefined | Error | Promise<Look>)[];
  readonly at?: number;
  readonly ready?: () => Promise<void>;
}

function following({ looks = [], at = 0, ready = async () => {} }: Settings = {}) {
  const calls = stoppedCalls({ status: "ready" }, 100_000);
  const left = looks.values();
  const asked: unknown[][] = [];
  const scripts = {
    channel: (stream: string) => `channel of ${stream}`,
    async look(...words: unknown[]) {
      asked.push(words);
      const { done, value } = left.next();
      if (value instanceof Error) throw value;
      return done ? never() : value;
    },
  } as unknown as StreamScripts;
  let subscriber!: Parameters<Subscriptions["subscribe"]>[1];
  const unsubscribe = vi.fn();
  const subscribe = vi.fn((_: string, given: typeof subscriber): Joining => {
    subscriber = given;
    return { ready: ready(), unsubscribe };
  });
  const aborting = new AbortController();
  const tails = new Set<() => void>();
  const options = { calls, scripts, subscriptions: { subscribe } as unknown as Subscriptions, lease: 1000, tails };
  const tail = followStream(options, "s", at, aborting.signal);
  const next = () => outcomeOf(tail.next().then(({ done, value }) => (done ? "over" : value)));
  /** Nothing is held any more, and it was left once. */
  const expectReleased = () => {
    expect([tails.size, unsubscribe.mock.calls.length, calls.timers()]).toEqual([0, 1, 0]);
  };
  return {
    tail,
    next,
    asked,
    subscribe,
    unsubscribe,
    tails,
    calls,
    aborting,
    expectReleased,
    receive: (text: string) => subscriber.receive(text),
    interrupt: () => subscriber.onInterrupted(1),
  };
}

describe("A tail", () => {
  test("reads what is held, then takes what its wake-ups carry, without a question", async () => {
    const { next, asked, subscribe, receive, tails, tail, expectReleased } = following({
      looks: [found([1, 2]), found([], { last: 2 })],
    });
    const first = next();
    await after(0);
    expect([first.outcome, subscribe.mock.calls[0]![0], tails.size]).toEqual([entriesOf(1, 2), "channel of s", 1]);
    const second = next();
    await after(0);
    // There may have been more than a page.
    expect([second.outcome, asked]).toEqual([
      "open",
      [
        ["s", 0, 1000],
        ["s", 2, 1000],
      ],
    ]);
    receive(wake(3, "3", "4"));
    await after(0);
    expect(second.outcome).toEqual(entriesOf(3, 4));
    const third = next();
    receive(wake(5, "5"));
    await after(0);
    expect([third.outcome, asked.length]).toEqual([entriesOf(5), 2]);
    await tail.return(undefined);
    expectReleased();
  });

  test("asks Redis after half a lease without a wake-up, because a killed writer sends none", async () => {
    const { next, asked, expectReleased } = following({
      looks: [found([]), found([]), found([], { closed: true })],
    });
    const seen = next();
    await after(499);
    expect(asked).toHaveLength(1);
    await after(1);
    expect([asked.length, seen.outcome]).toEqual([2, "open"]);
    await after(499);
    expect(asked).toHaveLength(2);
    await after(1);
    expect([asked.length, seen.outcome]).toEqual([3, "over"]);
    expectReleased();
  });

  test("asks Redis at once where its wake-ups may be missing, and where one does not fit", async () => {
    const { next, asked, interrupt, receive } = following({
      looks: [found([]), found([]), found([1, 2, 3])],
    });
    const seen = next();
    await after(0);
    interrupt();
    await after(0);
    expect([asked.length, seen.outcome]).toEqual([2, "open"]);
    receive(wake(3, "3"));
    await after(0);
    expect([asked.length, seen.outcome]).toEqual([3, entriesOf(1, 2, 3)]);
  });

  test("counts a wake-up that comes while Redis is read", async () => {
    let answer = (_: Look): void => {};
    const held = new Promise<Look>((resolve) => (answer = resolve));
    const { next, asked, receive } = following({ looks: [held, found([1], { closed: true })] });
    const seen = next();
    await after(0);
    receive(JSON.stringify(["closed", "e"]));
    answer(found([]));
    await after(0);
    expect([asked.length, seen.outcome]).toEqual([2, entriesOf(1)]);
  });

  test.each<[what: string, settings: Settings]>([
    ["that was never opened", { looks: [undefined] }],
    ["that is closed", { looks: [found([], { last: 4, first: 1, closed: true })], at: 4 }],
  ])("of a stream %s ends", async (_, settings) => {
    const { next, expectReleased } = following(settings);
    const seen = next();
    await after(0);
    expect(seen.outcome).toBe("over");
    expectReleased();
  });

  test("of a closed stream gives the entries before its end", async () => {
    const { next } = following({ looks: [found([1], { closed: true }), found([], { last: 1, closed: true })] });
    const [first, second] = [next(), next()];
    await after(0);
    expect([first.outcome, second.outcome]).toEqual([entriesOf(1), "over"]);
  });

  test.each<[what: string, looks: readonly (Look | undefined)[], at: number, message: string]>([
    ["begin later", [found([5, 6])], 1, "entries 2 to 4 of s are gone"],
    ["are all gone", [found([], { first: 8, last: 7 })], 3, "entries 4 to 7 of s are gone"],
    [
      "are fewer than before",
      [found([1, 2]), found([1])],
      0,
      "Redis has lost entries of s; entry 2 was the last one read",
    ],
  ])("whose entries %s rejects", async (_, looks, at, message) => {
    const { next, expectReleased } = following({ looks, at });
    const outcomes = looks.map(() => next());
    await after(0);
    expect(outcomes.at(-1)!.outcome).toBeInstanceOf(RedisStoreError);
    expect(outcomes.at(-1)!.outcome).toMatchObject({ code: "entries_lost", message });
    expectReleased();
  });

  test("gives the entries before a hole, and asks for the next one", async () => {
    const { next, asked } = following({ looks: [found([1, 2, 4]), found([4], { last: 4 })] });
    const [first, second] = [next(), next()];
    await after(0);
    expect([first.outcome, asked.map(([, at]) => at)]).toEqual([entriesOf(1, 2), [0, 2]]);
    expect(second.outcome).toMatchObject({ message: "entries 3 to 3 of s are gone" });
  });

  test("knows by a wake-up that there was an entry which Redis has no more", async () => {
    const { next, receive } = following({ looks: [found([]), found([1])] });
    const first = next();
    await after(0);
    receive(wake(1, "1", "2"));
    await after(0);
    expect(first.outcome).toEqual(entriesOf(1, 2));
    const second = next();
    await after(500);
    expect(second.outcome).toMatchObject({ code: "entries_lost" });
  });

  describe.each<[how: string, look: Look | undefined]>([
    ["is gone", undefined],
    ["is another one now", found([], { epoch: "other" })],
  ])("whose stream %s", (_, look) => {
    const vanishing = async () => {
      const made = following({ looks: [found([1]), look] });
      const [first, second] = [made.next(), made.next()];
      await after(0);
      expect([first.outcome, second.outcome]).toEqual([entriesOf(1), "open"]);
      return { ...made, second };
    };

    test("ends where it was dropped on purpose, of which the notice may come a second later", async () => {
      const { second, receive, expectReleased } = await vanishing();
      await after(999);
      receive(JSON.stringify(["dropped", "e"]));
      await after(0);
      expect(second.outcome).toBe("over");
      expectReleased();
    });

    test("rejects a second later where it was not", async () => {
      const { second, receive, expectReleased } = await vanishing();
      await after(500);
      receive(JSON.stringify(["dropped", "another"]));
      await after(499);
      expect(second.outcome).toBe("open");
      await after(2);
      expect(second.outcome).toMatchObject({
        code: "entries_lost",
        message: "Redis has lost entries of s; entry 1 was the last one read",
      });
      expectReleased();
    });

    test("ends at once where it is aborted", async () => {
      const { second, aborting, expectReleased } = await vanishing();
      aborting.abort();
      await after(0);
      expect(second.outcome).toBe("over");
      expectReleased();
    });
  });

  test.each<[while_: string, settings: Settings]>([
    ["it subscribes", { ready: never }],
    ["Redis is read", {}],
    ["it waits", { looks: [found([])] }],
  ])("ends at once where it is aborted while %s, and says that it was stopped", async (_, settings) => {
    for (const how of ["aborted", "stopped", "both"]) {
      const { next, aborting, calls, tails, expectReleased } = following(settings);
      const seen = next();
      await after(0);
      expect([seen.outcome, tails.size]).toEqual(["open", 1]);
      if (how !== "stopped") aborting.abort();
      if (how !== "aborted") {
        calls.stop();
        for (const end of [...tails]) end();
      }
      await after(0);
      if (how === "stopped")
        expect(seen.outcome).toMatchObject({ code: "stopped", message: "stop() was called while s was read" });
      else expect(seen.outcome).toBe("over");
      expect([tails.size, calls.timers()]).toEqual([0, 0]);
      if (how === "aborted") expectReleased();
    }
  });

  test("that is aborted before it begins asks nothing", async () => {
    const { next, aborting, subscribe } = following();
    aborting.abort();
    const seen = next();
    await after(0);
    expect([seen.outcome, subscribe.mock.calls]).toEqual(["over", []]);
  });

  test.each<[what: string, settings: Settings]>([
    ["subscribe", { ready: () => Promise.reject(new Error("no")) }],
    ["read", { looks: [new Error("no")] }],
  ])("that cannot %s rejects, and holds nothing", async (_, settings) => {
    const { next, expectReleased } = following(settings);
    const seen = next();
    await after(0);
    expect(seen.outcome).toMatchObject({ message: "no" });
    expectReleased();
  });

  test("leaves no listener on its signal", async () => {
    const { next, aborting, tail } = following({ looks: [found([1])] });
    const [add, remove] = [
      vi.spyOn(aborting.signal, "addEventListener"),
      vi.spyOn(aborting.signal, "removeEventListener"),
    ];
    next();
    await after(0);
    await tail.return(undefined);
    expect(remove.mock.calls.map(([event, listener]) => [event, listener])).toEqual(
      add.mock.calls.map(([event, listener]) => [event, listener]),
    );
  });
});
