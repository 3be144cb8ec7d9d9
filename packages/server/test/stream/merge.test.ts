import type { AnyMessage } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import { Encoded } from "../../src/codecs.js";
import type { Called } from "../../src/hooks.js";
import { sessionName } from "../../src/identity.js";
import { ledger } from "../../src/ledger.js";
import { LIMITS, type Limits } from "../../src/limits.js";
import type { Sent, Subscriber } from "../../src/ports.js";
import { SessionMerge } from "../../src/stream/merge.js";
import type { Outgoing } from "../../src/stream/outgoing.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** A handler's stream of a session: a test is the handler, the session, and the reader. */
function merging(
  limits: Partial<Limits> = {},
  more: { joined?: () => Promise<unknown>; before?: readonly Sent[]; input?: object } = {},
) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const [scope, handler] = [root.child(), root.child()];
  const steps: ((step: IteratorResult<AnyMessage>) => void)[] = [];
  const ready: IteratorResult<AnyMessage>[] = [];
  let pulls = 0;
  const give = (step: IteratorResult<AnyMessage>): void => {
    const next = steps.shift();
    if (next) next(step);
    else ready.push(step);
  };
  const encode = (message: AnyMessage, sent?: Sent) => new Encoded(message, { data: message.type }, sent);
  const own = {
    async next() {
      pulls++;
      const step =
        ready.shift() ?? (await new Promise<IteratorResult<AnyMessage>>((resolve) => void steps.push(resolve)));
      return step.done ? step : { done: false, value: encode(step.value) };
    },
  } as unknown as Outgoing;
  let end = (): void => {};
  const stopAttending = vi.fn();
  const subscribe = vi.fn((_: string, subscriber: Subscriber) => {
    for (const sent of more.before ?? []) subscriber.send(sent);
  });
  const context = {
    contract: { session: "id" },
    options: {},
    ownerOf: () => "me",
    ledger: ledger({ ...LIMITS, ...limits }, scope),
    limits: { ...LIMITS, heartbeat: 1000, maxQueued: 10, maxBuffered: 20, ...limits },
    sessions: {
      attend: (_: string, onEnd: () => void) => {
        end = onEnd;
        return stopAttending;
      },
      subscribe,
      joined: more.joined,
    },
  } as unknown as Context;
  const { input = { id: "s" } } = more;
  const merged = new SessionMerge(context, { input } as unknown as Called, own, encode, scope, handler);
  const onHandlerDone = vi.fn();
  merged.onHandlerDone = onHandlerDone;
  const next = () => {
    const seen: { got: unknown } = { got: "waits" };
    merged.pull(
      (encoded) => {
        seen.got = encoded?.message.type ?? "over";
      },
      (error) => {
        seen.got = error;
      },
    );
    return seen;
  };
  return {
    merged,
    root,
    scope,
    handler,
    subscribe,
    stopAttending,
    onHandlerDone,
    next,
    pulls: () => pulls,
    say: (...types: string[]) => {
      for (const type of types) give({ done: false, value: { type } });
    },
    finish: () => give({ done: true, value: undefined }),
    endSession: () => end(),
  };
}
const sent = (type: string, had = vi.fn()): Sent => ({ message: { type }, place: 1, weight: 1, had });

describe("A stream of a session", () => {
  test("begins with its handler's first message, and reads the session only then", async () => {
    const { merged, next, say, subscribe, stopAttending, onHandlerDone, pulls } = merging();
    const first = next();
    await after(0);
    expect([first.got, subscribe.mock.calls.length, pulls()]).toEqual(["waits", 0, 1]);
    say("own");
    await after(0);
    expect([first.got, subscribe.mock.calls.map(([key]) => key), stopAttending.mock.calls.length]).toEqual([
      "own",
      [sessionName({}, "me", "s")],
      1,
    ]);
    merged.send(sent("other"));
    say("more");
    const [second, third] = [next(), next()];
    await after(0);
    expect([second.got, third.got, onHandlerDone.mock.calls]).toEqual(["other", "more", []]);
  });

  test("that names no session reads the one without a name", async () => {
    const { next, say, subscribe } = merging({}, { input: {} });
    next();
    say("own");
    await after(0);
    expect(subscribe.mock.calls.map(([key]) => key)).toEqual([""]);
  });

  test("does not wait for a handler longer than a heartbeat, whose first message comes in its turn then", async () => {
    const { merged, next, say, subscribe } = merging();
    const first = next();
    await after(999);
    expect(subscribe).not.toHaveBeenCalled();
    await after(1);
    expect(subscribe).toHaveBeenCalledOnce();
    merged.send(sent("other"));
    await after(0);
    say("late");
    const second = next();
    await after(0);
    expect([first.got, second.got]).toEqual(["other", "late"]);
  });

  test("goes on after a handler that has no message, which need not be waited for", async () => {
    const { merged, next, finish, onHandlerDone, pulls } = merging();
    const first = next();
    finish();
    await after(0);
    expect([first.got, onHandlerDone.mock.calls.length, pulls()]).toEqual(["waits", 1, 1]);
    merged.send(sent("other"));
    await after(0);
    expect(first.got).toBe("other");
  });

  test("lets its caller in once the other servers know of it", async () => {
    let join = (): void => {};
    const joined = vi.fn(
      () =>
        new Promise<void>((resolve) => {
          join = resolve;
        }),
    );
    const { next, say } = merging({}, { joined });
    const first = next();
    say("own");
    await after(0);
    expect(first.got).toBe("waits");
    join();
    await after(0);
    expect(first.got).toBe("own");
  });

  test("gives all that is there at once, up to 64 Ki characters, once it has joined", async () => {
    const limits = { maxQueued: 1e6, maxBuffered: 1e6 };
    const { merged, next, say } = merging(limits);
    expect(merged.rest()).toEqual([]);
    next();
    say("own");
    await after(0);
    const half = "x".repeat(32 * 1024);
    for (const type of [half, half, "y", half]) merged.send(sent(type));
    expect(merged.rest().map(({ message }) => message.type.length)).toEqual([half.length, half.length]);
    expect(merged.rest().map(({ message }) => message.type.length)).toEqual([1, half.length]);
  });

  test("ends with its session, after what was sent before, and its handler with it", async () => {
    const { merged, next, say, handler, scope } = merging();
    next();
    say("own");
    await after(0);
    merged.send(sent("other"));
    merged.end();
    merged.send(sent("late"));
    const [second, third] = [next(), next()];
    await after(0);
    expect([second.got, third.got, scope.closed]).toEqual(["other", "over", false]);
    expect(handler.reason).toMatchObject({ name: "AbortError", message: "the session has ended" });
  });

  test("whose session ends before its handler has said anything gets what was sent to it", async () => {
    const { merged, next, endSession, subscribe } = merging({}, { before: [sent("1"), sent("2")] });
    const first = next();
    await after(0);
    endSession();
    merged.end(new Error("gap"));
    await after(0);
    const [second, third] = [next(), next()];
    await after(0);
    expect([subscribe.mock.calls.length, first.got, second.got]).toEqual([1, "1", "2"]);
    expect(third.got).toMatchObject({ message: "gap" });
  });
});

describe("A reader of a session that is behind", () => {
  async function begun(limits: Partial<Limits> = {}, before: readonly Sent[] = []) {
    const it = merging(limits, { before });
    it.next();
    it.say("own");
    await after(0);
    const settled = (room: Promise<void> | undefined) => {
      const seen = { isFree: room === undefined };
      void room?.then(() => {
        seen.isFree = true;
      });
      return seen;
    };
    return { ...it, settled };
  }

  test("has its senders wait above `maxQueued`, until it has taken enough", async () => {
    const { merged, next, settled, root } = await begun();
    expect([merged.send(sent("12345")), merged.send(sent("67890"))]).toEqual([undefined, undefined]);
    const [one, other] = [settled(merged.send(sent("1"))), settled(merged.send(sent("2")))];
    await after(0);
    expect([one.isFree, other.isFree, root.stats().queued]).toEqual([false, false, 12]);
    next();
    await after(0);
    expect([one.isFree, other.isFree, root.stats().queued]).toEqual([true, true, 7]);
    expect(merged.send(sent("1"))).toBeUndefined();
  });

  test.each(["its end", "its scope"])("has nobody wait after %s", async (how) => {
    const { merged, scope, settled } = await begun();
    const waits = settled(merged.send(sent("12345678901")));
    if (how === "its end") merged.end();
    else scope.close();
    await after(0);
    expect([waits.isFree, merged.send(sent("12345678901"))]).toEqual([true, undefined]);
  });

  test.each([
    { maxQueued: 10, maxBuffered: 20 },
    { maxQueued: 20, maxBuffered: 10 },
  ])("ends above the larger of two limits, after what it has, with 503: %o", async (limits) => {
    const { merged, next, settled } = await begun(limits);
    for (let i = 0; i < 4; i++) settled(merged.send(sent("12345")));
    const last = settled(merged.send(sent("6")));
    const got = Array.from({ length: 5 }, next);
    await after(0);
    expect([last.isFree, got.slice(0, 4).map(({ got }) => got)]).toEqual([true, Array(4).fill("12345")]);
    expect(got[4]!.got).toMatchObject({
      name: "Refusal",
      status: 503,
      message: `the reader of the session is more than ${limits.maxBuffered} characters behind`,
    });
  });

  test("does not count what it begins with, which was bounded before", async () => {
    const before = Array.from({ length: 10 }, () => sent("12345"));
    const { merged, root } = await begun({}, before);
    expect([root.stats().queued, merged.send(sent("12345"))]).toEqual([0, undefined]);
  });

  test("pauses its handler above 64 Ki characters, and that goes on when some are taken", async () => {
    const { next, say, pulls } = await begun({ maxQueued: 1e6, maxBuffered: 1e6 });
    expect(pulls()).toBe(2);
    say("x".repeat(64 * 1024));
    await after(0);
    expect(pulls()).toBe(3);
    say("y", "z");
    await after(0);
    expect(pulls()).toBe(3);
    next();
    await after(0);
    expect(pulls()).toBe(5);
  });
});

test("what others sent is confirmed with its place in the stream, the newest first", () => {
  const { merged } = merging();
  const confirmed: string[] = [];
  const placed = (name: string, seq: number) =>
    merged.place(
      sent(
        name,
        vi.fn(() => void confirmed.push(name)),
      ),
      seq,
    );
  for (const [name, seq] of [
    ["a", 2],
    ["b", 3],
    ["c", 5],
  ] as const)
    placed(name, seq);
  merged.delivered(1);
  expect(confirmed).toEqual([]);
  merged.delivered(4);
  expect(confirmed).toEqual(["b", "a"]);
  merged.delivered(5);
  merged.delivered(9);
  expect(confirmed).toEqual(["b", "a", "c"]);
});
