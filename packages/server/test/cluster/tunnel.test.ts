import type { Port, PortEvents } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Packet } from "../../src/cluster/packet.js";
import { wiring } from "../../src/cluster/publish.js";
import { memoryPubSub, type PubSub } from "../../src/cluster/pubsub.js";
import { Servers } from "../../src/cluster/servers.js";
import { joinPorts, type Tunnel, type TunnelOptions, tunnel } from "../../src/cluster/tunnel.js";
import { LIMITS, type Limits } from "../../src/limits.js";
import { lastCalls } from "../../src/shutdown.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

interface Sent {
  readonly n: number;
  readonly frames?: readonly string[];
  readonly taken?: number;
  readonly close?: { readonly code: number; readonly reason: string };
}

/** One end of a tunnel; a test is the other one, and gets what is published to it. */
async function endOf(end: TunnelOptions["end"], more: Partial<Limits> = {}, pubSub: PubSub = memoryPubSub()) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const limits = { ...LIMITS, grace: 900_000, heartbeat: 0, queryWithin: 1000, ...more };
  const sent: Sent[] = [];
  let isThere = true;
  let unsubscribe = await pubSub.subscribe("there", (text) => void sent.push(JSON.parse(text)));
  const scope = root.child();
  const options = {
    wiring: wiring(pubSub, limits, root, () => {}, lastCalls()),
    scope,
    here: "here",
    there: "there",
    end,
  };
  const port = await tunnel(options);
  const heard: unknown[] = [];
  const listen = () => port.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push(how) });
  const give = async (packet: Sent) => {
    await pubSub.publish("here", JSON.stringify(packet));
    await after(0);
  };
  const detach = () => {
    if (isThere) unsubscribe();
    isThere = false;
    unsubscribe = () => {};
  };
  return { root, scope, port, heard, sent, give, listen, detach, stats: () => root.stats() };
}

describe.each(["socket", "conversation"] as const)("The end of a tunnel at the %s", (end) => {
  test("sends the frames of one turn as one packet, and one packet at a time", async () => {
    const { port, sent, stats } = await endOf(end);
    for (const frame of ["1", "22"]) port.send(frame);
    expect([sent, stats().queued]).toEqual([[], 3]);
    await after(0);
    port.send("3");
    await after(0);
    expect(sent).toEqual([
      { n: 1, frames: ["1", "22"] },
      { n: 2, frames: ["3"] },
    ]);
    expect(stats().queued).toBe(0);
  });

  test("gives each packet once, in order, and is cut where one is missing", async () => {
    const { heard, give, listen, scope } = await endOf(end);
    await give({ n: 1, frames: ["1", "2"] });
    expect(heard).toEqual([]);
    listen();
    expect(heard).toEqual(["1", "2"]);
    await give({ n: 1, frames: ["1"] });
    await give({ n: 2, frames: [] });
    await give({ n: 3, frames: ["3"] });
    await give({ n: 5, frames: ["5"] });
    await give({ n: 4, frames: ["4"] });
    expect([heard, scope.closed]).toEqual([["1", "2", "3", [1006, ""]], true]);
  });

  test("tells how much was taken when it has something to send, or when it is much", async () => {
    const { port, sent, give } = await endOf(end, { maxQueued: 40 });
    await give({ n: 1, frames: ["123456789"] });
    port.took();
    await after(0);
    expect(sent).toEqual([]);
    port.send("x");
    await after(0);
    expect(sent.splice(0)).toEqual([{ n: 1, frames: ["x"], taken: 9 }]);
    await give({ n: 2, frames: ["1234567890"] });
    expect(sent).toEqual([]);
    port.took();
    await after(0);
    expect(sent).toEqual([{ n: 2, taken: 19 }]);
  });

  test("is cut where nobody is at the other one, where pub/sub fails, and with its scope", async () => {
    const alone = await endOf(end);
    alone.listen();
    alone.detach();
    alone.port.send("1");
    await after(0);
    expect([alone.heard, alone.scope.closed]).toEqual([[[1006, ""]], true]);
    const pubSub = memoryPubSub();
    const failing = await endOf(end, {}, { ...pubSub, publish: () => Promise.reject(new Error("down")) });
    failing.listen();
    failing.port.send("1");
    await after(0);
    expect(failing.heard).toEqual([[1006, ""]]);
    const closed = await endOf(end);
    closed.listen();
    closed.scope.close();
    closed.port.send("1");
    closed.port.cut!();
    await after(0);
    expect([closed.heard, closed.sent, closed.stats().timers]).toEqual([[[1006, ""]], [], 0]);
  });

  test.each([
    { grace: 900, heartbeat: 0, every: 300 },
    { grace: 900, heartbeat: 200, every: 200 },
    { grace: 900, heartbeat: 400, every: 300 },
    { grace: 0, heartbeat: 0, every: 1 },
  ])("gives a sign of life now and then, which a silent peer does not survive: %o", async ({ every, ...limits }) => {
    const { sent, detach, scope } = await endOf(end, limits);
    await after(every - 1);
    expect(sent).toEqual([]);
    await after(1);
    expect(sent).toEqual([{ n: 1 }]);
    detach();
    await after(every);
    expect(scope.closed).toBe(true);
  });
});

describe("The close of a tunnel", () => {
  test("by its socket is reported, and over once the conversation has it, or not in time", async () => {
    for (const answered of [true, false]) {
      const { port, heard, sent, give, listen, scope } = await endOf("socket");
      listen();
      port.send("1");
      port.close(1000, "bye");
      port.close(1001, "again");
      await after(0);
      expect(sent).toEqual([{ n: 1, frames: ["1"], close: { code: 1000, reason: "bye" } }]);
      expect([heard, scope.closed]).toEqual([[], false]);
      if (answered) await give({ n: 1, close: { code: 1000, reason: "" } });
      else {
        await after(999);
        expect(scope.closed).toBe(false);
        await after(1);
      }
      expect([heard, scope.closed]).toEqual([[answered ? [1000, ""] : [1006, ""]], true]);
    }
  });

  test("by the conversation closes the socket first, and is over with its answer", async () => {
    const { port, heard, sent, give, listen, scope } = await endOf("socket");
    listen();
    await give({ n: 1, frames: ["1"], close: { code: 3000, reason: "done" } });
    expect([heard, scope.closed, sent]).toEqual([["1", [3000, "done"]], false, []]);
    port.close(3000, "done");
    await after(0);
    expect(sent).toEqual([{ n: 1, close: { code: 3000, reason: "done" } }]);
    expect([heard.slice(2), scope.closed]).toEqual([[[3000, "done"]], true]);
  });

  test("that the conversation hears is answered, and over", async () => {
    const { heard, sent, give, listen, scope } = await endOf("conversation");
    listen();
    await give({ n: 1, frames: ["1"], close: { code: 1000, reason: "bye" } });
    expect([heard, scope.closed]).toEqual([["1", [1000, "bye"]], true]);
    expect(sent).toEqual([{ n: 1, close: { code: 1000, reason: "bye" } }]);
  });

  test("that the conversation began waits for the socket's, which is not answered again", async () => {
    const { port, heard, sent, give, listen, scope } = await endOf("conversation");
    listen();
    port.close(1001, "away");
    await after(10_000);
    expect([sent, heard, scope.closed]).toEqual([[{ n: 1, close: { code: 1001, reason: "away" } }], [], false]);
    await give({ n: 1, close: { code: 1001, reason: "away" } });
    expect([sent.length, heard, scope.closed]).toEqual([1, [[1001, "away"]], true]);
  });
});

test("the queue of one end is what it has not sent, or what the other one has not taken", async () => {
  for (const end of ["socket", "conversation"] as const) {
    const { port, give } = await endOf(end);
    port.send("123");
    port.send("45");
    expect(port.buffered!()).toBe(5);
    await after(0);
    expect(port.buffered!()).toBe(end === "socket" ? 0 : 5);
    await give({ n: 1, taken: 3 });
    expect(port.buffered!()).toBe(end === "socket" ? 0 : 2);
  }
});

describe("A socket that is joined to a tunnel", () => {
  function joined(more: Partial<Limits> = {}) {
    let [on, onFar] = [undefined as PortEvents | undefined, undefined as PortEvents | undefined];
    const told: unknown[] = [];
    let [buffered, owed] = [0, 0];
    const client: Port = {
      send: (frame) => void told.push(["client", frame]),
      close: (code, reason) => void told.push(["client", code, reason]),
      cut: () => void told.push("cut"),
      buffered: () => buffered,
      listen: (events) => {
        on = events;
      },
    };
    const far = {
      send: (frame: string) => void told.push(["far", frame]),
      close: (code: number, reason: string) => void told.push(["far", code, reason]),
      buffered: () => owed,
      took: () => void told.push("took"),
      listen: (events: PortEvents) => {
        onFar = events;
      },
    } as Tunnel;
    joinPorts(client, far, { ...LIMITS, maxQueued: 10, maxBuffered: 20, stall: 1000, ...more });
    const hold = (bytes: number, behind = 0) => {
      [buffered, owed] = [bytes, behind];
    };
    return { on: on!, onFar: onFar!, told, hold };
  }

  test("passes frames both ways, and each side's close to the other", () => {
    const { on, onFar, told } = joined();
    on.frame("1");
    onFar.frame("2");
    on.closing!(3000, "asks");
    on.close(3000, "closed");
    onFar.close(3001, "done");
    expect(told).toEqual([["far", "1"], ["client", "2"], "took", ["far", 3000, "asks"], ["far", 3000, "closed"]]);
    const other = joined();
    other.onFar.close(3001, "done");
    expect(other.told).toEqual([["client", 3001, "done"]]);
  });

  test("has its client come back where the tunnel was cut, without what waited", async () => {
    const { onFar, told, hold } = joined();
    hold(15);
    onFar.frame("1");
    onFar.frame("2");
    onFar.close(1006, "");
    hold(0);
    await after(1000);
    expect(told.filter((one) => one !== "took")).toEqual([
      ["client", "1"],
      ["client", 1012, ""],
    ]);
  });

  test("says what it took only once it has room again", async () => {
    const { onFar, told, hold } = joined();
    hold(15);
    onFar.frame("1");
    onFar.frame("2");
    await after(500);
    expect(told).toEqual([["client", "1"]]);
    hold(0);
    await after(200);
    expect(told).toEqual([["client", "1"], ["client", "2"], "took"]);
  });

  test.each([
    { held: 20, isCut: false },
    { held: 21, isCut: true },
  ])("is cut where more waits for it than may: %o", ({ held, isCut }) => {
    const { onFar, told, hold } = joined();
    hold(held);
    onFar.frame("1");
    expect(told.includes("cut")).toBe(isCut);
  });

  test("that takes nothing is cut after twice the time of a reader", async () => {
    const { onFar, told, hold } = joined();
    hold(15);
    onFar.frame("1");
    await after(1900);
    expect(told).not.toContain("cut");
    await after(400);
    expect(told).toContain("cut");
  });

  test.each([
    { owed: 20, closes: false },
    { owed: 21, closes: true },
  ])("that says more than the server takes is asked to come back later: %o", ({ owed, closes }) => {
    const { on, told, hold } = joined();
    hold(0, owed);
    on.frame("1");
    expect(told.slice(1)).toEqual(closes ? [["client", 1013, "the server is too far behind"]] : []);
  });
});

describe("A server among others", () => {
  function serverOn(pubSub: PubSub) {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    const limits = { ...LIMITS, queryWithin: 1000, lingerFor: 1000, interruptedFor: 5000 };
    const received: Packet[] = [];
    const [onInterrupted, onBye] = [vi.fn(), vi.fn()];
    const servers: Servers = new Servers({
      wiring: wiring(pubSub, limits, root, () => {}, lastCalls()),
      protocol: "p",
      receive: (packet) => {
        received.push(packet);
        if (packet.type === "owed") servers.note(packet.id);
      },
      onInterrupted,
      owing: () => [],
      onBye,
    });
    return { root, servers, received, onInterrupted, onBye };
  }

  test("gets what is sent to it and to all, once it listens, and whose servers close", async () => {
    const pubSub = memoryPubSub();
    const [one, two] = [serverOn(pubSub), serverOn(pubSub)];
    expect([one.servers.me.startsWith("p/server/"), one.servers.me === two.servers.me]).toEqual([true, false]);
    expect(one.servers.listen()).toBe(one.servers.listen());
    await Promise.all([one, two].map(({ servers }) => servers.listen()));
    const left: Packet = { type: "left", reader: "r" };
    for (const topic of [one.servers.me, "p/servers", "p/server/other"])
      await pubSub.publish(topic, JSON.stringify(left));
    await after(0);
    expect([one.received, two.received]).toEqual([[left, left], [left]]);
    expect(one.servers.isMissing(new Set(), 1000)).toBe(true);
    two.root.close();
    await after(0);
    expect(one.onBye.mock.calls).toEqual([[two.servers.me, []]]);
    expect([one.servers.isMissing(new Set(), 1000), one.servers.unsure()]).toEqual([false, false]);
  });

  test("asks all that follow a session, and fails where one does not answer", async () => {
    const pubSub = memoryPubSub();
    const { servers } = serverOn(pubSub);
    const asking = (topic: string) =>
      servers.ask("s", topic, (id) => ({ type: "owed", key: "s", from: servers.me, id, readers: [] }));
    await asking(servers.me);
    await pubSub.subscribe("silent", () => {});
    let error: unknown;
    asking("silent").catch((reason) => {
      error = reason;
    });
    await after(999);
    expect(error).toBeUndefined();
    await after(1);
    expect(error).toMatchObject({ code: "timeout", message: "a server did not answer for session s" });
  });

  test("gets a gap where packets may be missing, and greets the others anew", async () => {
    const shared = memoryPubSub();
    const interrupt: (() => void)[] = [];
    const pubSub: PubSub = {
      publish: vi.fn(shared.publish),
      subscribe(topic, receive, onInterrupted) {
        interrupt.push(() => onInterrupted!());
        return shared.subscribe(topic, receive);
      },
    };
    const { servers, onInterrupted } = serverOn(pubSub);
    await servers.listen();
    const hellos = () =>
      vi.mocked(pubSub.publish).mock.calls.filter(([, text]) => text.includes('"reply":true')).length;
    expect([hellos(), onInterrupted.mock.calls.length, servers.unsure()]).toEqual([1, 0, false]);
    interrupt[0]!();
    await after(0);
    expect([hellos(), onInterrupted.mock.calls.length, servers.unsure()]).toEqual([2, 1, true]);
    await after(5001);
    expect(servers.unsure()).toBe(false);
  });
});
