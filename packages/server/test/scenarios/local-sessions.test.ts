import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { type AnyMessage, Disconnected } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import type { Sent } from "../../src/ports.js";
import { call, say } from "../cluster.js";
import { approve, NOTHING, outcome, sessionsOf, textOf } from "../sessions-of.js";

describe("What is sent to a session", () => {
  test("waits for its first reader in order, and for each that comes before one has confirmed it", () => {
    const { sessions, reader } = sessionsOf();
    const { send } = sessions.session("s");
    for (const text of ["1", "2"]) send(say(text));
    const first = reader("s");
    send(say("3"));
    const second = reader("s");
    expect([first.texts(), second.texts()]).toEqual([
      ["1", "2", "3"],
      ["1", "2", "3"],
    ]);
    first.sents[1]!.had();
    expect(reader("s").texts()).toEqual(["3"]);
    second.sents[2]!.had();
    expect([reader("s").texts(), reader("t").texts()]).toEqual([[], []]);
  });

  test.each([
    { place: 0, left: ["1", "2", "3", "4", "5"], confirmed: 0 },
    { place: 1, left: ["2", "3", "4", "5"], confirmed: 1 },
    { place: 3, left: ["4", "5"], confirmed: 3 },
    { place: 4, left: ["5"], confirmed: 4 },
    { place: 5, left: [], confirmed: 5 },
    { place: 9, left: [], confirmed: 5 },
  ])("is confirmed up to a place: %o", ({ place, left, confirmed }) => {
    const { sessions, reader } = sessionsOf();
    const { scope } = reader("s");
    for (const text of ["1", "2", "3", "4", "5"]) sessions.session("s").send(say(text));
    sessions.confirm("s", place);
    sessions.confirm("other", 5);
    expect(sessions.unconfirmed("s").map(({ message }) => textOf(message))).toEqual(left);
    expect([sessions.confirmed("s"), sessions.confirmed("other")]).toEqual([confirmed, 0]);
    // Once more, and an earlier one, change nothing.
    sessions.confirm("s", place);
    sessions.confirm("s", 0);
    expect(sessions.unconfirmed("s")).toHaveLength(left.length);
    expect(sessions.confirmed("s")).toBe(confirmed);
    scope.close();
  });

  test("has a weight, the characters of its JSON, which the app counts until it is confirmed", () => {
    const { sessions, reader, stats, idle } = sessionsOf();
    const { length } = JSON.stringify(say("one"));
    sessions.session("s").send(say("one"));
    sessions.session("s").send(say("two"));
    // It waits for a reader, but not forever.
    expect([stats(), idle]).toEqual([{ ...NOTHING, sessions: 1, queued: 2 * length, timers: 1 }, []]);
    const { sents, scope } = reader("s");
    expect(sents.map(({ weight }) => weight)).toEqual([length, length]);
    sents[0]!.had();
    expect(stats()).toEqual({ ...NOTHING, sessions: 1, queued: length });
    sents[1]!.had();
    expect([stats(), idle]).toEqual([{ ...NOTHING, sessions: 1 }, []]);
    scope.close();
    expect([stats(), idle]).toEqual([NOTHING, ["s"]]);
  });

  test("is not forgotten when its last reader leaves before it has it", () => {
    const { sessions, reader, idle } = sessionsOf();
    const { scope } = reader("s");
    sessions.session("s").send(say("1"));
    scope.close();
    expect(idle).toEqual([]);
    const next = reader("s");
    expect(next.texts()).toEqual(["1"]);
    next.scope.close();
    next.sents[0]!.had();
    expect(idle).toEqual(["s"]);
  });

  test("is refused, and not kept, where it is not of the contract, whether there are readers or not", () => {
    const { sessions, reader, stats, idle } = sessionsOf();
    const wrong = [{ type: "no" }, { type: "message.delta", content: 7 }] as unknown as AnyMessage[];
    for (const message of wrong) expect(() => sessions.session("s").send(message)).toThrow();
    for (const message of wrong) expect(() => sessions.check(message)).toThrow();
    expect([stats(), idle]).toEqual([NOTHING, []]);
    const failing = { send: (sent: Sent) => sessions.check(sent.message) as never };
    const [first, second] = [reader("s", failing), reader("s")];
    for (const message of wrong) expect(() => sessions.session("s").send(message)).toThrow();
    // The others get it all the same: what is wrong with it is for each of them to find.
    expect([first.sents.length, second.sents.length, sessions.unconfirmed("s")]).toEqual([2, 2, []]);
  });

  test("reaches the other readers where one of them is gone, which is no failure of its sender", async () => {
    const { sessions, reader } = sessionsOf();
    reader("s", {
      send() {
        throw new Disconnected("gone", { code: "closed", retryable: false });
      },
    });
    const second = reader("s");
    await sessions.session("s").send(say("1"));
    expect(second.texts()).toEqual(["1"]);
  });

  test("is waited for until each reader without room has some, or is gone", async () => {
    const { sessions, reader } = sessionsOf();
    const settle: ((gone: boolean) => void)[] = [];
    const full = () =>
      new Promise((resolve, reject) => {
        settle.push((gone) => (gone ? reject(new Error("gone")) : resolve(undefined)));
      });
    const { send } = sessions.session("s");
    reader("s");
    const room = send(say("1"));
    expect(send(say("2"))).toBe(room);
    expect(await outcome(room)).toBeUndefined();
    for (let i = 0; i < 2; i++) reader("s", { send: full });
    // The new readers were given what waited.
    settle.length = 0;
    const waits = send(say("3"));
    expect(await outcome(waits)).toBe("open");
    settle[0]!(true);
    expect(await outcome(waits)).toBe("open");
    settle[1]!(false);
    expect(await outcome(waits)).toBeUndefined();
  });

  test("is refused above `maxQueued` without a reader, with an error that says so, and not with one", () => {
    const { length } = JSON.stringify(say("x"));
    const { sessions, reader, stats, idle } = sessionsOf(emacsAgent, { maxQueued: length - 1 });
    const { send } = sessions.session("s");
    const error = { name: "Disconnected", code: "slow_reader", retryable: true };
    expect(() => send(say("x"))).toThrow(expect.objectContaining(error));
    // Nothing was begun for it.
    expect([stats(), idle]).toEqual([NOTHING, ["s"]]);
    const { texts } = reader("s");
    send(say("x"));
    expect(texts()).toEqual(["x"]);
  });
});

describe("The end of a session", () => {
  test("ends its readers and asks, and none of another one", async () => {
    const { sessions, reader, idle, stats } = sessionsOf();
    const [one, other] = [reader("s"), reader("t")];
    const asked = [sessions.session("s").ask(call("t1")), sessions.session("t").ask(call("t1"))];
    sessions.session("s").send(say("1"));
    sessions.end("s");
    sessions.end("s");
    sessions.end("nobody's");
    expect(await outcome(asked[0]!)).toMatchObject({ name: "Disconnected", code: "closed", retryable: false });
    expect(await outcome(asked[1]!)).toBe("open");
    expect([one.ends, other.ends, idle]).toEqual([["over"], [], ["s"]]);
    // It is over, not decided; a session of its name is a new one.
    expect(sessions.find("s", approve("t1"))).toBeUndefined();
    expect([sessions.unconfirmed("s"), sessions.confirmed("s"), reader("s").texts()]).toEqual([[], 0, []]);
    sessions.settle("t", approve("t1"));
    await asked[1];
    expect(stats()).toMatchObject({ asks: 0 });
    one.scope.close();
    expect(idle).toEqual(["s"]);
  });

  test("reaches those that wait to read it first, unless they have left, and spares those that its caller ends", () => {
    const { sessions, root, reader, idle } = sessionsOf();
    const log: string[] = [];
    const attend = (name: string) => sessions.attend("s", () => log.push(name), root.child());
    const scope = root.child();
    sessions.attend("s", () => log.push("gone"), scope);
    scope.close();
    expect(idle).toEqual(["s"]);
    const stop = attend("stopped");
    attend("waits");
    stop();
    stop();
    const [kept, ended] = [reader("s"), reader("s")];
    sessions.end("s", () => {
      log.push("later");
      return new Set([kept.subscriber]);
    });
    expect([log, kept.ends, ended.ends]).toEqual([["waits", "later"], [], ["over"]]);
  });

  test("is not waited for, nor the session read, in a scope that is closed", () => {
    const { sessions, root, reader, stats } = sessionsOf();
    const closed = root.child();
    closed.close();
    const { subscriber, sents, ends } = reader("s");
    sessions.subscribe("t", subscriber, closed);
    sessions.attend("t", () => ends.push("attended"), closed)();
    sessions.session("t").send(say("1"));
    sessions.end("t");
    expect([sents, ends, stats()]).toEqual([[], [], { ...NOTHING, sessions: 1 }]);
  });
});
