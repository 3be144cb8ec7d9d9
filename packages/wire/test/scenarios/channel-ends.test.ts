import { type AnyContract, Disconnected, type Port, type PortEvents } from "@parlance/wire";
import { type LinkOptions, link } from "@parlance/wire/link";
import { describe, expect, test, vi } from "vitest";
import { closedWith, contract, line, message, opened } from "../line.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("The end of a channel", () => {
  test("fails the open asks, and no message that only was sent", async () => {
    const { channel, send, end } = opened();
    void send(message("ask", { id: "1" }));
    void send(message("query"));
    const asked = channel.ask(message("run", { id: "2" }));
    end(1000);
    await expect(asked).rejects.toMatchObject({
      name: "Disconnected",
      code: "closed",
      retryable: false,
      message: "p.line is closed",
    });
    expect(await channel.closed).toEqual({ code: 1000, reason: "why" });
  });

  test("gives its cause to the open asks, also where it is one in order", async () => {
    const details = { body: "no model", exitCode: 0 };
    const cause = new Disconnected("the agent ended with code 0", { code: "closed", retryable: true, details });
    const { channel, end } = opened();
    const asked = channel.ask(message("ask", { id: "1" }));
    end(1000, cause);
    const told = { name: "Disconnected", message: "p.line: the agent ended with code 0", details, cause };
    await expect(asked).rejects.toMatchObject(told);
    expect(await channel.closed).toEqual({ code: 1000, reason: "why" });
    const cut = opened();
    cut.end(1006, cause);
    await expect(cut.channel.closed).rejects.toMatchObject(told);
  });

  test("by a failure of this side fails them with that, once, and closes its port as it says", async () => {
    const { channel, fail, sent, give } = opened();
    const asked = channel.ask(message("ask", { id: "1" }));
    const [first, second] = [new Error("first"), new Error("second")];
    fail(first, 1011, "why");
    fail(second, 1008, "again");
    give("late");
    await expect(asked).rejects.toBe(first);
    expect(await closedWith(channel)).toBe(first);
    expect(sent).toEqual(["ask", "close 1011 why"]);
    await expect(channel[Symbol.asyncIterator]().next()).rejects.toBe(first);
  });

  test.each([
    [1006, "", "p.line was closed by the server: 1006"],
    [4000, "no", "p.line was closed by the server: 4000 no"],
  ])("by %d %j says so, with what was not confirmed", async (code, reason, text) => {
    let on!: PortEvents;
    const { channel, send } = opened(
      {},
      {
        listen: (events) => {
          on = events;
        },
      },
    );
    on.frame("heard");
    void send(message("a"));
    on.close(code, reason);
    const error = (await closedWith(channel)) as Error;
    expect(error).toMatchObject({ code: "closed", retryable: true, unconfirmed: [message("a")] });
    expect([error.message, error.cause]).toEqual([text, undefined]);
  });

  test("that this side asks for is 1000 without a reason, once, and waited for", async () => {
    const { channel, sent, end } = opened();
    let closed = 0;
    const waits = [channel.close(), channel.close(3000, "again"), channel[Symbol.asyncDispose]()];
    for (const wait of waits) void wait.then(() => closed++);
    await turn();
    expect([sent, closed]).toEqual([["close 1000 "], 0]);
    end(1000);
    await Promise.all(waits);
    await channel.close(3000, "late");
    expect([sent, closed]).toEqual([["close 1000 "], 3]);
  });

  test("that is an error is no error of a close", async () => {
    const { channel, end } = opened();
    const closing = channel.close();
    end(1006);
    await closing;
    expect(await closedWith(channel)).toMatchObject({ code: "closed" });
  });

  test("stops what sends many, also what begins after it", async () => {
    const { channel, end, sent } = opened({}, { room: () => new Promise(() => {}) });
    const sending = channel.sendAll([message("a"), message("b")]);
    await turn();
    end(1006);
    await expect(sending).rejects.toMatchObject({ code: "closed" });
    expect(sent).toEqual(["a"]);
    await expect(channel.sendAll([message("c")])).rejects.toMatchObject({ code: "closed" });
    expect(sent).toEqual(["a"]);
    const whole = opened();
    await whole.channel.sendAll([message("a"), message("b")]);
    expect(whole.sent).toEqual(["a", "b"]);
    await expect(whole.channel.sendAll(7 as never)).rejects.toThrow(
      "p.line: sendAll takes an iterable of messages, not 7",
    );
  });
});

describe("A channel", () => {
  test("tells its port how much is unread", async () => {
    let on: PortEvents | undefined;
    const listen = (events: PortEvents) => {
      on = events;
    };
    const { channel } = opened({}, { listen });
    expect(on!.unread!()).toBe(0);
    on!.frame("text");
    expect(on!.unread!()).toBe(4);
    await channel[Symbol.asyncIterator]().next();
    expect(on!.unread!()).toBe(0);
  });

  test("is flushed with its port, and at once where that says nothing of it", async () => {
    await opened().flushed();
    let done!: () => void;
    const { flushed } = opened(
      {},
      {
        flushed: () =>
          new Promise<void>((resolve) => {
            done = resolve;
          }),
      },
    );
    let over = false;
    const flushing = flushed().then(() => {
      over = true;
    });
    await turn();
    expect(over).toBe(false);
    done();
    await flushing;
  });

  test("has room at once, without a promise of its own, or a new one for each wait of its port", async () => {
    const { channel, send } = opened();
    expect(send(message("a"))).toBeUndefined();
    expect(channel.send(message("a"))).toBe(channel.send(message("b")));
    const waits: (() => void)[] = [];
    let room: Promise<void> | undefined;
    const busy = opened({}, { room: () => room });
    const wait = () => {
      room = new Promise((resolve) => void waits.push(resolve));
    };
    wait();
    const first = busy.send(message("a"));
    wait();
    const second = busy.send(message("b"));
    expect(first).not.toBe(second);
    for (const free of waits) free();
    await Promise.all([first, second]);
    room = undefined;
    expect(busy.send(message("c"))).toBeUndefined();
  });

  test.each(["client", "server"] as const)("without an opening message begins with any, for a %s", async (side) => {
    let on!: PortEvents;
    const sent: string[] = [];
    const port: Port = {
      send: (frame) => void sent.push(frame),
      close() {},
      listen: (events) => {
        on = events;
      },
      room: () => undefined,
    };
    const plain = { name: "p", channels: { line: { client: [], server: [] } } } as unknown as AnyContract;
    const made = link(plain, port, {
      channel: "line",
      side,
      encode: ({ type }) => ({ data: type }),
      decode: ({ data }: { data: string }) => ({ message: message(data) }),
      maxSize: 10,
      maxQueued: 10,
      pace: { room: 1, most: 1, stall: 1 },
      onViolation: () => {},
    } as LinkOptions);
    await made.channel.send(message("any"));
    on.frame("other");
    expect([sent, (await made.channel[Symbol.asyncIterator]().next()).value]).toEqual([["any"], message("other")]);
  });

  test("paces a port that does not pace itself", () => {
    vi.useFakeTimers();
    try {
      const port = { room: undefined, buffered: () => 3 };
      const { sent, say, send, end } = opened({ pace: { room: 1, most: 3, stall: 1000 } }, port);
      const room = send(message("a"));
      expect(room).toBeInstanceOf(Promise);
      room!.catch(() => {});
      expect(() => say(message("b"))).toThrow("p.line: more than 3 bytes wait: b was not sent; await `send`");
      expect(sent).toEqual([]);
      end(1006);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("forgets a cancel that is followed by another message", async () => {
    for (const [types, normal] of [
      [["stop"], true],
      [["stop", "a"], false],
    ] as const) {
      const { channel, say, end } = opened();
      for (const type of types) say(message(type));
      end(1006);
      const how = await closedWith(channel);
      expect([types, how instanceof Error]).toEqual([types, !normal]);
    }
    const server = line("server");
    server.say(message("welcome"));
    server.say(message("stop"));
    server.end(1006);
    expect(await closedWith(server.channel)).toBeInstanceOf(Error);
  });

  test("sends a text that was made for many, with what it was made for", () => {
    const encode = vi.fn((one: { type: string }, _saying?: object) => ({ data: one.type }));
    const { send } = opened({ encode: encode as never });
    const saying = {};
    void send(message("a"), saying);
    expect(encode).toHaveBeenLastCalledWith(message("a"), saying);
    expect(contract.name).toBe("p");
  });
});
