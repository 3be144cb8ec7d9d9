import type { AnyContract, AnyMessage } from "@parlance/wire";
import { disconnected, Refusal } from "@parlance/wire/errors";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ConnectOptions } from "../../src/options.js";
import { buffer } from "../../src/stream/buffer.js";
import { openAgain } from "../../src/stream/reopening.js";
import type { Opening, StreamSource } from "../../src/stream/source.js";

// A stream that is opened again, over streams that a test opens, fills and cuts.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const contract = {
  name: "p",
  operations: { events: { method: "GET" }, send: { method: "POST" } },
} as unknown as AnyContract;
const lost = () => disconnected("p.events was cut", "ended_early", true);
const message = (type: string) => ({ type }) as AnyMessage;

type First = "opens" | "never opens" | Error;

/** A stream that opens, or not, and what was asked of it. */
function source(first: First) {
  const messages = buffer<AnyMessage>(() => undefined);
  const close = vi.fn(messages.clear);
  const opened =
    first === "opens"
      ? Promise.resolve()
      : first === "never opens"
        ? new Promise<void>(() => {})
        : Promise.reject(first);
  opened.catch(() => {});
  const [text, failure] = [async () => "", async () => undefined];
  const it: StreamSource<AnyMessage> = { opened, cancelled: false, messages, close, text, failure };
  return {
    it,
    close,
    say(type: string) {
      messages.push(message(type));
      messages.arrived();
    },
    end(error?: unknown) {
      messages.end(error === undefined ? {} : { error });
    },
  };
}

function reopening(firsts: First[], connection: ConnectOptions = {}, given: Partial<Opening> = {}) {
  const begun: { how: Partial<Opening>; connection: ConnectOptions; at: number; source: ReturnType<typeof source> }[] =
    [];
  const began = Date.now();
  const over = vi.fn();
  const losses: unknown[] = [];
  const opening: Opening = {
    input: {},
    options: { reopen: (error) => void losses.push(error) },
    key: "first",
    sessionEnded: async () => false,
    over,
    ...given,
  };
  const stream = openAgain(contract, { random: () => 0, ...connection }, "events", opening, (how, own) => {
    const made = source(firsts.shift() ?? "opens");
    begun.push({ how, connection: own, at: Date.now() - began, source: made });
    return made.it;
  });
  const types: string[] = [];
  let end: unknown = "open";
  const read = async () => {
    for (;;) {
      const { done, value } = await stream.messages.next();
      if (done) return "over";
      types.push(value.type);
    }
  };
  void read().then(
    (how) => {
      end = how;
    },
    (error) => {
      end = error;
    },
  );
  return {
    stream,
    begun,
    over,
    losses,
    types,
    end: () => end,
    cut: (at: number, error: unknown = lost()) => begun[at]!.source.end(error),
  };
}
const soon = (milliseconds = 500) => vi.advanceTimersByTimeAsync(milliseconds);

describe("A stream that is opened again", () => {
  test("goes on with each next one, which waits for nothing by itself and has a key of its own", async () => {
    const connection = { retryWaits: [1, 2], idleTimeout: 7 };
    const { begun, types, cut, losses, end, over } = reopening([], connection);
    await soon();
    begun[0]!.source.say("a");
    await soon();
    cut(0);
    await soon();
    begun[1]!.source.say("b");
    await soon();
    cut(1);
    await soon();
    begun[2]!.source.say("c");
    begun[2]!.source.end();
    await soon();
    expect([types, end()]).toEqual([["a", "b", "c"], "over"]);
    expect(losses).toHaveLength(2);
    expect(begun.map((one) => [one.connection.retryWaits, one.connection.idleTimeout])).toEqual([
      [[1, 2], 7],
      [[], 7],
      [[], 7],
    ]);
    const keys = begun.map(({ how }) => how.key);
    expect([keys[0], new Set(keys).size]).toEqual(["first", 3]);
    // The caller's stream is over once, and asks for nothing.
    expect(over.mock.calls.length).toBeGreaterThan(0);
    expect(new Set(over.mock.calls.flat())).toEqual(new Set([0]));
  });

  test("has no keys where nothing is resumed, and its own callbacks only where there are some", async () => {
    const { begun, cut, stream } = reopening([], {}, { key: undefined });
    await soon();
    cut(0);
    await soon();
    expect(begun.map(({ how, connection }) => [how.key, connection.onUnknown, connection.onViolation])).toEqual([
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
    ]);
    stream.close();
    await soon();
  });

  test("waits as long as the server asked before the next, and no longer", async () => {
    const { begun, cut, stream } = reopening([]);
    await soon();
    begun[0]!.how.over!(5000);
    cut(0);
    await soon(4999);
    expect(begun).toHaveLength(1);
    await soon(1);
    expect(begun).toHaveLength(2);
    stream.close();
    await soon();
  });

  test("waits for what a refusal that passes asks, and ends with one that does not", async () => {
    const busy = new Refusal("busy", { status: 503, retryAfter: 7 });
    const again = new Refusal("busy", { status: 503 });
    const no = new Refusal("no", { status: 404 });
    const { begun, cut, end, losses } = reopening(["opens", busy, again, no]);
    await soon();
    cut(0);
    await soon(100);
    expect(begun).toHaveLength(2);
    await soon(6800);
    expect(begun).toHaveLength(2);
    await soon(200);
    // The second one asks for nothing: the next comes at once.
    expect(begun).toHaveLength(4);
    await soon();
    expect([end(), (losses[0] as Error).cause]).toEqual([no, again]);
  });

  test("gives each next one 30 s to open", async () => {
    const { begun, cut, types, end } = reopening(["opens", "never opens", "opens"]);
    await soon();
    cut(0);
    await soon(500);
    const { signal } = begun[1]!.how.options!;
    await soon(29_400);
    expect([begun.length, signal!.aborted]).toEqual([2, false]);
    await soon(200);
    expect([begun.length, signal!.aborted]).toEqual([3, true]);
    begun[2]!.source.say("a");
    begun[2]!.source.end();
    await soon();
    expect([types, end()]).toEqual([["a"], "over"]);
  });

  test.each([
    [30_000, false],
    [30_001, true],
  ])("has its whole budget again after it was open for %d ms: %s", async (open, again) => {
    const { begun, cut, end, stream } = reopening([], { reconnectFor: 250 });
    await soon(0);
    // Each attempt costs 100 ms at least: two are left, and one more after a new budget.
    for (let at = 0; at < 2; at++) {
      cut(at);
      await soon(0);
      await soon(1);
    }
    expect(begun).toHaveLength(3);
    await soon(open - 1);
    cut(2);
    await soon(0);
    await soon(1);
    cut(3);
    await soon(0);
    await soon(1);
    if (again) expect([begun.length, end()]).toEqual([5, "open"]);
    else expect(end()).toMatchObject({ code: "ended_early" });
    stream.close();
    await soon();
  });

  test("ends with its first failure where it was never open, and with what is no loss", async () => {
    const first = lost();
    const unopened = reopening([first]);
    await soon();
    unopened.cut(0, first);
    await soon();
    expect([unopened.end(), unopened.begun.length, unopened.losses]).toEqual([first, 1, []]);
    await expect(unopened.stream.opened).rejects.toBe(first);
    expect(unopened.over).toHaveBeenCalledWith(0);
    const mistake = new TypeError("a mistake");
    const open = reopening([]);
    await soon();
    open.cut(0, mistake);
    await soon();
    expect([open.end(), open.begun.length, open.losses]).toEqual([mistake, 1, []]);
  });

  test("is over where this client has ended its session, before or while it is opened", async () => {
    let ended = true;
    const before = reopening([], {}, { sessionEnded: async () => ended });
    await soon();
    before.cut(0);
    await soon();
    expect([before.end(), before.begun.length, before.losses]).toEqual(["over", 1, []]);
    ended = false;
    const meanwhile = reopening(["opens", "never opens"], {}, { sessionEnded: async () => ended });
    await soon();
    meanwhile.cut(0);
    await soon();
    expect(meanwhile.begun).toHaveLength(2);
    ended = true;
    await soon(31_000);
    expect([meanwhile.end(), meanwhile.begun.length]).toEqual(["over", 2]);
  });

  test("that is closed closes its current one, aborts the others, and knows whether its reader had met the end", async () => {
    const { stream, begun, cut, end, over } = reopening([]);
    await soon();
    cut(0);
    await soon();
    expect(stream.cancelled).toBe(false);
    stream.close();
    await soon();
    expect([end(), stream.cancelled, begun.map(({ source }) => source.close.mock.calls.length)]).toEqual([
      "over",
      true,
      [0, 1],
    ]);
    expect(begun[1]!.how.options!.signal!.reason).toMatchObject({
      name: "AbortError",
      code: "AbortError",
      message: "the stream was cancelled",
    });
    expect(over).toHaveBeenCalledWith(0);
    stream.close();
    expect(stream.cancelled).toBe(true);

    const read = reopening([]);
    await soon();
    read.begun[0]!.source.end();
    await soon();
    read.stream.close();
    expect([read.end(), read.stream.cancelled]).toEqual(["over", false]);
    await expect(read.stream.text(undefined as never)).rejects.toMatchObject({
      code: "usage",
      message: "p.events may repeat its text when it is opened again: read its messages",
    });
  });

  test("ends with what its callbacks reject with, also after the connection of their message", async () => {
    const boom = new Error("boom");
    for (const name of ["onUnknown", "onViolation"] as const) {
      const { begun, cut, end } = reopening([], { [name]: () => Promise.reject(boom) });
      await soon();
      const callback = begun[0]!.connection[name] as (value: unknown) => void;
      cut(0);
      await soon();
      callback({});
      await soon();
      expect(begun[1]!.how.options!.signal!.reason).toBe(boom);
      cut(1, boom);
      await soon();
      expect(end()).toBe(boom);
    }
  });
});
