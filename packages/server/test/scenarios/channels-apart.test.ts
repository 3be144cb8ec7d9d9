import type { Port, PortEvents } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ClusterChannels } from "../../src/cluster/channels.js";
import { wiring } from "../../src/cluster/publish.js";
import { memoryPubSub, type PubSub } from "../../src/cluster/pubsub.js";
import { LIMITS } from "../../src/limits.js";
import type { Asked, LocalChannels, Place, Shown } from "../../src/ports.js";
import { lastCalls } from "../../src/shutdown.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const place: Place = { pathname: "/line", origin: null, own: false };
const asked = (name: string): Asked => ({ name, place, ticket: "t", cursor: { epoch: "e", seq: 1 } });
const shown: Shown = { ticket: "t", place, owner: "me" };
const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** One server of a pub/sub, whose channels a test has. */
function serverOn(pubSub: PubSub, local: Partial<LocalChannels> = {}, isMissing = () => false) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const report = vi.fn();
  const limits = { ...LIMITS, queryWithin: 1000, socketWithin: 500, interruptedFor: 5000 };
  const all: LocalChannels = { find: () => undefined, take: () => undefined, cancel: () => false, ...local };
  const servers = { me: "me", isMissing: vi.fn(isMissing) };
  const channels = new ClusterChannels("p", wiring(pubSub, limits, root, report, lastCalls()), all, servers as never);
  return { root, channels, report, servers, call: () => root.child(), held: () => root.stats().subscriptions };
}

function socketOf() {
  let on: PortEvents | undefined;
  const sent: string[] = [];
  const port: Port = {
    send: (frame) => void sent.push(frame),
    close: (code, reason) => void sent.push(`close ${code} ${reason}`.trim()),
    listen: (events) => {
      on = events;
    },
  };
  return { port, sent, receive: (text: string) => on!.frame(text), end: (code: number) => on!.close(code, "") };
}

describe("A channel of another server", () => {
  test("is found by its name, and by nobody where no server has it", async () => {
    const pubSub = memoryPubSub();
    const found = { epoch: "e", received: 1, server: "s" };
    const find = vi.fn(({ name }: Asked) => (name === "a" ? found : undefined));
    const [one, two, three] = [serverOn(pubSub), serverOn(pubSub, { find }), serverOn(pubSub)];
    for (const { channels } of [two, three]) await channels.listen();
    expect(await one.channels.find(asked("a"))).toEqual(found);
    expect(find.mock.calls).toEqual([[asked("a")]]);
    expect(await one.channels.find(asked("b"))).toBeUndefined();
    expect([one, two, three].map(({ report }) => report.mock.calls)).toEqual([[], [], []]);
  });

  test("is cancelled where it is", async () => {
    const pubSub = memoryPubSub();
    const cancel = vi.fn((name: string) => name === "a");
    const [one, two] = [serverOn(pubSub), serverOn(pubSub, { cancel })];
    await two.channels.listen();
    expect([await one.channels.cancel("a"), await one.channels.cancel("b")]).toEqual([true, false]);
    expect(cancel.mock.calls).toEqual([["a"], ["b"]]);
  });

  test("may be on a server that is away for a moment: then nothing is decided", async () => {
    const one = serverOn(memoryPubSub(), {}, () => true);
    await one.channels.listen();
    const unanswered = { code: "timeout", retryable: true, message: "a server did not answer for a channel" };
    await expect(one.channels.find(asked("a"))).rejects.toMatchObject(unanswered);
    await expect(one.channels.cancel("a")).rejects.toMatchObject(unanswered);
    expect(one.servers.isMissing.mock.calls).toEqual([1, 2].map(() => [new Set(["me"]), 5000]));
  });
});

describe("A ticket of another server", () => {
  const taking = async (take: LocalChannels["take"]) => {
    const pubSub = memoryPubSub();
    const [here, there] = [serverOn(pubSub), serverOn(pubSub, { take })];
    await there.channels.listen();
    await here.channels.listen();
    return { here, there, server: there.channels.server, rest: () => [here.held(), there.held()] };
  };

  test("begins with a name that each server has for itself", () => {
    const names = [1, 2].map(() => serverOn(memoryPubSub()).channels.server);
    expect(names[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(names[0]).not.toBe(names[1]);
  });

  test("joins its channel there to the socket here, both ways and to the end", async () => {
    let near!: Port;
    const heard: unknown[] = [];
    const take = vi.fn(() => (port: Port) => {
      near = port;
      port.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push(how) });
      return true;
    });
    const { here, server, rest } = await taking(take);
    const call = here.call();
    const accepted = await here.channels.redeem(server, shown, call);
    expect([take.mock.calls, rest()]).toEqual([[[shown]], [3, 3]]);
    const socket = socketOf();
    (accepted as { run: (port: Port) => void }).run(socket.port);
    // It is open: the time for that is over.
    await after(2000);
    socket.receive("1");
    near.send("2");
    await after(0);
    expect([heard, socket.sent]).toEqual([["1"], ["2"]]);
    near.close(1000, "bye");
    await after(0);
    expect(socket.sent).toEqual(["2", "close 1000 bye"]);
    socket.end(1000);
    await after(2000);
    expect([heard.slice(1), call.closed, rest()]).toEqual([[[1000, ""]], true, [2, 2]]);
  });

  test("is void where that server does not take it, and nothing is held then", async () => {
    const { here, server, rest } = await taking(() => undefined);
    const call = here.call();
    expect(await here.channels.redeem(server, shown, call)).toBeUndefined();
    expect([rest(), call.closed]).toEqual([[2, 2], false]);
  });

  test("whose socket is not opened in time is let go of", async () => {
    const { here, server, rest } = await taking(() => (port) => {
      port.listen({ frame() {}, close() {} });
      return true;
    });
    await here.channels.redeem(server, shown, here.call());
    await after(499);
    expect(rest()).toEqual([3, 3]);
    await after(1);
    expect(rest()[0]).toBe(2);
    // The other end misses it.
    await after(60_000);
    expect(rest()).toEqual([2, 2]);
  });

  test("is void where no server has that name, for which all are greeted at most once a second", async () => {
    const pubSub = memoryPubSub();
    const publish = vi.spyOn(pubSub, "publish");
    const [here, there] = [serverOn(pubSub), serverOn(pubSub)];
    await there.channels.listen();
    const hellos = () =>
      publish.mock.calls.filter(([topic, text]) => topic === "p/channels" && text.includes('"hello"')).length;
    const redeem = (server: string) => here.channels.redeem(server, shown, here.call());
    for (let i = 0; i < 3; i++) expect(await redeem("0".repeat(12))).toBeUndefined();
    expect(hellos()).toBe(1);
    await after(999);
    await redeem("0".repeat(12));
    expect(hellos()).toBe(1);
    await after(1);
    await redeem("0".repeat(12));
    expect(hellos()).toBe(2);
    // Its own are none of another server.
    await after(1000);
    expect(await redeem(here.channels.server)).toBeUndefined();
    expect([hellos(), here.held()]).toEqual([2, 2]);
  });

  test("is waited for until each of the others has said its name, or `queryWithin`", async () => {
    const shared = memoryPubSub();
    let silent = true;
    const slow: PubSub = {
      subscribe: shared.subscribe,
      publish: (topic, text) =>
        silent && text.includes('"hello"') && topic !== "p/channels" ? Promise.resolve(1) : shared.publish(topic, text),
    };
    const [here, there] = [serverOn(shared), serverOn(slow, { take: () => () => true })];
    await there.channels.listen();
    let outcome: unknown = "open";
    const redeem = () =>
      void here.channels.redeem(there.channels.server, shown, here.call()).then((accepted) => {
        outcome = accepted === undefined ? "void" : "taken";
      });
    redeem();
    await after(999);
    expect(outcome).toBe("open");
    await after(1);
    expect(outcome).toBe("void");
    silent = false;
    outcome = "open";
    redeem();
    await after(0);
    expect(outcome).toBe("taken");
  });
});
