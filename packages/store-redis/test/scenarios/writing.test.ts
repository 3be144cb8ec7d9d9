import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makeBatch } from "../../src/batch.js";
import { makeChannels, type Subscription } from "../../src/channel.js";
import { type Link, openLink } from "../../src/link.js";
import { DONE, ENTRIES_LOST, LEASE_LOST } from "../../src/scripts.js";
import type { StreamScripts } from "../../src/streams.js";
import { Writer } from "../../src/writer.js";
import { makeWriters } from "../../src/writers.js";
import { stoppedCalls } from "../stopped-calls.js";

// What is between a log and its Redis, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const callsOf = () => stoppedCalls({ status: "ready" }, 1000);

describe("A batch", () => {
  test("takes a thousand entries, and none once it is sent", () => {
    const batch = makeBatch(5, "1");
    for (let i = 1; i < 1000; i++) expect(batch.take("x")).toBe(true);
    expect([batch.take("x"), batch.texts.length, batch.first]).toEqual([false, 1000, 5]);
    const sent = makeBatch(1, "1");
    sent.sent = true;
    expect([sent.take("x"), sent.texts]).toEqual([false, ["1"]]);
  });

  test.each([
    { first: 1024 * 1024 - 1, takes: true },
    { first: 1024 * 1024, takes: false },
  ])("takes more until it has a mebi of characters: %o", ({ first, takes }) => {
    const batch = makeBatch(1, "x".repeat(first));
    expect([batch.take("x"), batch.take("x")]).toEqual([takes, false]);
  });
});

describe("A writer", () => {
  function writing(more: Partial<StreamScripts> = {}) {
    const calls = callsOf();
    const sent: unknown[] = [];
    const answers: { resolve(done: number): void; reject(error: unknown): void }[] = [];
    const scripts = {
      append: (stream: string, epoch: string, first: number, texts: readonly string[]) => {
        sent.push([first, ...texts]);
        expect([stream, epoch]).toEqual(["s", "e"]);
        return new Promise((resolve, reject) => void answers.push({ resolve, reject }));
      },
      close: async (...last: unknown[]) => void sent.push(["close", ...last]),
      drop: async (...of: unknown[]) => void sent.push(["drop", ...of]),
      trim: async (...of: unknown[]) => void sent.push(["trim", ...of]),
      refresh: async () => DONE,
      ...more,
    } as unknown as StreamScripts;
    const onEnd = vi.fn();
    let given = Number.POSITIVE_INFINITY;
    const writer = new Writer({ calls, scripts, stream: "s", epoch: "e", maxLength: 3, given: () => given, onEnd });
    const { append, close, drop, trim } = writer.handle;
    const outcome = (promise: unknown) => {
      const seen: { outcome: unknown } = { outcome: "open" };
      (promise as Promise<unknown>).then(
        () => {
          seen.outcome = "done";
        },
        (error) => {
          seen.outcome = error;
        },
      );
      return seen;
    };
    const give = (seq: number) => {
      given = seq;
    };
    return { calls, writer, sent, answers, append, close, drop, trim, onEnd, outcome, give };
  }

  test("has room for as many entries as Redis keeps, beyond those that every reader has", () => {
    const { writer, append, give } = writing();
    const hasRoom = () => writer.handle.hasRoom!(1);
    give(0);
    for (let seq = 1; seq <= 3; seq++) {
      expect(hasRoom()).toBe(true);
      void append(seq, "x");
    }
    expect(hasRoom()).toBe(false);
    give(1);
    expect(hasRoom()).toBe(true);
    void append(4, "x");
    expect(hasRoom()).toBe(false);
    // Without a reader all of them may go; one that comes later is counted from there.
    give(Number.POSITIVE_INFINITY);
    expect(hasRoom()).toBe(true);
    for (let seq = 5; seq <= 7; seq++) void append(seq, "x");
    give(4);
    expect(hasRoom()).toBe(false);
  });

  test("sends one batch at a time, in order, and settles each with it", async () => {
    const { append, sent, answers, outcome } = writing();
    const seen = ["1", "2", "3"].map((text, i) => outcome(append(i + 1, text)));
    expect(sent).toEqual([[1, "1"]]);
    answers[0]!.resolve(DONE);
    await after(0);
    expect([sent.slice(1), seen.map(({ outcome }) => outcome)]).toEqual([[[2, "2", "3"]], ["done", "open", "open"]]);
    answers[1]!.resolve(DONE);
    await after(0);
    expect(seen.map(({ outcome }) => outcome)).toEqual(["done", "done", "done"]);
    void append(4, "4");
    expect(sent.slice(2)).toEqual([[4, "4"]]);
    answers[2]!.resolve(DONE);
  });

  test.each([
    [0, "s has 0 as its last entry"],
    [2, "s has 0 as its last entry"],
  ])("refuses entry %i where it does not follow", async (seq, why) => {
    const { append, sent, onEnd } = writing();
    await expect(append(seq, "x")).rejects.toMatchObject({
      code: "not_writer",
      message: `entry ${seq} is not written: ${why}`,
    });
    expect([sent, onEnd.mock.calls]).toEqual([[], []]);
  });

  test.each([
    [LEASE_LOST, "lease_lost", "the lease of s is lost: entry 1 is not written"],
    [ENTRIES_LOST, "entries_lost", "Redis has lost entries of s: entry 1 is not written"],
  ])("whose Redis answers %i writes nothing more", async (done, code, message) => {
    const { append, answers, outcome, onEnd, sent } = writing();
    const seen = [outcome(append(1, "1")), outcome(append(2, "2"))];
    answers[0]!.resolve(done);
    await after(0);
    for (const { outcome: error } of seen) expect(error).toMatchObject({ code, message });
    await expect(append(3, "3")).rejects.toMatchObject({ code });
    expect([sent.length, onEnd.mock.calls.length]).toEqual([1, 1]);
  });

  test("closes and drops after its last entry, and takes none after that", async () => {
    for (const how of ["close", "drop"] as const) {
      const { append, answers, sent, onEnd, outcome, ...handle } = writing();
      void append(1, "1");
      const over = outcome(handle[how]());
      await expect(append(2, "2")).rejects.toMatchObject({
        code: "not_writer",
        message: "entry 2 is not written: s is closed",
      });
      await after(0);
      expect([sent.length, over.outcome, onEnd.mock.calls.length]).toEqual([1, "open", 0]);
      answers[0]!.resolve(DONE);
      await after(0);
      expect([sent[1], over.outcome]).toEqual([how === "close" ? ["close", "s", "e", 1] : ["drop", "s", "e"], "done"]);
      expect(onEnd).toHaveBeenCalledOnce();
      await handle.drop();
      expect(onEnd).toHaveBeenCalledOnce();
    }
  });

  test("trims after its last entry, and does nothing once its log is stopped", async () => {
    const { append, answers, sent, trim, close, drop, calls } = writing();
    void append(1, "1");
    const trimmed = trim(1);
    await after(0);
    expect(sent).toHaveLength(1);
    answers[0]!.resolve(DONE);
    await trimmed;
    expect(sent[1]).toEqual(["trim", "s", "e", 1]);
    calls.stop();
    await Promise.all([trim(1), close(), drop()]);
    expect(sent).toHaveLength(2);
  });

  test("extends its lease one call at a time, and fails where it has lost it", async () => {
    const answers: ((done: number) => void)[] = [];
    const refresh = vi.fn(() => new Promise((resolve) => void answers.push(resolve)));
    const { writer, append, onEnd, outcome } = writing({ refresh } as never);
    const seen = outcome(append(1, "1"));
    for (let i = 0; i < 3; i++) void writer.refresh();
    expect(refresh).toHaveBeenCalledOnce();
    answers[0]!(DONE);
    await after(0);
    void writer.refresh();
    expect([refresh.mock.calls.length, onEnd.mock.calls.length]).toEqual([2, 0]);
    answers[1]!(LEASE_LOST);
    await after(0);
    expect(seen.outcome).toMatchObject({
      code: "lease_lost",
      message: "the lease of s is lost: entry 2 is not written",
    });
    expect(onEnd).toHaveBeenCalledOnce();
    const failing = writing({ refresh: () => Promise.reject(new Error("down")) } as never);
    await failing.writer.refresh();
    expect(failing.onEnd).not.toHaveBeenCalled();
  });
});

describe("The writers of a log", () => {
  function writers(more: Partial<StreamScripts> = {}) {
    const calls = callsOf();
    const refresh = vi.fn(async (_: string) => DONE);
    const scripts = {
      open: vi.fn(async () => true),
      close: async () => {},
      refresh,
      append: async () => DONE,
      ...more,
    } as unknown as StreamScripts;
    return { calls, refresh, made: makeWriters({ calls, scripts, lease: 900, maxLength: 30_000 }) };
  }

  test("extend their leases three times in each, as long as there are some", async () => {
    const { made, refresh, calls } = writers();
    const [one, two] = [await made.open("a"), await made.open("b")];
    expect([made.count(), calls.timers(), one!.epoch === two!.epoch]).toEqual([2, 1, false]);
    await after(299);
    expect(refresh).not.toHaveBeenCalled();
    await after(1);
    expect(refresh.mock.calls.map(([stream]) => stream)).toEqual(["a", "b"]);
    await one!.close();
    await after(300);
    expect(refresh.mock.calls.slice(2).map(([stream]) => stream)).toEqual(["b"]);
    await two!.close();
    expect([made.count(), calls.timers()]).toEqual([0, 0]);
    await made.open("c");
    await after(300);
    expect(refresh.mock.calls.slice(3).map(([stream]) => stream)).toEqual(["c"]);
  });

  test("have one for each name, and none once they are stopped", async () => {
    const taken = writers({ open: async () => false } as never);
    expect([await taken.made.open("a"), taken.made.count(), taken.calls.timers()]).toEqual([undefined, 0, 0]);
    const { made, calls } = writers();
    const one = await made.open("a");
    made.stop();
    await expect(one!.append(1, "1")).rejects.toMatchObject({
      code: "stopped",
      message: "a is not written: stop() was called",
    });
    expect(made.count()).toBe(0);
    calls.stop();
    await expect(made.open("b")).rejects.toMatchObject({ code: "stopped" });
  });
});

describe("The channels of a log", () => {
  const linkOf = (aliveAt = 0) =>
    ({ unsubscribe: vi.fn(), aliveAt: () => aliveAt, join: async () => {}, close() {} }) satisfies Link;
  const subscription = (wait?: Subscription["wait"]): Subscription => ({
    subscriber: { receive() {}, onInterrupted: vi.fn() },
    wait,
  });
  const waiting = () => ({ resolve: vi.fn(), reject: vi.fn() });

  test("go with their last subscription, and leave Redis only where they had joined", () => {
    for (const ready of [true, false]) {
      const channels = makeChannels();
      const channel = channels.add("c");
      const link = linkOf();
      Object.assign(channel, { link, ready });
      const [one, two] = [subscription(waiting()), subscription()];
      channel.subscriptions.add(one).add(two);
      expect([channels.count(), channels.get("c"), channels.isCurrent(channel)]).toEqual([2, channel, true]);
      channels.remove(channel, one);
      expect([channels.count(), one.wait!.resolve, link.unsubscribe.mock.calls]).toEqual([1, expect.anything(), []]);
      expect(one.wait!.resolve).toHaveBeenCalledOnce();
      channels.remove(channel, two);
      channels.remove(channel, two);
      expect([channels.count(), channels.get("c"), link.unsubscribe.mock.calls]).toEqual([
        0,
        undefined,
        ready ? [["c"]] : [],
      ]);
    }
  });

  test("that a later one of their name has replaced leave it alone", () => {
    const channels = makeChannels();
    const [old, link] = [channels.add("c"), linkOf()];
    const one = subscription();
    old.subscriptions.add(one);
    Object.assign(old, { link, ready: true });
    const newer = channels.add("c");
    channels.remove(old, one);
    expect([channels.get("c"), link.unsubscribe.mock.calls]).toEqual([newer, []]);
  });

  test("are interrupted with their link, from when it was last alive, until they are received again", async () => {
    const channels = makeChannels();
    const [link, other] = [linkOf(performance.now()), linkOf()];
    const [lost, joining, apart] = ["a", "b", "c"].map((name) => channels.add(name));
    Object.assign(lost!, { link, ready: true });
    Object.assign(joining!, { link });
    Object.assign(apart!, { link: other, ready: true });
    const [early, first] = [subscription(), subscription(waiting())];
    lost!.subscriptions.add(early).add(first);
    const [run, cancelled] = [vi.fn(), vi.fn()];
    await after(700);
    expect(channels.isWhole()).toBe(true);
    expect(channels.interrupt(link)).toEqual([lost]);
    expect([lost!.ready, lost!.link, joining!.link, apart!.ready, channels.isWhole()]).toEqual([
      false,
      undefined,
      undefined,
      true,
      false,
    ]);
    channels.onceWhole(run);
    channels.onceWhole(cancelled)();
    await after(300);
    const { wait } = first;
    channels.settle(lost!);
    expect([lost!.ready, channels.isWhole(), run.mock.calls.length, cancelled.mock.calls.length]).toEqual([
      true,
      true,
      1,
      0,
    ]);
    // A first wait ends; an earlier subscriber gets the time without messages.
    expect(wait!.resolve).toHaveBeenCalledOnce();
    expect(first.wait).toBeUndefined();
    expect([
      vi.mocked(first.subscriber.onInterrupted).mock.calls,
      vi.mocked(early.subscriber.onInterrupted).mock.calls,
    ]).toEqual([[], [[1000]]]);
    channels.settle(lost!);
    expect([run.mock.calls.length, vi.mocked(first.subscriber.onInterrupted).mock.calls.length]).toEqual([1, 1]);
  });

  test("are whole again once an interrupted one is left, or all are cleared", () => {
    for (const how of ["left", "cleared"]) {
      const channels = makeChannels();
      const link = linkOf();
      const [one, two] = [channels.add("a"), channels.add("b")];
      const left = [subscription(), subscription()];
      one.subscriptions.add(left[0]!);
      two.subscriptions.add(left[1]!);
      for (const channel of [one, two]) Object.assign(channel, { link, ready: true });
      channels.interrupt(link);
      const run = vi.fn();
      channels.onceWhole(run);
      if (how === "left") {
        channels.remove(one, left[0]!);
        expect([channels.isWhole(), run.mock.calls.length]).toEqual([false, 0]);
        channels.remove(two, left[1]!);
      } else channels.clear();
      expect([channels.isWhole(), run.mock.calls.length, channels.count()]).toEqual([true, 1, 0]);
    }
  });
});

describe("A connection that subscribes", () => {
  function linked(sharded = false) {
    const calls = callsOf();
    const on: Record<string, (...given: string[]) => void> = {};
    const asked: unknown[] = [];
    let pong: () => Promise<unknown> = async () => "PONG";
    const ask =
      (name: string) =>
      async (...given: string[]) =>
        void asked.push([name, ...given]);
    const connection = {
      on: (event: string, listener: (...given: string[]) => void) => {
        on[event] = listener;
      },
      ping: () => {
        asked.push("ping");
        return pong();
      },
      subscribe: ask("subscribe"),
      unsubscribe: ask("unsubscribe"),
      ssubscribe: ask("ssubscribe"),
      sunsubscribe: ask("sunsubscribe"),
      disconnect: () => void asked.push("disconnect"),
    };
    const duplicate = vi.fn(() => connection);
    const [receive, onLost] = [vi.fn(), vi.fn()];
    const link = openLink({ duplicate } as never, { calls, sharded, heartbeat: 500, receive, onLost });
    const silence = () => {
      pong = () => new Promise(() => {});
    };
    return { link, on, asked, receive, onLost, duplicate, silence, calls };
  }

  test.each([
    [false, [["subscribe", "a", "b"]], ["unsubscribe", "a"], "message"],
    [
      true,
      [
        ["ssubscribe", "a"],
        ["ssubscribe", "b"],
      ],
      ["sunsubscribe", "a"],
      "smessage",
    ],
  ])("joins, receives and leaves channels (sharded: %s)", async (sharded, joins, leaves, event) => {
    const { link, on, asked, receive } = linked(sharded);
    await link.join(["a", "b"]);
    expect(asked).toEqual(joins);
    on[event]!("a", "text");
    expect(receive.mock.calls).toEqual([["a", "text"]]);
    expect(on[event === "message" ? "smessage" : "message"]).toBeUndefined();
    link.unsubscribe("a");
    expect(asked.at(-1)).toEqual(leaves);
    link.close();
    on[event]!("a", "late");
    expect(receive).toHaveBeenCalledOnce();
  });

  test("is a connection of its own, which reconnects by nobody but this package", () => {
    expect(linked().duplicate.mock.calls).toEqual([
      [
        {
          retryStrategy: null,
          autoResubscribe: false,
          autoResendUnfulfilledCommands: false,
          enableOfflineQueue: true,
          lazyConnect: false,
          readOnly: false,
          keyPrefix: "",
        },
      ],
    ]);
  });

  test("is asked once a heartbeat whether it lives, as long as it has a channel", async () => {
    const { link, asked, calls, onLost } = linked();
    await after(5000);
    expect(asked).toEqual([]);
    await link.join(["a"]);
    asked.length = 0;
    const began = performance.now();
    await after(499);
    expect(asked).toEqual([]);
    await after(1);
    expect([asked, link.aliveAt() - began]).toEqual([["ping"], 500]);
    await after(500);
    expect([asked.length, link.aliveAt() - began]).toEqual([2, 1000]);
    link.unsubscribe("a");
    await after(5000);
    expect([asked.length, calls.timers(), onLost.mock.calls]).toEqual([3, 0, []]);
  });

  test.each(["silence", "end", "moved", "close"])("is lost once, by %s, or closed without that", async (how) => {
    const { link, on, asked, onLost, silence, calls } = linked();
    await link.join(["a"]);
    await after(0);
    on.error!();
    expect(onLost).not.toHaveBeenCalled();
    if (how === "silence") {
      silence();
      await after(1499);
      expect(onLost).not.toHaveBeenCalled();
      await after(1);
    } else if (how === "close") link.close();
    else on[how]!();
    link.close();
    on.end!();
    await after(5000);
    expect([onLost.mock.calls.length, asked.filter((one) => one === "disconnect").length]).toEqual([
      how === "close" ? 0 : 1,
      1,
    ]);
    expect(calls.timers()).toBe(0);
  });
});
