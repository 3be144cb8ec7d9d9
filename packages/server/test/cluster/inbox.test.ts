import { type AnyMessage, Disconnected } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Followed } from "../../src/cluster/follow.js";
import { Inbox } from "../../src/cluster/inbox.js";
import { Members, type MembersOptions } from "../../src/cluster/members.js";
import type { Packet } from "../../src/cluster/packet.js";
import type { Wiring } from "../../src/cluster/publish.js";
import { LIMITS } from "../../src/limits.js";
import type { Sent, Subscriber } from "../../src/ports.js";
import { lastCalls } from "../../src/shutdown.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What the parts of a server say to the others, noted instead of published. */
function noting() {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const said: [topic: string, message: object][] = [];
  const report = vi.fn();
  const say = (topic: string, message: object): number => said.push([topic, message]);
  const wiring = {
    pubSub: { publish: async (topic: string, text: string) => say(topic, JSON.parse(text)) },
    limits: { ...LIMITS, interruptedFor: 1000 },
    root,
    lastCalls: lastCalls(),
    report,
    mention: say,
    insist: async (topic: string, message: object) => void say(topic, message),
  } as unknown as Wiring;
  return { root, wiring, said, report };
}
const turn = () => vi.advanceTimersByTimeAsync(0);

function inboxOf(servers: readonly string[] = []) {
  const { root, wiring, said, report } = noting();
  const inquire = vi.fn();
  const session = { servers: new Set(servers), scope: root } as unknown as Followed;
  const inbox = new Inbox(wiring, (key) => (key === "s" ? session : undefined), inquire);
  const reader = (name: string, send: Subscriber["send"] = () => undefined, key = "s") => {
    const scope = root.child();
    const got: Sent[] = [];
    const ends: unknown[] = [];
    const subscriber: Subscriber = {
      send(sent) {
        got.push(sent);
        return send(sent);
      },
      end: (error) => void ends.push((error as Disconnected | undefined)?.code ?? "over"),
    };
    inbox.add(name, key, subscriber, scope);
    return { scope, subscriber, got, ends, places: () => got.map(({ place }) => place) };
  };
  const deliver = (reader: string, places: readonly number[], more: Partial<Packet & { type: "messages" }> = {}) =>
    inbox.deliver({
      type: "messages",
      key: "s",
      from: "a",
      reader,
      messages: places.map((place) => [place, { type: `${place}` } as AnyMessage]),
      ...more,
    });
  const left = (name: string, from = "a") => [from, { type: "left", reader: name }];
  const had = (reader: string, place: number, had: number, from = "a") =>
    [from, { type: "received", key: "s", reader, place, had }] as const;
  return { inbox, reader, deliver, said, report, inquire, left, had };
}

describe("What other servers send to a reader here", () => {
  test("is given to it once, in order, and confirmed once a turn", async () => {
    const { reader, deliver, said, had } = inboxOf();
    const { got, places } = reader("r");
    deliver("r", [], { begin: 0 });
    deliver("r", [1, 2]);
    deliver("r", [1, 2, 4]);
    deliver("r", [3]);
    expect([places(), got.map(({ weight }) => weight), said]).toEqual([[1, 2, 4], [0, 0, 0], []]);
    expect(got.map(({ message }) => message.type)).toEqual(["1", "2", "4"]);
    await turn();
    expect(said.splice(0)).toEqual([had("r", 4, 0)]);
    got[1]!.had();
    got[0]!.had();
    await turn();
    expect(said).toEqual([had("r", 4, 2)]);
  });

  test("is counted for each server apart", async () => {
    const { reader, deliver, said, had } = inboxOf();
    const { places } = reader("r");
    deliver("r", [5], { begin: 0 });
    deliver("r", [3, 5], { begin: 0, from: "b" });
    expect(places()).toEqual([5, 3, 5]);
    await turn();
    expect(said).toEqual([had("r", 5, 0), had("r", 5, 0, "b")]);
  });

  test("is not confirmed while it has no room, and then at once, also where it fails", async () => {
    const settle: ((fails: boolean) => void)[] = [];
    const { reader, deliver, said, had } = inboxOf();
    reader(
      "r",
      () => new Promise((free, fail) => void settle.push((fails) => (fails ? fail(new Error("gone")) : free(0)))),
    );
    deliver("r", [1, 2], { begin: 0 });
    await turn();
    settle[0]!(false);
    await turn();
    expect(said).toEqual([]);
    settle[1]!(true);
    await turn();
    expect(said).toEqual([had("r", 2, 0)]);
  });

  test("goes on where the reader cannot take one of them, which is reported unless it is gone", async () => {
    for (const error of [new Error("wrong"), new Disconnected("gone", { code: "closed", retryable: false })]) {
      const { reader, deliver, said, had, report } = inboxOf();
      const { places } = reader("r", () => {
        throw error;
      });
      deliver("r", [1, 2], { begin: 0 });
      expect([places(), report.mock.calls.length]).toEqual([[1, 2], error instanceof Disconnected ? 0 : 2]);
      await turn();
      expect(said).toEqual([had("r", 2, 0)]);
    }
  });

  test("is asked to stop where the reader has left", () => {
    const { reader, deliver, said, left } = inboxOf();
    deliver("r", [1]);
    const { scope, got } = reader("r");
    scope.close();
    deliver("r", [1]);
    expect([said, got]).toEqual([[left("r"), left("r")], []]);
  });

  test.each([
    { begins: [0, 3], code: undefined },
    { begins: [2, 2], code: undefined },
    // The sender begins after messages that this reader lacks.
    { begins: [0, 4], code: "gap" },
    { begins: [5, 5], code: undefined },
    { begins: [5, 6], code: "gap" },
  ])("that begins anew is a gap where messages are missing: %o", ({ begins, code }) => {
    const { reader, deliver } = inboxOf();
    const { ends } = reader("r");
    deliver("r", [], { begin: begins[0]! });
    if (begins[0]! < 3) deliver("r", [3]);
    deliver("r", [], { begin: begins[1]! });
    expect(ends).toEqual(code ? [code] : []);
  });
});

describe("A reader whose session has ended", () => {
  test("ends once all that follow the session have said that nothing follows", () => {
    const { inbox, reader, deliver, inquire, said, left } = inboxOf(["b"]);
    const [one, other] = [reader("r"), reader("t", undefined, "t")];
    deliver("r", [1], { begin: 0 });
    expect(inbox.end("s", ["c"])).toEqual(new Set([one.subscriber]));
    expect(inquire.mock.calls).toEqual([["s", ["r"]]]);
    expect(inbox.namesOf("s")).toEqual({ reading: [], ending: ["r"] });
    expect([inbox.isWaiting(["r"]), inbox.owedBy(["r", "x"])]).toEqual([true, new Set(["a", "b", "c"])]);
    inbox.asked(["r", "x"], true, true);
    for (const from of ["a", "b"]) deliver("r", [2], { from, last: true });
    expect([one.ends, inbox.owedBy(["r"])]).toEqual([[], new Set(["c"])]);
    said.length = 0;
    deliver("r", [], { from: "c", last: true });
    expect([one.ends, other.ends, one.places()]).toEqual([["over"], [], [1, 2, 2]]);
    expect(said).toEqual(["a", "b", "c"].map((from) => left("r", from)));
    expect([inbox.isWaiting(["r", "t"]), inbox.isWaiting(["r"]), inbox.namesOf("s").ending]).toEqual([true, false, []]);
  });

  test.each([
    { answered: true, sure: true, ends: ["over"] },
    { answered: false, sure: true, ends: [] },
    { answered: true, sure: false, ends: [] },
  ])("ends only after all were surely asked, and have answered: %o", ({ answered, sure, ends }) => {
    const { inbox, reader, deliver } = inboxOf();
    const one = reader("r");
    deliver("r", [], { begin: 0, last: true });
    inbox.asked(["r"], answered, sure);
    expect(one.ends).toEqual(ends);
    // Once is enough.
    inbox.asked(["r"], true, true);
    inbox.asked(["r"], false, false);
    expect(one.ends).toEqual(["over"]);
  });

  test("learns of the end from the last packet, and of those who owe it something from themselves", () => {
    const { inbox, reader, deliver, inquire } = inboxOf();
    const one = reader("r");
    inbox.owes("s", "b");
    deliver("r", [1], { begin: 0, last: true });
    expect([inquire.mock.calls, inbox.owedBy(["r"])]).toEqual([[["s", ["r"]]], new Set()]);
    inbox.owes("s", "b");
    inbox.owes("t", "c");
    inbox.asked(["r"], true, true);
    expect([one.ends, inbox.owedBy(["r"])]).toEqual([[], new Set(["b"])]);
    deliver("r", [1], { from: "b", begin: 0, last: true });
    expect(one.ends).toEqual(["over"]);
  });

  test("is not begun a second time, and one without readers not at all", () => {
    const { inbox, reader, inquire } = inboxOf();
    expect([inbox.end("s", ["a"]), inquire.mock.calls]).toEqual([new Set(), []]);
    const one = reader("r");
    inbox.end("s", ["a"]);
    const two = reader("q");
    expect(inbox.namesOf("s")).toEqual({ reading: ["q"], ending: ["r"] });
    expect(inbox.end("s", ["b"])).toEqual(new Set([one.subscriber, two.subscriber]));
    expect(inquire.mock.calls).toEqual([
      ["s", ["r"]],
      ["s", ["q"]],
    ]);
    expect(inbox.owedBy(["r"])).toEqual(new Set(["a"]));
  });

  test("does not wait for a server that has closed, unless it lacks something of it", () => {
    for (const [owing, over] of [
      [[], true],
      [[["r", 1]], true],
      [[["r", 2]], false],
      [[["other", 2]], true],
    ] as const) {
      const { inbox, reader, deliver } = inboxOf(["a"]);
      const one = reader("r");
      deliver("r", [1], { begin: 0 });
      inbox.end("s", []);
      inbox.asked(["r"], true, true);
      inbox.depart("other", []);
      expect(one.ends).toEqual([]);
      inbox.depart("a", owing);
      expect([owing, one.ends]).toEqual([owing, over ? ["over"] : []]);
    }
  });

  test("does not wait for a server that closed while the session went on", () => {
    const { inbox, reader, deliver, said } = inboxOf();
    const one = reader("r");
    deliver("r", [1], { begin: 0 });
    deliver("r", [1], { begin: 0, from: "b" });
    inbox.depart("a", [["r", 1]]);
    deliver("r", [2], { from: "b" });
    expect([one.places(), one.ends]).toEqual([[1, 1, 2], []]);
    inbox.end("s", []);
    inbox.asked(["r"], true, true);
    expect([...inbox.owedBy(["r"])]).toEqual(["b"]);
    deliver("r", [], { from: "b", last: true });
    expect([one.ends, said.filter(([, message]) => (message as Packet).type === "left").length]).toEqual([["over"], 2]);
  });

  test("waits no longer than `interruptedFor`, and for four rounds at least, since it last heard something", async () => {
    const { inbox, reader, deliver } = inboxOf(["a"]);
    const one = reader("r");
    inbox.end("s", []);
    const round = async (milliseconds: number) => {
      await vi.advanceTimersByTimeAsync(milliseconds);
      inbox.asked(["r"], false, true);
      return one.ends.length;
    };
    expect([await round(1001), await round(0), await round(0)]).toEqual([0, 0, 0]);
    deliver("r", [1], { begin: 0 });
    expect([await round(250), await round(250), await round(250), await round(250), await round(250)]).toEqual([
      0, 0, 0, 0, 1,
    ]);
    expect(one.ends).toEqual(["gap"]);
    // The rounds count anew, too: a server that was busy has as many again.
    const busy = inboxOf(["a"]);
    const other = busy.reader("r");
    busy.inbox.end("s", []);
    const ask = () => {
      busy.inbox.asked(["r"], false, true);
      return other.ends.length;
    };
    expect([ask(), ask(), ask()]).toEqual([0, 0, 0]);
    busy.deliver("r", [1], { begin: 0 });
    await vi.advanceTimersByTimeAsync(1001);
    expect([ask(), ask(), ask(), ask()]).toEqual([0, 0, 0, 1]);
  });

  test("ends with an error where its session may have ended unnoticed", () => {
    const { inbox, reader } = inboxOf();
    const [one, other] = [reader("r"), reader("t", undefined, "t")];
    inbox.lose("s");
    expect([one.ends, other.ends]).toEqual([["gap"], []]);
  });
});

describe("The servers that one has met", () => {
  function membersOf(more: Partial<MembersOptions> = {}) {
    const { root, wiring, said } = noting();
    const onBye = vi.fn();
    const members = new Members({ wiring, me: "me", topic: "all", owing: () => [["r", 3]], onBye, ...more });
    return { root, members, said, onBye };
  }
  const none = new Set<string>();

  test("are greeted, and answer those that ask them to", () => {
    const { members, said } = membersOf();
    members.greet();
    expect(said.splice(0)).toEqual([["all", { type: "hello", server: "me", reply: true }]]);
    members.receive({ type: "hello", server: "a" });
    members.receive({ type: "hello", server: "me", reply: true });
    expect(said).toEqual([]);
    members.receive({ type: "hello", server: "b", reply: true });
    expect(said).toEqual([["b", { type: "hello", server: "me" }]]);
  });

  test("are reported when this one closes, with what it still owes", () => {
    const { root, said } = membersOf();
    root.close();
    expect(said).toEqual([["all", { type: "bye", server: "me", owing: [["r", 3]] }]]);
  });

  test("are missed where they do not answer, for a time, and not once they have closed", async () => {
    const { members, onBye } = membersOf();
    expect(members.isMissing(none, 100)).toBe(false);
    for (const server of ["me", "a", "b"]) members.receive({ type: "hello", server });
    expect(members.isMissing(new Set(["a", "b"]), 100)).toBe(false);
    expect(members.isMissing(new Set(["a"]), 100)).toBe(true);
    await vi.advanceTimersByTimeAsync(100);
    expect(members.isMissing(new Set(["a"]), 100)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(members.isMissing(new Set(["a"]), 100)).toBe(false);
    // It has said something again.
    members.receive({ type: "hello", server: "b" });
    expect(members.isMissing(new Set(["a"]), 100)).toBe(true);
    members.receive({ type: "bye", server: "b", owing: [["r", 7]] });
    members.receive({ type: "bye", server: "me", owing: [] });
    expect(onBye.mock.calls).toEqual([["b", [["r", 7]]]]);
    expect(members.isMissing(new Set(["a"]), 100)).toBe(false);
  });

  test("are the last thousand that have said something", () => {
    const { members } = membersOf();
    const all = Array.from({ length: 1000 }, (_, i) => `s${i}`);
    for (const server of all) members.receive({ type: "hello", server });
    const but = (missing: string) => new Set(all.filter((name) => name !== missing));
    expect(members.isMissing(but("s0"), 100)).toBe(true);
    members.receive({ type: "hello", server: "s0" });
    members.receive({ type: "hello", server: "new" });
    expect(members.isMissing(new Set([...but("s1"), "new"]), 100)).toBe(false);
    expect(members.isMissing(new Set([...but("s0"), "new"]), 100)).toBe(true);
  });
});
