import { based } from "@parlance/protocols/based";
import type { Port, PortEvents } from "@parlance/wire";
import { Disconnected, disconnected, Refusal } from "@parlance/wire/errors";
import { type AnyChannel, type Link, PacedPort } from "@parlance/wire/link";
import { RESUME } from "@parlance/wire/resume-key";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { firstOffer, type Resumed } from "../../src/channel/offer.js";
import { ReconnectingChannel } from "../../src/channel/reconnecting.js";
import { lifetime } from "../../src/lifetime.js";
import type { Requests } from "../../src/request.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** Half a second: the waits between attempts are shorter. */
const soon = () => vi.advanceTimersByTimeAsync(500);

function socket() {
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
type Socket = ReturnType<typeof socket>;

/** A channel that opens these sockets, one after the other, with what its server has of it. */
function channel(opens: (readonly [Socket, received: number] | number | Error)[]) {
  const asked: number[] = [];
  const cancel = vi.fn();
  const fail = vi.fn();
  const heard: unknown[] = [];
  let port!: Port;
  let unconfirmed: readonly { type: string }[] = [];
  let settle!: (how: unknown) => void;
  const closed = new Promise<unknown>((resolve) => {
    settle = resolve;
  });
  const life = lifetime();
  const reconnecting = new ReconnectingChannel(
    {
      what: "p.line",
      connection: { random: () => 0, reconnectFor: 10_000 },
      life,
      pace: { room: 1e6, most: 1e6, stall: 1e9 },
      Paced: PacedPort,
      cancel,
      linkOver: (own) => {
        port = own;
        own.listen({
          frame: (text) => void heard.push(text),
          close: (...how) => {
            heard.push(how.slice(0, 2));
            settle(undefined);
          },
        });
        return {
          channel: { closed } as unknown as AnyChannel,
          unconfirmed: () => unconfirmed,
          fail: (...how: unknown[]) => {
            fail(...how);
            settle(undefined);
          },
        } as unknown as Link;
      },
      openSocket: async (_, received) => {
        asked.push(received);
        const next = opens.shift() ?? new Error("no more sockets");
        if (next instanceof Error) throw next;
        return typeof next === "number"
          ? next
          : { port: next[0].port, received: next[1], resumable: { epoch: "e1", grace: 30, beat: 0 } };
      },
    },
    { epoch: "e1", grace: 30, beat: 0 },
  );
  let outcome: unknown = "opening";
  const open = async () => {
    reconnecting.open().then(
      () => {
        outcome = "open";
      },
      (error) => {
        outcome = error;
      },
    );
    await soon();
    return outcome;
  };
  const leave = (...types: string[]) => {
    unconfirmed = types.map((type) => ({ type }));
  };
  return { open, asked, cancel, fail, heard, life, leave, port: () => port, end: () => settle(undefined) };
}

describe("A channel that reconnects", () => {
  test("tells where it is at each socket, and sends what its server lacks", async () => {
    const [first, second] = [socket(), socket()];
    const { open, asked, cancel, fail, heard, port } = channel([[first, 0], 100, [second, 1]]);
    expect(await open()).toBe("open");
    for (const frame of ["a", "b", "c"]) port().send(frame);
    for (const frame of ["1", "2"]) first.receive(frame);
    first.end(1006);
    await soon();
    expect([asked, first.sent, second.sent]).toEqual([
      [0, 2, 2],
      ["a", "b", "c"],
      ["b", "c"],
    ]);
    second.receive("3");
    expect([heard, cancel.mock.calls, fail.mock.calls]).toEqual([["1", "2", "3"], [], []]);
    second.end(1000);
    await soon();
    expect([heard.at(-1), asked.length, cancel.mock.calls]).toEqual([[1000, ""], 3, []]);
  });

  test("may be cut as often as it likes while frames come, and without any only for as long as it may reconnect", async () => {
    const often = 150;
    for (const speaks of [true, false]) {
      const all = Array.from({ length: often }, socket);
      const { open, asked, fail, heard, port } = channel(all.map((one) => [one, 0] as const));
      await open();
      for (const one of all) {
        if (fail.mock.calls.length > 0) break;
        if (speaks) one.receive("a");
        one.end(1006);
        await soon();
      }
      // Each attempt costs at least 100 ms of the 10 s.
      if (speaks) expect([heard.length, asked.length]).toEqual([often, often + 1]);
      else expect(asked.length).toBeLessThan(102);
      port().close(1000, "");
      await soon();
    }
  });

  test.each([400, 426])(
    "is asked for again where its handshake is answered with %i, three times in all",
    async (status) => {
      const refusal = () => new Refusal("no", { status });
      const one = socket();
      const passing = channel([refusal(), refusal(), [one, 0]]);
      expect(await passing.open()).toBe("open");
      one.end(1000);
      const refused = channel([refusal(), refusal(), refusal(), [one, 0]]);
      expect(await refused.open()).toMatchObject({ name: "Refusal", status });
      expect(refused.asked).toHaveLength(3);
    },
  );

  test("that cannot be opened is cancelled at its server, and its link fails with the reason", async () => {
    for (const [opens, error] of [
      [[new Refusal("no", { status: 403 })], { name: "Refusal", status: 403 }],
      [[new TypeError("no WebSocket")], { name: "TypeError" }],
      // It has more than was ever sent.
      [
        [[socket(), 3]],
        { code: "gap", missing: { after: 3 }, message: "p.line, at the server: messages after 3 are gone" },
      ],
    ] as const) {
      const { open, cancel, fail } = channel([...opens] as never);
      const outcome = await open();
      expect(outcome).toMatchObject(error);
      expect([cancel.mock.calls.length, fail.mock.calls]).toEqual([1, [[outcome, 1000, "not opened"]]]);
    }
  });

  test("whose opening message is refused is cancelled at its server", async () => {
    const cancel = vi.fn();
    const refused = new Error("its opening message is wrong");
    const options = {
      what: "p.line",
      connection: {},
      life: lifetime(),
      pace: { room: 1, most: 1, stall: 1 },
      Paced: PacedPort,
      cancel,
      linkOver() {
        throw refused;
      },
      openSocket: () => expect.unreachable(),
    };
    const reconnecting = new ReconnectingChannel(options, { epoch: "e1", grace: 30, beat: 0 });
    await expect(reconnecting.open()).rejects.toBe(refused);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test.each([true, false])(
    "that ends by itself is joined no more, and cancelled at its server where it is cut: %s",
    async (cut) => {
      const one = socket();
      const { open, asked, cancel, end } = channel([[one, 0], 1000, 1000, [socket(), 0]]);
      await open();
      if (cut) one.end(1006);
      await soon();
      const before = asked.length;
      end();
      await vi.advanceTimersByTimeAsync(5000);
      expect([asked.length, cancel.mock.calls.length]).toEqual([before, cut ? 1 : 0]);
    },
  );

  test("gives up when its time is over, with what was not confirmed", async () => {
    const one = socket();
    const failures = Array.from({ length: 200 }, () => disconnected("down", "unreachable", true));
    const { open, fail, cancel, leave } = channel([[one, 0], ...failures]);
    await open();
    leave("a");
    one.end(1006);
    await vi.advanceTimersByTimeAsync(11_000);
    expect(fail.mock.calls).toEqual([
      [
        expect.objectContaining({
          message: expect.stringMatching(/^p\.line was cut; not joined again in \d+ attempts within \d+ ms$/),
          code: "closed",
          retryable: true,
          unconfirmed: [{ type: "a" }],
          cause: expect.objectContaining({ message: "down" }),
        }),
        1000,
        "not joined again",
      ],
    ]);
    expect(cancel).not.toHaveBeenCalled();
  });

  test("that is refused when it comes back was cut, and may not be tried again", async () => {
    const one = socket();
    const refusal = new Refusal("no", { status: 401 });
    const { open, fail, leave } = channel([[one, 0], refusal]);
    await open();
    leave("a", "b");
    one.end(1006);
    await soon();
    const [error] = fail.mock.calls[0]!;
    expect(error).toBeInstanceOf(Disconnected);
    expect(error).toMatchObject({ message: "p.line was cut", code: "closed", retryable: false, cause: refusal });
    expect(error.unconfirmed).toEqual([{ type: "a" }, { type: "b" }]);
  });

  test("whose server lacks frames that are gone has a gap, and that socket is closed", async () => {
    const [first, second] = [socket(), socket()];
    const { open, fail, port } = channel([
      [first, 0],
      [second, 9],
    ]);
    await open();
    port().send("a");
    first.end(1006);
    await soon();
    expect(second.sent).toEqual(["close 1000 frames are gone"]);
    expect(fail.mock.calls[0]![0]).toMatchObject({
      code: "gap",
      missing: { after: 9 },
      cause: { message: "p.line was cut" },
    });
  });
});

describe("The close of a channel that reconnects", () => {
  test("is sent, and over once it is confirmed", async () => {
    const one = socket();
    const { open, cancel, heard, asked, port } = channel([[one, 0]]);
    await open();
    port().send("a");
    port().close(3000, "bye");
    expect([one.sent, heard]).toEqual([["a", "close 3000 bye"], []]);
    one.end(3000);
    await soon();
    expect([heard, cancel.mock.calls, asked.length]).toEqual([[[3000, "bye"]], [], 1]);
  });

  test("whose confirmation is lost is sent again over the next socket", async () => {
    const [first, second] = [socket(), socket()];
    const { open, heard, port } = channel([
      [first, 0],
      [second, 1],
    ]);
    await open();
    for (const frame of ["a", "b"]) port().send(frame);
    port().close(1000, "");
    first.end(1006);
    await soon();
    expect([second.sent, heard]).toEqual([["b", "close 1000"], []]);
    second.end(1000);
    expect(heard).toEqual([[1000, ""]]);
  });

  test("without a socket and with nothing to deliver is over at once, and its server gets its close", async () => {
    const one = socket();
    const { open, cancel, heard, port, asked } = channel([[one, 0], 5000]);
    await open();
    one.end(1006);
    await soon();
    port().close(1000, "");
    await soon();
    expect([heard, cancel.mock.calls.length, asked.length]).toEqual([[[1000, ""]], 1, 2]);
  });

  test("that its server refuses to confirm is over where all was confirmed, and lost where not", async () => {
    for (const types of [[], ["a"]]) {
      const one = socket();
      const { open, heard, fail, leave, port } = channel([[one, 0], new Refusal("no", { status: 401 })]);
      await open();
      port().send("a");
      leave(...types);
      port().close(1000, "");
      one.end(1006);
      await soon();
      if (types.length === 0) expect([heard, fail.mock.calls]).toEqual([[[1000, ""]], []]);
      else
        expect(fail.mock.calls[0]![0]).toMatchObject({
          message: "p.line was cut before its close was confirmed",
          code: "closed",
          retryable: false,
          unconfirmed: [{ type: "a" }],
        });
    }
  });
});

describe("The first offer of a channel", () => {
  const offer = () => new Response("{}", { headers: { [RESUME]: "e; grace=1; beat=0" } });
  const asking = async (answers: (Response | Error | "never")[], life = lifetime()) => {
    const times: number[] = [];
    const began = Date.now();
    const ask = vi.fn(async () => {
      times.push(Date.now() - began);
      const next = answers.shift()!;
      if (next === "never") return new Promise<never>(() => {});
      if (next instanceof Error) throw next;
      return next;
    });
    const keyed = { [RESUME]: "key" };
    let outcome: unknown = "open";
    const requests = { ask, connection: {} } as unknown as Requests;
    const resumed = { requests, name: "line", input: { id: "1" }, headers: { "X-Own": "own" }, keyed };
    void firstOffer({ ...resumed, contract: based } as unknown as Resumed, life).then(({ offer }) => {
      outcome = offer?.headers.get(RESUME) ?? offer?.status;
    });
    await soon();
    return { times, outcome: () => outcome, asked: ask.mock.calls as unknown[][], keyed };
  };

  test("is asked for with the channel's key", async () => {
    const life = lifetime();
    const { asked, outcome, keyed } = await asking([offer()], life);
    expect(outcome()).toBe("e; grace=1; beat=0");
    expect(asked).toEqual([["GET", "line", { id: "1" }, { "X-Own": "own" }, life, keyed]]);
  });

  test.each<[what: string, answers: () => (Response | Error)[], times: number[], found: boolean]>([
    ["an answer without one", () => [new Response("")], [0], false],
    ["a refusal", () => [new Response("", { status: 404 })], [0], false],
    [
      "a refusal that has its header",
      () => [new Response("", { status: 404, headers: { [RESUME]: "x" } })],
      [0],
      false,
    ],
    [
      "the 400 of a server",
      () => [new Response("text", { status: 400, headers: { "Content-Type": "text/plain" } })],
      [0],
      false,
    ],
    ["a bare 400, of a request that was cut", () => [new Response(null, { status: 400 }), offer()], [0, 100], true],
    ["a server that is out of order", () => [new Response("", { status: 500 }), offer()], [0, 100], true],
    ["one that is unreachable", () => [new Error("1"), new Error("2"), offer()], [0, 100, 300], true],
    ["one that stays so", () => [new Error("1"), new Error("2"), new Error("3"), offer()], [0, 100, 300], false],
  ])("after %s is asked for again or not", async (_, answers, times, found) => {
    const asked = await asking(answers());
    expect([asked.times, asked.outcome()]).toEqual([times, found ? "e; grace=1; beat=0" : undefined]);
  });

  test("is not waited for longer than 30 s, nor by a channel that is over", async () => {
    const { outcome } = await asking(["never"]);
    await vi.advanceTimersByTimeAsync(29_499);
    expect(outcome()).toBe("open");
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome()).toBeUndefined();
    const life = lifetime();
    const left = await asking([new Error("1"), "never"], life);
    life.abort();
    await soon();
    expect([left.outcome(), left.times.length]).toEqual([undefined, 2]);
    const over = lifetime();
    over.abort();
    expect((await asking([offer()], over)).times).toEqual([]);
  });
});
