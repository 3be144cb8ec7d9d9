import { Disconnected, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { wiring } from "../../src/cluster/publish.js";
import { memoryPubSub, type PubSub } from "../../src/cluster/pubsub.js";
import { clusterStreams } from "../../src/cluster/streams.js";
import { subscribe } from "../../src/cluster/subscriptions.js";
import { LIMITS } from "../../src/limits.js";
import { lastCalls } from "../../src/shutdown.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

function wired(pubSub: PubSub = memoryPubSub(), limits = {}) {
  const releases = vi.fn();
  const root = Scope.open(releases);
  onTestFinished(() => root.close());
  const report = vi.fn();
  const made = wiring(pubSub, { ...LIMITS, storeWithin: 1000, grace: 900, ...limits }, root, report, lastCalls());
  return { wires: made, root, report, releases };
}

describe("A subscription", () => {
  /** Pub/sub whose tries a test answers. */
  function trying() {
    const tries: { at: number; topic: string; resolve(unsubscribe: () => void): void; reject(error: unknown): void }[] =
      [];
    let receive = (_: string): void => {};
    let interrupted = (_?: number): void => {};
    const pubSub: PubSub = {
      publish: async () => 0,
      subscribe(topic, given, onInterrupted) {
        receive = given;
        interrupted = onInterrupted!;
        const at = performance.now();
        return new Promise((resolve, reject) => void tries.push({ at, topic, resolve, reject }));
      },
    };
    const { wires, root, report, releases } = wired(pubSub);
    const scope = root.child();
    const [got, onInterrupted] = [vi.fn(), vi.fn()];
    const made = subscribe(wires, { topic: "t", scope, receive: got, onInterrupted });
    const seen: { is: unknown } = { is: "waits" };
    made.then(
      () => {
        seen.is = "subscribed";
      },
      (error) => {
        seen.is = error;
      },
    );
    return {
      tries,
      scope,
      root,
      report,
      releases,
      got,
      onInterrupted,
      seen,
      receive: (text: string) => receive(text),
      interrupt: (missing?: number) => interrupted(missing),
    };
  }

  test("gets what is JSON until its scope closes, and leaves then", async () => {
    const { tries, seen, receive, got, report, scope, root } = trying();
    const unsubscribe = vi.fn();
    await after(0);
    expect([seen.is, tries.map(({ topic }) => topic)]).toEqual(["waits", ["t"]]);
    tries[0]!.resolve(unsubscribe);
    await after(0);
    expect([seen.is, root.stats().subscriptions]).toEqual(["subscribed", 1]);
    receive('{"a":1}');
    receive("{");
    receive("2");
    expect(got.mock.calls).toEqual([[{ a: 1 }], [2]]);
    expect(report.mock.calls.map(([{ name }, source]) => [name, source])).toEqual([["SyntaxError", "pub/sub"]]);
    expect(unsubscribe).not.toHaveBeenCalled();
    scope.close();
    receive("3");
    expect([got.mock.calls.length, unsubscribe.mock.calls.length, root.stats().subscriptions]).toEqual([2, 1, 0]);
  });

  test("goes on after a receiver that throws, which is reported", async () => {
    const { tries, receive, got, report } = trying();
    tries[0]!.resolve(() => {});
    await after(0);
    const wrong = new Error("wrong");
    got.mockImplementationOnce(() => {
      throw wrong;
    });
    receive("1");
    receive("2");
    expect([got.mock.calls, report.mock.calls]).toEqual([[[1], [2]], [[wrong, "pub/sub"]]]);
  });

  test("tells how many milliseconds may be missing, none where pub/sub does not say", async () => {
    const { tries, interrupt, onInterrupted, scope } = trying();
    tries[0]!.resolve(() => {});
    await after(0);
    expect(onInterrupted).not.toHaveBeenCalled();
    interrupt(70);
    interrupt();
    expect(onInterrupted.mock.calls).toEqual([[70], [0]]);
    scope.close();
    interrupt(5);
    expect(onInterrupted).toHaveBeenCalledTimes(2);
  });

  test("that fails is reported once and tried again, after 100 ms at first, twice as long each time, 5 s at most", async () => {
    const { tries, seen, report, onInterrupted, root } = trying();
    const down = new Error("down");
    for (let i = 0; i < 9; i++) {
      tries[i]!.reject(down);
      await after(0);
      while (tries.length === i + 1) await after(10);
    }
    expect(seen.is).toBeInstanceOf(Disconnected);
    expect(seen.is).toMatchObject({ code: "unreachable", retryable: true, cause: down });
    expect(report.mock.calls).toEqual([[down, "pub/sub"]]);
    const waits = tries.slice(1).map(({ at }, i) => at - tries[i]!.at);
    expect(waits.map((wait) => Math.round(wait / 10) * 10)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    const began = tries[0]!.at;
    tries.at(-1)!.resolve(() => {});
    await after(0);
    const [[missing]] = onInterrupted.mock.calls as [[number]];
    expect(missing).toBe(performance.now() - began);
    expect([root.stats().subscriptions, root.stats().timers]).toEqual([1, 0]);
  });

  test("that succeeds after its time is left again, because another try has begun", async () => {
    const { tries, seen } = trying();
    const unsubscribe = vi.fn();
    await after(1000);
    expect(seen.is).toMatchObject({ code: "timeout", message: expect.stringContaining("subscribing") });
    tries[0]!.resolve(unsubscribe);
    await after(0);
    expect(unsubscribe).toHaveBeenCalledOnce();
    await after(100);
    expect(tries).toHaveLength(2);
  });

  test("of a scope that closes meanwhile is neither reported nor tried again", async () => {
    const { tries, seen, report, scope } = trying();
    scope.close(new Error("gone"));
    tries[0]!.reject(new Error("down"));
    await after(60_000);
    expect([seen.is instanceof Error, report.mock.calls, tries.length]).toEqual([true, [], 1]);
  });

  test("that cannot be left is reported", async () => {
    const { tries, report, scope, releases } = trying();
    const stuck = new Error("stuck");
    tries[0]!.resolve(() => {
      throw stuck;
    });
    await after(0);
    scope.close();
    expect([report.mock.calls, releases.mock.calls]).toEqual([[[stuck, "pub/sub"]], []]);
  });
});

describe("A stream of another server", () => {
  const streams = (limits = {}) => {
    const pubSub = memoryPubSub();
    const { wires, root, report } = wired(pubSub, limits);
    const sent: unknown[] = [];
    const listened = pubSub.subscribe("stream/s", (text) => void sent.push(JSON.parse(text)));
    return { made: clusterStreams(wires), root, report, sent, listened, pubSub };
  };

  test("gets the position of a reader here: at once, with each step, and three times in its grace period, and its end", async () => {
    const { made, root, sent } = streams();
    const reader = root.child();
    const reach = made.report("s", 4, reader);
    await after(0);
    const [{ reader: id }] = sent as [{ reader: string }];
    expect(sent).toEqual([{ seq: 4, reader: id }]);
    await after(299);
    expect(sent).toHaveLength(1);
    await after(1);
    reach(6);
    await after(300);
    expect(sent).toEqual([4, 4, 6, 6].map((seq) => ({ seq, reader: id })));
    reader.close();
    await after(3000);
    expect(sent.slice(4)).toEqual([{ left: id }]);
  });

  test("gets it each millisecond at most, however short its grace period is", async () => {
    const { made, root, sent } = streams({ grace: 0 });
    made.report("s", 0, root.child());
    await after(5);
    expect(sent).toHaveLength(6);
  });

  test("gets the events of its own, and of no other one", async () => {
    const { made, root } = streams();
    const scope = root.child();
    const on = { reach: vi.fn(), leave: vi.fn(), cancel: vi.fn(), refused: vi.fn() };
    await made.listen("s", scope, on);
    const refusal = new Refusal("no", { status: 409, code: "BUSY", retryAfter: 3 });
    made.refuse("s", refusal);
    made.refuse("t", refusal);
    const reader = root.child();
    made.report("s", 7, reader);
    reader.close();
    expect([await made.cancel("s"), await made.cancel("t")]).toEqual([true, false]);
    await after(0);
    const id = expect.stringMatching(/^[0-9a-f]{32}$/);
    expect([on.reach.mock.calls, on.leave.mock.calls]).toEqual([[[7, id]], [[id]]]);
    expect([on.cancel.mock.calls, on.refused.mock.calls.length]).toEqual([[[]], 1]);
    const [[heard]] = on.refused.mock.calls as [[Refusal]];
    expect(heard).toBeInstanceOf(Refusal);
    expect(heard).toMatchObject({ message: "no", status: 409, code: "BUSY", retryAfter: 3 });
    scope.close();
    made.refuse("s", refusal);
    await after(0);
    expect(on.refused).toHaveBeenCalledOnce();
  });

  test("may be listened to with any part of it left out", async () => {
    const { made, root, report } = streams();
    await made.listen("s", root.child(), {});
    made.refuse("s", new Refusal("no", { status: 409 }));
    expect(await made.cancel("s")).toBe(true);
    made.report("s", 1, root.child());
    await after(0);
    expect(report).not.toHaveBeenCalled();
  });

  test("runs also while pub/sub is down", async () => {
    const { wires, root } = wired({
      publish: () => Promise.reject(new Error("down")),
      subscribe: () => Promise.reject(new Error("down")),
    });
    const made = clusterStreams(wires);
    await made.listen("s", root.child(), {});
    await expect(made.cancel("s")).rejects.toMatchObject({ code: "unreachable" });
  });
});
