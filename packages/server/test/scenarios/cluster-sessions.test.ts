import { emacsAgent } from "@parlance/protocols/emacs-agent";
import type { AnyContract } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Packet } from "../../src/cluster/packet.js";
import { wiring } from "../../src/cluster/publish.js";
import { memoryPubSub } from "../../src/cluster/pubsub.js";
import { ClusterSessions } from "../../src/cluster/sessions.js";
import { ledger } from "../../src/ledger.js";
import { LIMITS } from "../../src/limits.js";
import type { Sent } from "../../src/ports.js";
import { LocalSessions } from "../../src/session/local.js";
import { lastCalls } from "../../src/shutdown.js";
import { call, say } from "../cluster.js";
import { approve, textOf } from "../sessions-of.js";

// The sessions of one server, to which a test is another one.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const TOPIC = "emacs-agent/session/s";
type Told = Readonly<Record<string, unknown>>;

/** `answers`: whether the other server answers what it is asked of the session. */
async function meeting({ answers = true } = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const pubSub = memoryPubSub();
  const limits = { ...LIMITS, queryWithin: 100, interruptedFor: 1000, lingerFor: 5000 };
  const wires = wiring(pubSub, limits, root, () => {}, lastCalls());
  const contract = emacsAgent as unknown as AnyContract;
  const sessions = new ClusterSessions(
    contract,
    wires,
    (onIdle) => new LocalSessions({ contract, limits, root, ledger: ledger(limits, root), report: () => {}, onIdle }),
    () => {},
  );
  const { me } = sessions.servers;
  const told: Told[] = [];
  const publish = (topic: string, packet: object) => void pubSub.publish(topic, JSON.stringify(packet));
  const tell = async (packet: object, topic = TOPIC) => {
    publish(topic, { key: "s", from: "peer", ...packet });
    await after(0);
  };
  const hear = (text: string) => {
    const packet = JSON.parse(text) as Told;
    if (packet.from === "peer") return;
    told.push(packet);
    if (answers && packet.type === "who")
      publish(me, { type: "reads", key: "s", from: "peer", readers: [], ends: [], id: packet.id });
    if (answers && packet.type === "owed") publish(me, { type: "owes", key: "s", from: "peer", id: packet.id });
  };
  await pubSub.subscribe(TOPIC, hear);
  await pubSub.subscribe("peer", hear);
  /** What was sent so far, of these kinds. */
  const heard = (...types: readonly Packet["type"][]) =>
    told.splice(0).filter(({ type }) => types.includes(type as Packet["type"]));
  const reader = async () => {
    const scope = root.child();
    const got: Sent[] = [];
    const ends: unknown[] = [];
    const end = (error?: { readonly code?: string }) => void ends.push(error?.code ?? "over");
    sessions.subscribe("s", { send: (sent) => void got.push(sent), end: end as never }, scope);
    await after(0);
    return { scope, got, ends, texts: () => got.map(({ message }) => textOf(message)) };
  };
  return { sessions, me, root, tell, heard, reader };
}
const messages = (reader: unknown, place: number, word: string, more: object = {}) => ({
  type: "messages",
  reader,
  messages: [[place, say(word)]],
  ...more,
});
/** The name that the other servers know a reader by: the last one that was sent. */
const named = (told: readonly Told[]) => (told.at(-1)!.readers as string[]).at(-1)!;

describe("A reader here", () => {
  test("is sent to the others with its session, gets what they send to it, and confirms that", async () => {
    const { heard, reader, tell, me } = await meeting();
    const { scope, texts, got } = await reader();
    const asked = heard("who");
    expect(asked.map(({ readers }) => (readers as string[]).length)).toEqual([0, 1]);
    expect(asked[1]).toMatchObject({ type: "who", key: "s", from: me, ends: [], id: expect.any(String) });
    const name = named(asked);
    await tell(messages(name, 4, "word", { begin: 3 }), me);
    expect(texts()).toEqual(["word"]);
    got[0]!.had();
    await after(0);
    expect(heard("received").at(-1)).toEqual({ type: "received", key: "s", reader: name, place: 4, had: 4 });
    scope.close();
    await after(0);
    expect(heard("left")).toEqual([{ type: "left", reader: name }]);
  });

  test("that comes later is sent alone", async () => {
    const { heard, reader, sessions } = await meeting();
    await reader();
    heard();
    await reader();
    const [asked, ...more] = heard("who", "reads");
    expect([more, (asked!.readers as string[]).length, asked!.type]).toEqual([[], 1, "who"]);
    await sessions.joined("s");
  });

  test("of a scope that is closed is none", async () => {
    const { sessions, root, heard } = await meeting();
    const scope = root.child();
    scope.close();
    sessions.subscribe("s", { send: () => expect.unreachable(), end() {} }, scope);
    await after(0);
    expect([heard("who", "left"), sessions.joined("s")]).toEqual([[], undefined]);
  });

  test("gets nothing that says to be from its own server", async () => {
    const { heard, reader, tell, me } = await meeting();
    const { texts } = await reader();
    await tell(messages(named(heard("who")), 1, "forged", { from: me }), me);
    expect(texts()).toEqual([]);
  });

  test("is sent again, until they take it, where the others do not answer", async () => {
    const { heard, reader, sessions } = await meeting({ answers: false });
    await reader();
    let joined = false;
    void Promise.resolve(sessions.joined("s")).then(() => (joined = true));
    await after(99);
    expect(joined).toBe(false);
    await after(102);
    const last = heard("who").at(-1)!;
    expect([(last.readers as string[]).length, "id" in last, joined]).toEqual([1, false, true]);
  });
});

describe("A reader elsewhere", () => {
  test("is greeted, gets what is sent here, and no more once it has left", async () => {
    const { sessions, heard, tell, me } = await meeting();
    void sessions.session("s", "s").send(say("1"));
    await after(0);
    heard();
    await tell({ type: "reads", readers: ["far"], ends: [] });
    expect(heard("messages")).toMatchObject([{ key: "s", from: me, reader: "far", begin: 0, messages: [] }]);
    await tell({ type: "received", reader: "far", place: 0, had: 0 }, me);
    const [first] = heard("messages");
    expect((first!.messages as [number, object][]).map(([, message]) => textOf(message as never))).toEqual(["1"]);
    await tell({ type: "left", reader: "far" });
    void sessions.session("s", "s").send(say("2"));
    await after(1000);
    expect(heard("messages")).toEqual([]);
  });

  test("that has what it was sent keeps later ones here from it", async () => {
    const { sessions, tell, me, reader } = await meeting();
    void sessions.session("s", "s").send(say("1"));
    void sessions.session("s", "s").send(say("2"));
    await tell({ type: "received", reader: "far", place: 1, had: 1 }, me);
    expect((await reader()).texts()).toEqual(["2"]);
  });
});

describe("A question of another server", () => {
  test("about a session is answered to it alone, with the readers here", async () => {
    const { heard, reader, tell, me } = await meeting();
    await reader();
    const name = named(heard("who"));
    await tell({ type: "who", readers: [], ends: [], id: "q" });
    expect(heard("who", "reads", "owed")).toEqual([
      { type: "reads", key: "s", from: me, readers: [name], ends: [], id: "q" },
    ]);
    // An answer is not answered.
    await tell({ type: "reads", readers: [], ends: [] });
    expect(heard("who", "reads", "owed")).toEqual([]);
  });

  test("about a session that is not followed here is answered, too", async () => {
    const { heard, tell, me } = await meeting();
    await tell({ type: "who", readers: ["far"], ends: [["peer", 1]], id: "q" }, me);
    expect(heard("reads", "messages")).toEqual([{ type: "reads", key: "s", from: me, readers: [], ends: [], id: "q" }]);
  });

  test("about an ask finds it, and settles it once", async () => {
    const { sessions, heard, tell, me } = await meeting();
    const asked = sessions.session("s", "s").ask(call("t1"));
    await after(0);
    heard();
    for (const type of ["find", "settle", "settle"]) await tell({ type, id: type, reply: approve("t1") }, me);
    expect(heard("answer")).toEqual([
      { type: "answer", id: "find", from: me, answer: { is: "found", message: call("t1"), alone: true } },
      { type: "answer", id: "settle", from: me, answer: { is: "settled" } },
      { type: "answer", id: "settle", from: me, answer: { is: "decided" } },
    ]);
    expect(await asked).toEqual(approve("t1"));
    await tell({ type: "find", id: "none", reply: approve("t9") }, me);
    expect(heard("answer")).toEqual([{ type: "answer", id: "none", from: me }]);
  });
});

describe("The end of a session", () => {
  test("here is sent to the others, with a count, and readers end once these owe them nothing", async () => {
    const { sessions, heard, reader, me, tell } = await meeting();
    const { ends } = await reader();
    const name = named(heard("who"));
    sessions.end("s");
    await after(0);
    const told = heard("who", "owed");
    expect(told.find(({ type }) => type === "who")).toMatchObject({ readers: [], ends: [[me, 1]] });
    expect(told.find(({ type }) => type === "owed")).toMatchObject({ key: "s", from: me, readers: [name] });
    // The other one has said that it owes something.
    await after(200);
    expect(ends).toEqual([]);
    // It is asked by itself, too: it may no longer follow the session.
    expect(heard("owed")).toContainEqual({ type: "owed", key: "s", from: me, id: "", readers: [name] });
    await tell(messages(name, 1, "last", { begin: 0, last: true }), me);
    await after(200);
    expect(ends).toEqual(["over"]);
    sessions.end("s");
    await after(0);
    expect(heard("who").at(-1)).toMatchObject({ ends: [[me, 2]] });
  });

  test.each([true, false])("is remembered for five seconds after pub/sub took it (answers: %s)", async (answers) => {
    const { sessions } = await meeting({ answers });
    sessions.end("s");
    await after(4900);
    expect(sessions.joined("s")).toBeInstanceOf(Promise);
    await after(1200);
    expect(sessions.joined("s")).toBeUndefined();
  });

  test("elsewhere counts once, however many servers report it, and ends the readers here", async () => {
    const { reader, tell, me, heard } = await meeting();
    const { ends } = await reader();
    const name = named(heard("who"));
    const over = { type: "reads", readers: [], ends: [["peer", 1]] };
    await tell(over);
    await tell(messages(name, 1, "last", { begin: 0, last: true }), me);
    await after(200);
    expect(ends).toEqual(["over"]);
    const later = await reader();
    heard();
    await tell(over);
    await tell({ ...over, from: "third" });
    await after(200);
    expect([heard("owed"), later.ends]).toEqual([[], []]);
    await tell({ ...over, ends: [["peer", 2]] });
    expect(heard("owed")).toMatchObject([{ from: me, readers: [expect.any(String)] }]);
  });

  test("that another server has missed is sent to it, and its readers are not met before it knows", async () => {
    const { sessions, heard, tell, me } = await meeting();
    void sessions.session("s", "s").send(say("1"));
    await after(0);
    sessions.end("s");
    await after(0);
    heard();
    await tell({ type: "reads", readers: ["far"], ends: [] });
    expect(heard("reads", "messages")).toEqual([{ type: "reads", key: "s", from: me, readers: [], ends: [[me, 1]] }]);
    await tell({ type: "reads", readers: ["far"], ends: [[me, 1]] });
    expect(heard("reads", "messages")).toMatchObject([{ type: "messages", reader: "far" }]);
  });

  test("leaves what nobody has confirmed to those that ask for it, with its end", async () => {
    const { sessions, heard, tell, me } = await meeting();
    void sessions.session("s", "s").send(say("1"));
    await after(0);
    sessions.end("s");
    await after(0);
    heard();
    await tell({ type: "owed", id: "q", readers: ["far"] });
    const told = heard("owes", "messages");
    expect(told.filter(({ type }) => type === "owes")).toEqual([{ type: "owes", key: "s", id: "q", from: me }]);
    expect(told.find(({ type }) => type === "messages")).toMatchObject({ reader: "far", begin: 0, messages: [] });
    await tell({ type: "received", reader: "far", place: 0, had: 0 }, me);
    expect(heard("messages")).toMatchObject([{ reader: "far", last: true, messages: [[1, say("1")]] }]);
  });
});
