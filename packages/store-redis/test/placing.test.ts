import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makeSubscriptions } from "../src/subscriptions.js";
import { type Answering, fakeClient, fakeNode, never, outcomeOf, reply } from "./fake-redis.js";
import { stoppedCalls } from "./stopped-calls.js";

// Subscriptions and the connections that they are on, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
/** Longer than any wait here, unless a test gives another. */
const LONG = 100_000;

/** Subscriptions on a single Redis. */
function single(answering?: Answering, timeout = LONG) {
  const { node, connections } = fakeNode(answering);
  const calls = stoppedCalls(node, timeout);
  return { made: makeSubscriptions(node, calls, LONG), connections, calls };
}

const subscriber = () => ({ receive: vi.fn(), onInterrupted: vi.fn() });
const joins = (connections: ReturnType<typeof fakeNode>["connections"]) =>
  connections.map(({ asked }) => asked.filter(([command]) => /^s?subscribe$/.test(String(command))));

describe("Subscriptions", () => {
  test("share one connection, and those of one channel are one to Redis", async () => {
    const { made, connections } = single();
    const [one, two, other] = [subscriber(), subscriber(), subscriber()];
    await made.subscribe("a", one).ready;
    const second = made.subscribe("a", two);
    await second.ready;
    await made.subscribe("b", other).ready;
    expect([joins(connections), made.count(), made.connections()]).toEqual([
      [
        [
          ["subscribe", "a"],
          ["subscribe", "b"],
        ],
      ],
      3,
      1,
    ]);
    connections[0]!.emit("message", "a", "text");
    connections[0]!.emit("message", "unknown", "text");
    expect([one, two, other].map(({ receive }) => receive.mock.calls)).toEqual([[["text"]], [["text"]], []]);
    second.unsubscribe();
    connections[0]!.emit("message", "a", "more");
    expect([one, two].map(({ receive }) => receive.mock.calls.length)).toEqual([2, 1]);
    expect(made.count()).toBe(2);
  });

  test("are tried again on a new connection, after 20 ms at first, then twice as long each time, a second at most", async () => {
    const { made, connections } = single(() => Promise.reject(new Error("Connection is closed.")));
    const began = performance.now();
    const seen = outcomeOf(made.subscribe("a", subscriber()).ready);
    const tried: number[] = [];
    await after(0);
    for (let known = 0; tried.length < 9; await after(1)) {
      if (connections.length > known) tried.push(performance.now() - began);
      known = connections.length;
    }
    const waits = tried.slice(1).map((at, i) => Math.round(at - tried[i]!));
    expect(waits).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000]);
    expect([seen.outcome, made.connections()]).toEqual(["open", 0]);
    expect(connections.every(({ asked }) => asked.at(-1)![0] === "disconnect")).toBe(true);
    made.stop();
  });

  test("that were left meanwhile are not tried again", async () => {
    const { made, connections, calls } = single(() => Promise.reject(new Error("Connection is closed.")));
    const { ready, unsubscribe } = made.subscribe("a", subscriber());
    await after(0);
    unsubscribe();
    await ready;
    await after(5000);
    expect([connections.length, made.count(), calls.timers()]).toEqual([1, 0, 0]);
  });

  test("that Redis forbids are refused at once, and the others on the connection stay", async () => {
    const forbidden = reply("NOPERM no");
    const { made, connections } = single((command, [channel]) => {
      if (command === "subscribe" && channel === "secret") throw forbidden;
    });
    const one = subscriber();
    await made.subscribe("a", one).ready;
    await expect(made.subscribe("secret", subscriber()).ready).rejects.toMatchObject({
      code: "refused",
      message: "Redis refused: subscribe to secret: NOPERM no",
      cause: forbidden,
    });
    await after(5000);
    expect([connections.length, made.count()]).toEqual([1, 1]);
    expect(connections[0]!.asked).toEqual([
      ["subscribe", "a"],
      ["subscribe", "secret"],
      ["unsubscribe", "secret"],
    ]);
    connections[0]!.emit("message", "a", "text");
    expect(one.receive).toHaveBeenCalledOnce();
    expect(one.onInterrupted).not.toHaveBeenCalled();
  });

  test("move to a new connection where theirs is lost, and say for how long texts may be missing", async () => {
    const { made, connections } = single();
    const [one, two] = [subscriber(), subscriber()];
    await made.subscribe("a", one).ready;
    await after(300);
    await made.subscribe("b", two).ready;
    await after(700);
    connections[0]!.emit("end");
    await after(0);
    expect([joins(connections)[1], connections[0]!.asked.at(-1)]).toEqual([[["subscribe", "a", "b"]], ["disconnect"]]);
    expect([one, two].map(({ onInterrupted }) => onInterrupted.mock.calls)).toEqual([[[700]], [[700]]]);
    connections[1]!.emit("message", "b", "text");
    connections[0]!.emit("message", "b", "late");
    expect([two.receive.mock.calls, made.connections()]).toEqual([[["text"]], 1]);
  });

  test("that were left while Redis answered are left there too, unless the channel has a subscriber again", async () => {
    for (const again of [false, true]) {
      const answers: (() => void)[] = [];
      const { made, connections } = single((command) =>
        command === "subscribe" ? new Promise<void>((resolve) => void answers.push(resolve)) : undefined,
      );
      const { ready, unsubscribe } = made.subscribe("a", subscriber());
      await after(0);
      unsubscribe();
      await ready;
      const late = again ? outcomeOf(made.subscribe("a", subscriber()).ready) : undefined;
      await after(0);
      for (const answer of answers) answer();
      await after(0);
      const left = connections[0]!.asked.filter(([command]) => command === "unsubscribe");
      expect([left, late?.outcome, made.count()]).toEqual(
        again ? [[], undefined, 1] : [[["unsubscribe", "a"]], undefined, 0],
      );
      made.stop();
    }
  });

  test("that take too long end, and leave nothing behind", async () => {
    const { made, calls } = single(never, 300);
    const seen = outcomeOf(made.subscribe("a", subscriber()).ready);
    await after(299);
    expect([seen.outcome, made.count()]).toEqual(["open", 1]);
    await after(1);
    expect(seen.outcome).toMatchObject({ code: "timeout", message: "no answer within 300 ms to: subscribe to a" });
    await after(5000);
    expect([made.count(), calls.pending(), calls.timers()]).toEqual([0, 0, 0]);
  });

  test("are over once they are stopped, with their connections", async () => {
    const { made, connections, calls } = single();
    const one = subscriber();
    await made.subscribe("a", one).ready;
    calls.stop();
    made.stop();
    expect([made.count(), made.connections(), connections[0]!.asked.at(-1)]).toEqual([0, 0, ["disconnect"]]);
    connections[0]!.emit("message", "a", "late");
    connections[0]!.emit("end");
    await after(5000);
    expect([one.receive.mock.calls, one.onInterrupted.mock.calls, connections.length]).toEqual([[], [], 1]);
    await expect(made.subscribe("b", one).ready).rejects.toMatchObject({ code: "stopped" });
    expect(connections).toHaveLength(1);
  });

  test("are settled once none is interrupted, at most after a second", async () => {
    let hangs = false;
    const answers: (() => void)[] = [];
    const { made, connections, calls } = single((command) =>
      hangs && command === "subscribe" ? new Promise<void>((resolve) => void answers.push(resolve)) : undefined,
    );
    await made.settled();
    expect(calls.timers()).toBe(0);
    await made.subscribe("a", subscriber()).ready;
    const before = calls.timers();
    hangs = true;
    connections[0]!.emit("end");
    const [late, whole] = [outcomeOf(made.settled()), { outcome: "open" as unknown }];
    await after(999);
    expect(late.outcome).toBe("open");
    await after(1);
    expect(late.outcome).toBeUndefined();
    Object.assign(whole, { of: made.settled().then(() => (whole.outcome = "whole")) });
    await after(500);
    expect(whole.outcome).toBe("open");
    for (const answer of answers) answer();
    await after(0);
    expect([whole.outcome, calls.timers()]).toEqual(["whole", before]);
  });
});

describe("Subscriptions in a cluster", () => {
  /** Two masters, of which `where` says which has a channel. */
  function clustered(where: (channel: unknown) => unknown, names: readonly Answering[] = []) {
    const masters = ["A", "B"].map((id, i) =>
      fakeNode((command, given) => (command === "cluster" ? (names[i]?.(command, given) ?? id) : "OK")),
    );
    const nodes = vi.fn((_: string) => masters.map(({ node }) => node));
    const { redis, scripts, sent } = fakeClient({ parlanceWhere: where }, { nodes });
    const calls = stoppedCalls(redis, 1000);
    return { made: makeSubscriptions(redis, calls, LONG), masters, nodes, scripts, sent, calls };
  }
  const byLetter = (channel: unknown) => String(channel)[0];

  test("are each on the master that has the channel's slot, over one connection to each", async () => {
    const { made, masters, scripts, sent, nodes } = clustered(byLetter);
    for (const name of ["A1", "B1", "A2"]) await made.subscribe(name, subscriber()).ready;
    expect(masters.map(({ connections }) => joins(connections))).toEqual([
      [
        [
          ["ssubscribe", "A1"],
          ["ssubscribe", "A2"],
        ],
      ],
      [[["ssubscribe", "B1"]]],
    ]);
    expect([made.connections(), scripts.get("parlanceWhere"), sent]).toEqual([
      2,
      { lua: expect.stringMatching(/"CLUSTER", "MYID"/), numberOfKeys: 1 },
      ["A1", "B1", "A2"].map((name) => ["parlanceWhere", name]),
    ]);
    expect(new Set(nodes.mock.calls.flat())).toEqual(new Set(["master"]));
    // A node that is known is not asked again.
    expect(masters.map(({ node }) => vi.mocked(node.cluster).mock.calls)).toEqual([[["MYID"]], [["MYID"]]]);
    made.stop();
  });

  test("are found also where another master hangs", async () => {
    const { made, masters } = clustered(byLetter, [never]);
    await made.subscribe("B1", subscriber()).ready;
    expect(joins(masters[1]!.connections)).toEqual([[["ssubscribe", "B1"]]]);
    await after(1000);
    made.stop();
  });

  test("wait for a master that the client does not know yet, and for one that cannot be found", async () => {
    for (const unknown of ["C", undefined]) {
      let known = false;
      const { made, masters } = clustered(() => {
        if (known) return "A";
        if (unknown === undefined) throw reply("ERR unknown");
        return unknown;
      });
      const seen = outcomeOf(made.subscribe("A1", subscriber()).ready);
      await after(19);
      known = true;
      expect([seen.outcome, masters[0]!.connections.length]).toEqual(["open", 0]);
      await after(1);
      expect([seen.outcome, joins(masters[0]!.connections)]).toEqual([undefined, [[["ssubscribe", "A1"]]]]);
      made.stop();
    }
  });

  test("of which a slot has moved go to its new master, and the others back to theirs", async () => {
    let moved = false;
    const { made, masters } = clustered((channel) => (moved && channel === "A2" ? "B" : "A"));
    const [one, two] = [subscriber(), subscriber()];
    await made.subscribe("A1", one).ready;
    await made.subscribe("A2", two).ready;
    moved = true;
    masters[0]!.connections[0]!.emit("moved");
    await after(0);
    expect(masters.map(({ connections }) => joins(connections).at(-1))).toEqual([
      [["ssubscribe", "A1"]],
      [["ssubscribe", "A2"]],
    ]);
    expect([one, two].map(({ onInterrupted }) => onInterrupted.mock.calls.length)).toEqual([1, 1]);
    made.stop();
  });
});
