import type { AnyMessage, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Decisions } from "../../src/cluster/decisions.js";
import { DistantReaders } from "../../src/cluster/distant.js";
import { type Followed, followSessions, rememberFor } from "../../src/cluster/follow.js";
import type { Answer } from "../../src/cluster/packet.js";
import { wiring } from "../../src/cluster/publish.js";
import { memoryPubSub } from "../../src/cluster/pubsub.js";
import { LIMITS, type Limits } from "../../src/limits.js";
import { lastCalls } from "../../src/shutdown.js";
import { call, say } from "../cluster.js";
import { approve, sessionsOf } from "../sessions-of.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const turn = () => vi.advanceTimersByTimeAsync(0);

describe("A reader on another server", () => {
  function distant(limits: Partial<Limits> = {}) {
    const { sessions, root } = sessionsOf();
    const published: { readonly topic: string; readonly packet: object }[] = [];
    let receivers = 1;
    const followed = new Map<string, Followed>();
    const follow = vi.fn();
    const onLost = vi.fn();
    const readers = new DistantReaders({
      me: "me",
      wiring: {
        limits: { ...LIMITS, ...limits },
        root,
        async publish(topic: string, packet: object) {
          published.push({ topic, packet });
          return receivers;
        },
      } as never,
      local: sessions,
      followed: { follow, get: (key: string) => followed.get(key) } as never,
      onLost,
    });
    const send = (...texts: string[]) => {
      for (const text of texts) sessions.session("s").send(say(text));
    };
    /** What was published since, without what is the same in each packet. */
    const said = () =>
      published.splice(0).map(({ topic, packet }) => {
        const { messages, type, key, from, reader, ...rest } = packet as Record<string, unknown>;
        expect([type, key, from]).toEqual(["messages", "s", "me"]);
        const texts = (messages as [number, { content: string }][]).map(
          ([place, { content }]) => `${place} ${content}`,
        );
        return [topic, reader, texts, rest];
      });
    const nobody = () => {
      receivers = 0;
    };
    return { sessions, root, readers, follow, followed, onLost, send, said, nobody };
  }

  test("is greeted with where it begins, and gets what nobody has confirmed, and then what comes", async () => {
    const { sessions, readers, send, said, follow, root } = distant();
    send("1", "2", "3");
    sessions.confirm("s", 1);
    readers.meet("s", "r", "there");
    expect(follow.mock.calls).toEqual([["s"]]);
    expect(said()).toEqual([["there", "r", [], { begin: 1 }]]);
    readers.received("r", 0);
    expect(said()).toEqual([["there", "r", ["2 2", "3 3"], {}]]);
    send("4");
    readers.received("x", 3);
    expect(said()).toEqual([]);
    readers.received("r", 3);
    expect(said()).toEqual([["there", "r", ["4 4"], {}]]);
    expect(root.stats().readers).toBe(1);
  });

  test("is met once, and what is on the way to it is sent again", async () => {
    const { readers, send, said } = distant();
    send("1");
    readers.meet("s", "r", "there");
    await turn();
    said();
    readers.meet("s", "r", "there");
    await vi.advanceTimersByTimeAsync(2);
    expect(said()).toEqual([["there", "r", [], { begin: 0 }]]);
    readers.received("r", 0);
    expect(said()).toEqual([["there", "r", ["1 1"], {}]]);
  });

  test("refuses what is wrong, and its sender gets an error", async () => {
    const { sessions, readers, send, said } = distant();
    readers.meet("s", "r", "there");
    readers.received("r", 0);
    said();
    expect(() => sessions.session("s").send({ type: "no" } as AnyMessage)).toThrow();
    expect(said()).toEqual([]);
    send("1");
    expect(said()).toEqual([["there", "r", ["2 1"], {}]]);
  });

  test("leaves, and is not held then", () => {
    const { readers, send, said, root } = distant();
    readers.meet("s", "r", "there");
    readers.left("x");
    readers.left("r");
    said();
    send("1");
    readers.received("r", 0);
    expect([said(), root.stats().readers]).toEqual([[], 0]);
  });

  test("gets the end of its session after what came before", () => {
    const { sessions, readers, send, said } = distant();
    readers.meet("s", "r", "there");
    readers.received("r", 0);
    said();
    send("1");
    sessions.end("s");
    send("2");
    expect(said()).toEqual([["there", "r", ["1 1"], {}]]);
    readers.received("r", 1);
    expect(said()).toEqual([["there", "r", [], { last: true }]]);
  });

  test.each([true, false])("is given the rest of a session that has ended, and its end (kept: %s)", async (kept) => {
    const { sessions, root, readers, send, said, followed } = distant();
    send("1", "2", "3");
    sessions.confirm("s", 1);
    const rest = { begin: sessions.confirmed("s"), sent: sessions.unconfirmed("s") };
    if (kept) {
      followed.set("s", { scope: root, rest } as unknown as Followed);
      sessions.end("s");
    }
    readers.give("s", "r", "there");
    await turn();
    expect(said()).toEqual([["there", "r", [], { begin: 1 }]]);
    // Asked for again, it is sent again.
    readers.give("s", "r", "there");
    await vi.advanceTimersByTimeAsync(2);
    expect(said()).toEqual([["there", "r", [], { begin: 1 }]]);
    readers.received("r", 0);
    expect(said()).toEqual([["there", "r", ["2 2", "3 3"], { last: true }]]);
    readers.received("r", 3);
    expect(said()).toEqual([["there", "r", [], { last: true }]]);
  });

  test("of whom a server reads is finished where the rest of its session is asked for", () => {
    const { readers, said } = distant();
    readers.meet("s", "r", "there");
    readers.received("r", 0);
    said();
    readers.give("s", "r", "there");
    expect(said()).toEqual([["there", "r", [], { last: true }]]);
  });

  test("is lost with its server, which is an error", async () => {
    const { readers, nobody, onLost, root } = distant({ interruptedFor: 100 });
    nobody();
    readers.meet("s", "r", "there");
    await vi.advanceTimersByTimeAsync(10_000);
    expect([onLost.mock.calls, root.stats().readers]).toEqual([[["s"]], 0]);
  });

  test("is owed what it has not confirmed when this server closes, and only then", () => {
    const { readers, send, root } = distant();
    for (const name of ["a", "b", "c", "d"]) readers.meet("s", name, "there");
    send("1", "2");
    readers.left("c");
    readers.received("d", 0);
    readers.received("d", 2);
    for (const name of ["a", "b"]) readers.received(name, 0);
    expect(readers.owing()).toEqual([]);
    root.close();
    expect([...readers.owing()].sort()).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
  });

  test("is left with the session that its server follows", () => {
    const { root, readers, followed } = distant();
    const scope = root.child();
    followed.set("s", { scope } as unknown as Followed);
    readers.meet("s", "r", "there");
    expect(root.stats().readers).toBe(1);
    scope.close();
    expect(root.stats().readers).toBe(0);
  });
});

describe("A decision", () => {
  function deciding(answer?: Answer) {
    const { sessions } = sessionsOf();
    const inquire = vi.fn(async () => answer);
    const decisions = new Decisions({ local: sessions, answering: new Set(["approve", "reject"]), inquire });
    const ask = () => sessions.session("s").ask(call("t1"));
    return { sessions, inquire, decisions, ask };
  }
  const status = async (run: () => unknown) => {
    try {
      await run();
      return undefined;
    } catch (error) {
      return (error as Refusal).status ?? (error as Error).message;
    }
  };

  test("is made here where the ask is, and asks nobody", async () => {
    const { decisions, inquire, ask } = deciding();
    const asked = ask();
    expect(await decisions.claim("s", approve("t1"))).toMatchObject({ message: call("t1") });
    await decisions.settle("s", approve("t1"));
    expect(await asked).toEqual(approve("t1"));
    expect(await status(() => decisions.claim("s", approve("t1")))).toBe(409);
    expect(inquire).not.toHaveBeenCalled();
  });

  test("asks the others only for what answers an ask", async () => {
    const { decisions, inquire } = deciding();
    expect(decisions.claim("s", say("x"))).toBeUndefined();
    expect(inquire).not.toHaveBeenCalled();
    expect(await decisions.claim("s", approve("t1"))).toBeUndefined();
    expect(inquire.mock.calls).toEqual([["find", "s", approve("t1")]]);
  });

  test("about an ask elsewhere is one at a time, unless a second answer is for the next ask", async () => {
    const found = { is: "found", message: call("t1") } as const;
    const alone = deciding({ ...found, alone: true }).decisions;
    const claimed = (await alone.claim("s", approve("t1")))!;
    expect(claimed.message).toEqual(call("t1"));
    expect(await status(() => alone.claim("s", approve("t1")))).toBe(409);
    expect(await status(() => alone.claim("t", approve("t1")))).toBeUndefined();
    claimed.release!();
    expect(await status(() => alone.claim("s", approve("t1")))).toBeUndefined();
    const more = deciding({ ...found, alone: false }).decisions;
    for (let i = 0; i < 2; i++) expect(await more.claim("s", approve("t1"))).toMatchObject({ message: call("t1") });
  });

  test.each<[answer: Answer | undefined, claim: unknown, settle: unknown]>([
    [{ is: "decided" }, 409, 409],
    [{ is: "settled" }, undefined, undefined],
    [undefined, undefined, "a server did not answer for session s"],
    [{ is: "unanswered" }, undefined, "a server did not answer for session s"],
  ])("that another server answers with %j is refused, or made there", async (answer, claim, settle) => {
    const { decisions } = deciding(answer);
    expect(await status(() => decisions.claim("s", approve("t1")))).toBe(claim);
    expect(await status(() => decisions.settle("s", approve("t1")))).toBe(settle);
  });

  test("of another server is answered by the one that asks", async () => {
    const { sessions, decisions, ask } = deciding();
    expect(decisions.answerTo("find", "s", approve("t1"))).toBeUndefined();
    expect(decisions.answerTo("settle", "s", approve("t1"))).toBeUndefined();
    const asked = ask();
    for (let i = 0; i < 2; i++)
      expect(decisions.answerTo("find", "s", approve("t1"))).toEqual({ is: "found", message: call("t1"), alone: true });
    const { release } = sessions.claim("s", approve("t1"))!;
    expect(decisions.answerTo("find", "s", approve("t1"))).toEqual({ is: "decided" });
    release!();
    expect(decisions.answerTo("settle", "s", approve("t1"))).toEqual({ is: "settled" });
    expect(await asked).toEqual(approve("t1"));
    for (const what of ["find", "settle"] as const)
      expect(decisions.answerTo(what, "s", approve("t1"))).toEqual({ is: "decided" });
  });
});

describe("A session that a server follows", () => {
  const limits = { ...LIMITS, lingerFor: 1000, interruptedFor: 3000 };
  function following() {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    const pubSub = memoryPubSub();
    const [ask, introduce, lose] = [vi.fn(async () => {}), vi.fn(async () => {}), vi.fn()];
    const receive = vi.fn();
    const sessions = followSessions(
      wiring(pubSub, limits, root, () => {}, lastCalls()),
      { topicOf: (key) => `topic/${key}`, receive, ask, introduce, ready: async () => {}, lose },
    );
    return { root, pubSub, sessions, ask, introduce, lose, receive };
  }

  test("is one for its name, asks the others once it hears them, and has joined then", async () => {
    const { sessions, ask, introduce, receive, pubSub } = following();
    const session = sessions.follow("s");
    expect([sessions.follow("s"), sessions.get("s"), session.joined]).toEqual([session, session, false]);
    await session.joining;
    expect([session.joined, ask.mock.calls, introduce.mock.calls]).toEqual([true, [["s"]], [["s", true]]]);
    await pubSub.publish("topic/s", '{"n":1}');
    await turn();
    expect([receive.mock.calls, [...sessions.keys()]]).toEqual([[[{ n: 1 }]], ["s"]]);
  });

  test("has joined also where the others do not answer", async () => {
    const { sessions, ask, introduce } = following();
    ask.mockRejectedValueOnce(new Error("no"));
    const session = sessions.follow("s");
    await session.joining;
    expect([session.joined, introduce.mock.calls]).toEqual([true, [["s", false]]]);
  });

  test("is left after `lingerFor`, unless it is followed again", async () => {
    const { root, sessions } = following();
    await sessions.follow("s").joining;
    sessions.unsubscribe("s");
    sessions.unsubscribe("nobody's");
    await vi.advanceTimersByTimeAsync(900);
    sessions.follow("s");
    await vi.advanceTimersByTimeAsync(2000);
    expect(sessions.get("s")).toBeDefined();
    sessions.unsubscribe("s");
    await vi.advanceTimersByTimeAsync(500);
    // Counted from the last time.
    sessions.unsubscribe("s");
    await vi.advanceTimersByTimeAsync(999);
    expect(sessions.get("s")).toBeDefined();
    await vi.advanceTimersByTimeAsync(1);
    expect([sessions.get("s"), root.stats().subscriptions, vi.getTimerCount()]).toEqual([undefined, 0, 0]);
  });

  test("that has ended is remembered until every server could learn of it", async () => {
    const { sessions } = following();
    const session = sessions.follow("s");
    await session.joining;
    session.ends.set("a", 1);
    expect(rememberFor(limits)).toBe(6000);
    sessions.unsubscribe("s");
    await vi.advanceTimersByTimeAsync(5999);
    expect(sessions.get("s")).toBe(session);
    // Pub/sub took it only now.
    session.saidAt = performance.now();
    await vi.advanceTimersByTimeAsync(5999);
    expect(sessions.get("s")).toBe(session);
    await vi.advanceTimersByTimeAsync(1);
    expect(sessions.get("s")).toBeUndefined();
  });

  test.each([
    { lingerFor: 1000, interruptedFor: 3000, remembered: 6000 },
    { lingerFor: 7000, interruptedFor: 3000, remembered: 7000 },
  ])("is remembered for the longer of two times: %o", ({ remembered, ...more }) => {
    expect(rememberFor({ ...LIMITS, ...more })).toBe(remembered);
  });
});
