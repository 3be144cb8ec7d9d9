import { getEventListeners } from "node:events";
import { type AnyMessage, Disconnected, type Side } from "@parlance/wire";
import { Busy } from "@parlance/wire/link";
import { describe, expect, test, vi } from "vitest";
import { closedWith, contract, hello, line, message, opened } from "../line.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("A channel", () => {
  test("that is closed is named in the errors of what still waits for it", async () => {
    const { channel, end } = opened();
    const asked = channel.ask(message("ask", { id: "1" }));
    end(1000);
    await expect(asked).rejects.toMatchObject({ code: "closed", message: expect.stringMatching(/line is closed$/) });
  });

  test("gives an answer to the first of what was sent and asked, where answers come by order", async () => {
    const { channel, give } = opened();
    void channel.send(message("query"));
    const asked = channel.ask(message("query"));
    let settled = false;
    asked.then(() => {
      settled = true;
    });
    // An ask is open a moment after it is made.
    await turn();
    give("result 1");
    await turn();
    expect(settled).toBe(false);
    give("result 2");
    expect(await asked).toEqual(message("result", { id: "2" }));
  });

  test("opens with the messages of its contract, on each side", async () => {
    const client = line("client");
    expect(() => client.say(message("other"))).toThrow("line opens with hello, not with other");
    client.give("anything");
    await client.channel.send(hello);
    expect(client.sent).toEqual(["hello"]);
    for (const [given, own, error] of [
      ["other", "welcome", true],
      ["hello", "welcome", false],
    ] as const) {
      const server = line("server");
      server.give(given);
      if (error) {
        expect(await closedWith(server.channel)).toMatchObject({ code: "opening", side: "client", subject: given });
        expect(server.sent).toEqual(["close 1008 opening"]);
      } else {
        expect(() => server.say(message("result"))).toThrow("line opens with welcome");
        server.say(message(own));
        server.say(message("result"));
        expect(server.sent).toEqual(["welcome", "result"]);
      }
    }
    const refusing = line("server");
    refusing.say(message("failed"));
    expect(refusing.sent).toEqual(["failed"]);
  });

  test("gives the peer's messages in order, and tells of each with its side", async () => {
    const onMessage = vi.fn((_: AnyMessage, __: Side): unknown => undefined);
    const { channel, give } = opened({ onMessage });
    give("a");
    give("b");
    const reader = channel[Symbol.asyncIterator]();
    expect([(await reader.next()).value, (await reader.next()).value]).toEqual([message("a"), message("b")]);
    expect(onMessage.mock.calls.map(([{ type }, side]) => `${side} ${type}`)).toEqual([
      "client hello",
      "server a",
      "server b",
    ]);
    onMessage.mockReturnValueOnce(false);
    give("dropped");
    give("c");
    expect((await reader.next()).value).toEqual(message("c"));
    await expect(channel[Symbol.asyncIterator]().next()).rejects.toThrow("p.line has a reader already");
  });

  test("ends over a frame above its limit, one that breaks the contract, and more unread than its queue holds", async () => {
    const cases: [frames: string[], error: object, close: string][] = [
      [["x".repeat(21)], { code: "too_large", side: "server", subject: "line" }, "close 1009 too_large"],
      [["bad"], { code: "schema" }, "close 1008 schema"],
      [["123456", "123456", "1"], { code: "slow_reader", retryable: false }, "close 1008 slow reader"],
    ];
    for (const [frames, error, close] of cases) {
      const { channel, give, sent } = opened();
      for (const frame of frames) give(frame);
      expect(await closedWith(channel)).toMatchObject(error);
      expect(sent).toEqual([close]);
      expect(() => channel.send(message("late"))).toThrow("p.line is closed");
    }
    const { sent, give } = opened({ onViolation: () => {} });
    give("bad");
    give("x".repeat(20));
    expect(sent).toEqual([]);
  });

  test("tells of unknown messages, and ends where that fails", async () => {
    const onUnknown = vi.fn();
    opened({ onUnknown }).give("new");
    expect(onUnknown).toHaveBeenCalledExactlyOnceWith({ body: "new" });
    const failing = opened({
      onUnknown() {
        throw new Error("no");
      },
    });
    failing.give("new");
    expect(await closedWith(failing.channel)).toMatchObject({ message: "no" });
    expect(failing.sent).toEqual(["close 1011 internal error"]);
  });

  test("sends nothing after it is closed, or where its port is full", () => {
    const { channel, sent, say } = opened();
    void channel.close(3000, "bye");
    expect(() => say(message("late"))).toThrow("p.line is closed: late was not sent");
    expect(sent).toEqual(["close 3000 bye"]);
    let isFull = false;
    const full = opened({}, { full: () => isFull });
    isFull = true;
    expect(() => full.say(message("more"))).toThrow("p.line: more than 1 bytes wait: more was not sent; await `send`");
  });

  test("waits for room once for all senders, and not after its end", async () => {
    let free!: () => void;
    const room = new Promise<void>((resolve) => {
      free = resolve;
    });
    const { send, end } = opened({}, { room: () => room });
    const [first, second] = [send(message("a")), send(message("b"))];
    expect(first).toBe(second);
    free();
    await first;
    const never = opened({}, { room: () => new Promise(() => {}) });
    const waiting = never.send(message("a"));
    never.end(1006);
    await expect(waiting).rejects.toMatchObject({ code: "closed" });
    end(1000);
  });

  test("knows the messages that its peer may not have received, at most a thousand", () => {
    const { say, unconfirmed, give } = opened();
    for (let i = 0; i < 1200; i++) say(message("a"));
    expect(unconfirmed()).toHaveLength(1000);
    give("b");
    expect(unconfirmed()).toEqual([]);
    say(message("c"));
    expect(unconfirmed()).toEqual([message("c")]);
  });
});

describe("The end of a channel", () => {
  const over = async (side: Side, code: number, before: (it: ReturnType<typeof line>) => void = () => {}) => {
    const it = side === "client" ? opened() : line(side);
    before(it);
    it.end(code);
    return closedWith(it.channel);
  };
  const stopping = ({ say }: ReturnType<typeof line>) => say(message("stop"));
  const closing = ({ give, channel }: ReturnType<typeof line>) => {
    give("heard");
    void channel.close();
  };
  const unheard = ({ channel }: ReturnType<typeof line>) => void channel.close();

  test.each<[side: Side, code: number, before: typeof stopping | undefined, normal: boolean]>([
    ["client", 1000, undefined, true],
    ["client", 1001, undefined, false],
    ["server", 1001, undefined, true],
    ["client", 1006, undefined, false],
    ["server", 1006, undefined, false],
    ["client", 1005, stopping, true],
    ["client", 1006, stopping, true],
    ["client", 1011, stopping, false],
    ["client", 1006, closing, true],
    ["client", 1006, unheard, false],
    ["client", 1011, unheard, true],
  ])("of a %s by %d is normal or not", async (side, code, before, normal) => {
    const found = await over(side, code, before);
    if (normal) expect(found).toEqual({ code, reason: "why" });
    else expect(found).toMatchObject({ name: "Disconnected", code: "closed", retryable: true });
    if (!normal && !before)
      expect((found as Error).message).toBe(
        `p.line was closed by the ${side === "client" ? "server" : "client"}: ${code} why`,
      );
  });

  test("has the cause for which this side cut it", async () => {
    const { channel, end } = opened();
    const cause = new Disconnected("too slow", { code: "slow_reader", retryable: false });
    end(1006, cause);
    expect(await closedWith(channel)).toMatchObject({
      message: "p.line: too slow",
      code: "slow_reader",
      retryable: false,
      cause,
    });
  });
});

describe("An ask", () => {
  test("with a key is settled by its own answer, and others go to the reader", async () => {
    const { channel, give } = opened();
    const asks = ["1", "2"].map((id) => channel.ask(message("ask", { id }) as never));
    give("reply 2");
    give("reply 3");
    give("reply 1");
    expect(await Promise.all(asks)).toEqual([message("reply", { id: "1" }), message("reply", { id: "2" })]);
    expect((await channel[Symbol.asyncIterator]().next()).value).toEqual(message("reply", { id: "3" }));
  });

  test("is settled by an answer that repeats its key under the same name", async () => {
    const { channel, give } = opened();
    const asks = ["1", "2"].map((id) => channel.ask(message("run", { id }) as never));
    give("ran 2");
    give("ran 1");
    expect(await Promise.all(asks)).toEqual([message("ran", { id: "1" }), message("ran", { id: "2" })]);
  });

  test("that comes while another of its kind is open is refused, until that is answered", () => {
    const busy = new Busy(contract, "client", (name) => message(name));
    const { give, say, send, sent } = line("server", { busy, maxQueued: 100 });
    say(message("welcome"));
    for (const frame of ["hello", "run 1", "run 2"]) give(frame);
    expect(sent).toEqual(["welcome", "busy"]);
    void send(message("ran", { id: "1" }));
    give("run 3");
    expect(sent).toEqual(["welcome", "busy", "ran"]);
  });

  test("by order is sent when the one before is answered", async () => {
    const { channel, give, sent } = opened();
    const asks = [1, 2].map(() => channel.ask(message("query") as never));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect(sent).toEqual(["query"]);
    give("result");
    await turn();
    expect(sent).toEqual(["query", "query"]);
    give("result");
    await Promise.all(asks);
  });

  test("by order that waits for its turn is given up at once by its signal, and never sent", async () => {
    const { channel, sent, give, asks } = opened();
    const first = channel.ask(message("query"));
    const abort = new AbortController();
    const second = channel.ask(message("query"), { signal: abort.signal });
    const third = channel.ask(message("query"));
    await turn();
    abort.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    give("result 1");
    expect(await first).toEqual(message("result", { id: "1" }));
    await turn();
    expect([sent, asks.size]).toEqual([["query", "query"], 1]);
    give("result 3");
    expect(await third).toEqual(message("result", { id: "3" }));
  });

  test("by order that was sent keeps its turn when its signal gives it up: its answer goes to nobody", async () => {
    const { channel, sent, give, asks } = opened();
    const abort = new AbortController();
    const first = channel.ask(message("query"), { signal: abort.signal });
    await turn();
    abort.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    const second = channel.ask(message("query"));
    await turn();
    expect([sent, asks.size]).toEqual([["query", "query"], 2]);
    give("result 1");
    give("result 2");
    expect(await second).toEqual(message("result", { id: "2" }));
  });

  test("that settled leaves no listener on its signal, however it did", async () => {
    for (const end of ["answer", "close", "failure"] as const) {
      let fails = false;
      const { channel, give, end: over } = opened({}, { send: () => fails && over(1006) });
      const { signal } = new AbortController();
      fails = end === "failure";
      const asked = channel.ask(message("ask", { id: "1" }), { signal });
      if (end === "answer") give("reply 1");
      if (end === "close") over(1000);
      await asked.catch(() => {});
      await turn();
      expect([end, getEventListeners(signal, "abort")]).toEqual([end, []]);
      if (end === "answer") expect(await asked).toEqual(message("reply", { id: "1" }));
      else await expect(asked).rejects.toMatchObject({ code: "closed" });
    }
  });

  test("fails with the end of its channel, and one that asks nothing at once", async () => {
    const { channel, end } = opened();
    const ask = channel.ask(message("ask", { id: "1" }) as never);
    end(1000);
    await expect(ask).rejects.toMatchObject({ code: "closed", retryable: false });
    for (const nothing of [message("hello"), undefined])
      await expect(opened().channel.ask(nothing as never)).rejects.toThrow(/asks nothing; send it/);
  });

  test("is sent by no aborted signal, and withdrawn by one that aborts", async () => {
    const { channel, sent, asks, give } = opened();
    const abort = new AbortController();
    const ask = channel.ask(message("ask", { id: "1" }) as never, { signal: abort.signal });
    const forget = vi.spyOn(abort.signal, "removeEventListener");
    abort.abort(new Error("enough"));
    await expect(ask).rejects.toThrow("enough");
    expect([asks.size, forget.mock.calls.length]).toEqual([0, 1]);
    give("reply 1");
    expect((await channel[Symbol.asyncIterator]().next()).value).toEqual(message("reply", { id: "1" }));
    await expect(channel.ask(message("ask", { id: "2" }) as never, { signal: abort.signal })).rejects.toThrow("enough");
    expect(sent).toEqual(["ask"]);
  });
});
