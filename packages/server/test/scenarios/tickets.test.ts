import type { Port, PortEvents } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import type { Called } from "../../src/hooks.js";
import { ledger } from "../../src/ledger.js";
import { LIMITS, type Limits } from "../../src/limits.js";
import type { Asked, Found, LocalChannels, Place, RemoteChannels } from "../../src/ports.js";
import { resumableChannels } from "../../src/resume/channels.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const place: Place = { pathname: "/line", origin: "https://page", own: false };
const called = { operation: "line", principal: "me" } as unknown as Called;

/** Those of a server itself, which begin there. */
type Local = LocalChannels & { open(called: Called, asked: Asked): Found };
/** What a client asks, without the ticket that it is about to get. */
type Question = Omit<Asked, "ticket">;

/** The conversations of one server, each held by a handler that the test is. */
function channels(limits: Partial<Limits> = {}, remote: Partial<RemoteChannels> = {}) {
  const root = Scope.open((error) => {
    throw error;
  });
  onTestFinished(() => root.close());
  const book = ledger({ ...LIMITS, ...limits }, root);
  const take = vi.spyOn(book, "take");
  const report = vi.fn();
  const context = {
    limits: { ...LIMITS, grace: 1000, ticketLife: 500, heartbeat: 0, ...limits },
    root,
    ledger: book,
    ownerOf: (principal: unknown) => String(principal),
    callbacks: { report },
  } as unknown as Context;
  const held: Port[] = [];
  const told: unknown[][] = [];
  const heard: string[] = [];
  let made!: Local;
  const all = resumableChannels(
    context,
    {} as never,
    async (_, port, scope) => {
      held.push(port);
      await new Promise<void>((resolve) => {
        port.listen({
          frame: (text) => void heard.push(text),
          close: (...how) => {
            told.push(how.slice(0, 2));
            resolve();
          },
        });
      });
      scope.close();
    },
    (those) => {
      made = those as Local;
      return { server: "", ...remote } as RemoteChannels;
    },
  );
  let tickets = 0;
  const given = (ask: (asked: Asked) => Found | undefined, question: Question) => {
    const ticket = `t${++tickets}`;
    const found = ask({ ...question, ticket });
    return found && "epoch" in found ? { epoch: found.epoch, received: found.received, ticket } : found;
  };
  const local = {
    open: (called: Called, question: Question) => given((asked) => made.open(called, asked), question),
    find: (question: Question) => given((asked) => made.find(asked), question),
    take: (ticket: string, place: Place, owner?: string) => made.take({ ticket, place, owner }),
    cancel: (name: string) => made.cancel(name),
  };
  const stats = () => {
    const { channels, timers } = root.stats();
    return { channels, timers };
  };
  const open = (name = "a") =>
    local.open(called, { name, place }) as { epoch: string; ticket: string; received: number };
  const join = (ticket: string) => {
    const socket = socketOf();
    return { ...socket, taken: local.take(ticket, place)!(socket.port) };
  };
  return { all, local, root, report, place: take, held, told, heard, stats, open, join };
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
const turn = () => vi.advanceTimersByTimeAsync(0);

describe("A ticket", () => {
  test("is taken once, within its life, and an earlier one is void", async () => {
    const { local, open } = channels();
    const { ticket } = open();
    expect(local.take("t0", place)).toBeUndefined();
    expect(local.take(ticket, place)).toBeInstanceOf(Function);
    expect(local.take(ticket, place)).toBeUndefined();
    const again = () => (local.find({ name: "a", place }) as { ticket: string }).ticket;
    const [second, third] = [again(), again()];
    expect(local.take(second, place)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(499);
    expect(local.take(third, place)).toBeInstanceOf(Function);
    const late = again();
    await vi.advanceTimersByTimeAsync(501);
    expect(local.take(late, place)).toBeUndefined();
  });

  test.each<[given: Partial<Place>, shown: Partial<Place>, isTaken: boolean]>([
    [{}, {}, true],
    [{}, { pathname: "/other" }, false],
    [{}, { origin: "https://other" }, false],
    [{}, { origin: null }, false],
    [{}, { origin: "https://other", own: true }, false],
    [{ origin: null }, { origin: null }, true],
    // A browser sends no origin with a GET to the page's own server.
    [{ origin: null }, { origin: "https://page", own: true }, true],
    [{ origin: null }, { origin: "https://page", own: false }, false],
    [{ origin: null }, { origin: "https://page", own: true, pathname: "/other" }, false],
  ])("given at %j and shown at %j is taken: %s, and void in either case", (given, shown, isTaken) => {
    const { local } = channels();
    const { ticket } = local.open(called, { name: "a", place: { ...place, ...given } }) as { ticket: string };
    expect(local.take(ticket, { ...place, ...shown }) !== undefined).toBe(isTaken);
    expect(local.take(ticket, { ...place, ...given })).toBeUndefined();
  });

  test("of a conversation that is over is taken no more, and forgotten with it", async () => {
    for (const how of ["at once", "later"]) {
      const { local, open } = channels();
      const { ticket } = open();
      expect(local.cancel("a")).toBe(true);
      if (how === "at once") expect(local.take(ticket, place)?.(socketOf().port) ?? false).toBe(false);
      else {
        await turn();
        expect(local.take(ticket, place)).toBeUndefined();
      }
    }
  });
});

describe("A ticket", () => {
  test.each([
    [undefined, true],
    ["ann", true],
    ["bob", false],
    ["", false],
  ])("of ann is taken from a handshake of %s: %s, and void in either case", (owner, isTaken) => {
    const { local } = channels();
    const { ticket } = local.open(called, { name: "p/line/ann.1", place }) as { ticket: string };
    expect(local.take(ticket, place, owner) !== undefined).toBe(isTaken);
    expect(local.take(ticket, place, "ann")).toBeUndefined();
  });
});

describe("A conversation", () => {
  test("is begun with its first socket, held once, and goes on over the next one with what its client lacks", async () => {
    const { local, open, join, held, heard, told, stats } = channels();
    const { epoch, ticket, received } = open();
    expect([received, held.length, stats()]).toEqual([0, 0, { channels: 1, timers: 2 }]);
    const first = join(ticket);
    expect([first.taken, held.length, stats()]).toEqual([true, 1, { channels: 1, timers: 0 }]);
    for (const frame of ["1", "2"]) held[0]!.send(frame);
    first.receive("a");
    first.end(1006);
    expect(stats()).toEqual({ channels: 1, timers: 1 });
    const found = local.find({ name: "a", place, cursor: { epoch, seq: 1 } }) as { epoch: string; ticket: string };
    expect(found).toEqual({ epoch, ticket: found.ticket, received: 1 });
    const second = join(found.ticket);
    expect([first.sent, second.sent, held.length, heard, told]).toEqual([["1", "2"], ["2"], 1, ["a"], []]);
  });

  test("is found by its name and epoch only, and by a GET without a cursor", () => {
    const { local, open } = channels();
    const { epoch } = open();
    expect(local.find({ name: "a", place })).toMatchObject({ epoch });
    expect(local.find({ name: "a", place, cursor: { epoch, seq: 0 } })).toMatchObject({ epoch });
    for (const asked of [
      { name: "b" },
      { name: "b", cursor: { epoch, seq: 0 } },
      { name: "a", cursor: { epoch: "x", seq: 0 } },
    ])
      expect(local.find({ ...asked, place })).toBeUndefined();
  });

  test.each([
    { maxKept: 10, maxQueued: 4 },
    { maxKept: 4, maxQueued: 10 },
  ])("holds as many characters as the larger of two limits, and names the first frame of more: %o", async (limits) => {
    const { local, open, join, held } = channels(limits);
    const { epoch, ticket } = open();
    join(ticket).end(1006);
    await turn();
    for (const frame of ["12345", "67890"]) held[0]!.send(frame);
    const asked = { name: "a", place, cursor: { epoch, seq: 0 } };
    expect(local.find(asked)).toMatchObject({ epoch });
    held[0]!.send("1");
    expect(local.find(asked)).toEqual({ gap: { after: 0, first: 2 } });
    const next = local.find({ ...asked, cursor: { epoch, seq: 1 } }) as { ticket: string };
    expect(join(next.ticket).sent).toEqual(["67890", "1"]);
  });

  test("whose client lacks frames that are gone by the time of its socket refuses that", async () => {
    const { local, open, join, held } = channels({ maxKept: 4, maxQueued: 4 });
    const { epoch, ticket } = open();
    join(ticket).end(1006);
    await turn();
    held[0]!.send("1234");
    const { ticket: next } = local.find({ name: "a", place, cursor: { epoch, seq: 0 } }) as { ticket: string };
    held[0]!.send("5678");
    const late = join(next);
    expect([late.taken, late.sent]).toEqual([false, ["close 1012 frames are gone"]]);
  });

  test.each(["without a socket", "after a cut"])("ends `grace` %s, and is known no more", async (when) => {
    const { local, open, join, told, stats } = channels();
    const { epoch, ticket } = open();
    if (when === "after a cut") join(ticket).end(1006);
    await vi.advanceTimersByTimeAsync(999);
    expect([stats(), told]).toEqual([{ channels: 1, timers: 1 }, []]);
    await vi.advanceTimersByTimeAsync(1);
    expect([stats(), told]).toEqual([
      { channels: 0, timers: 0 },
      when === "after a cut" ? [[1006, expect.any(String)]] : [],
    ]);
    expect(local.find({ name: "a", place, cursor: { epoch, seq: 0 } })).toBeUndefined();
    expect([local.find({ name: "a", place }), local.cancel("a")]).toEqual([undefined, false]);
  });

  test("waits anew for its client each time that asks for it", async () => {
    const { local, open, stats } = channels();
    open();
    for (let i = 0; i < 3; i++) {
      await vi.advanceTimersByTimeAsync(900);
      local.find({ name: "a", place });
      expect(stats()).toEqual({ channels: 1, timers: 2 });
    }
  });

  test.each([
    { code: 1000, over: true, known: true },
    // A page that was left: its key is gone with it.
    { code: 1001, over: true, known: false },
    { code: 4000, over: true, known: true },
    { code: 1006, over: false, known: true },
    { code: 1012, over: false, known: true },
  ])(
    "that its client has closed is over, and a client that asks again is refused: %o",
    async ({ code, over, known }) => {
      const { local, open, join, stats, held } = channels();
      const { epoch, ticket } = open();
      const socket = join(ticket);
      held[0]!.send("1");
      socket.receive("a");
      socket.end(code);
      await turn();
      expect(stats().channels).toBe(over ? 0 : 1);
      for (const seq of [0, 2])
        if (over) expect(local.find({ name: "a", place, cursor: { epoch, seq } })).toBeUndefined();
      const found = local.find({ name: "a", place, cursor: { epoch, seq: 1 } }) as { ticket: string } | undefined;
      if (!known) return expect(found).toBeUndefined();
      expect(found).toMatchObject({ epoch, received: 1 });
      const again = join(found!.ticket);
      expect([again.taken, again.sent]).toEqual([true, over ? ["close 1000"] : []]);
      expect(held).toHaveLength(1);
      return undefined;
    },
  );

  test("is cancelled by its name, once, and ends with its server", async () => {
    const { local, root, open, join, told, stats } = channels();
    join(open("a").ticket);
    join(open("b").ticket);
    expect([local.cancel("a"), local.cancel("c")]).toEqual([true, false]);
    await turn();
    expect([local.cancel("a"), told, stats().channels]).toEqual([false, [[1000, "cancelled"]], 1]);
    root.close();
    expect(told.slice(1)).toEqual([[1001, "the server is closing"]]);
    await turn();
    expect(stats()).toEqual({ channels: 0, timers: 0 });
  });

  test("takes a place of its principal, and is none where there is no place", () => {
    const { local, place: takes, stats } = channels();
    const full = new Error("too many");
    takes.mockImplementationOnce(() => {
      throw full;
    });
    expect(() => local.open(called, { name: "a", place })).toThrow(full);
    expect([stats(), local.find({ name: "a", place })]).toEqual([{ channels: 0, timers: 0 }, undefined]);
    local.open(called, { name: "a", place });
    expect(takes.mock.calls.map(([owner, what]) => [owner, what])).toEqual([
      ["me", "stream"],
      ["me", "stream"],
    ]);
  });
});

describe("A cancel of a channel", () => {
  test.each([
    [async () => true, true],
    [async () => false, false],
  ])("asks the other servers where this one has none", async (cancel, answer) => {
    const remote = vi.fn(cancel);
    const { all, open, report } = channels({}, { cancel: remote });
    open("a");
    expect([await all.cancel("a"), remote.mock.calls]).toEqual([true, []]);
    expect([await all.cancel("b"), remote.mock.calls]).toEqual([answer, [["b"]]]);
    expect(report).not.toHaveBeenCalled();
  });

  test("fails with the other servers, and says so", async () => {
    const away = new Error("away");
    const { all, report } = channels({}, { cancel: () => Promise.reject(away) });
    await expect(all.cancel("b")).rejects.toBe(away);
    expect(report.mock.calls).toEqual([[away, "pub/sub"]]);
  });
});
