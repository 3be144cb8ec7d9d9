import { EventEmitter } from "node:events";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { CallPort } from "../../src/channel/socket.js";
import { ServerPort } from "../../src/node/port.js";

// A turn of the loop is a real one: frames wait for its end.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const turn = async () => {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** The texts of short frames that are written as bytes. */
function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = bytes[at + 1]! < 126;
    const length = short
      ? bytes[at + 1]!
      : bytes[at + 1]! === 126
        ? bytes.readUInt16BE(at + 2)
        : Number(bytes.readBigUInt64BE(at + 2));
    const from = at + (short ? 2 : bytes[at + 1]! === 126 ? 4 : 10);
    texts.push(bytes.subarray(from, from + length).toString());
    at = from + length;
  }
  return texts;
}

/** A WebSocket as `ws` has it, of which a test is the runtime, and the connection under it. */
function opened() {
  const writes: string[][] = [];
  const told: unknown[] = [];
  class Opened extends EventEmitter {
    readonly OPEN = 1;
    readyState = 1;
    bufferedAmount = 0;
    close(...how: unknown[]): void {
      if (how[0] === 1006 || how[0] === 1015) throw new TypeError("no such code");
      told.push(["close", ...how]);
    }
    ping = () => void told.push("ping");
    terminate = () => void told.push("terminate");
  }
  const ws = new Opened();
  const socket = {
    write: (bytes: Buffer) => void writes.push(textsOf(bytes)),
    destroy: (error: Error) => void told.push(["destroy", error.message]),
  };
  const port = new ServerPort(ws as never, socket as never);
  const heard: unknown[] = [];
  const listen = (more = {}) =>
    port.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push(how), ...more });
  return { ws, socket, port, writes, told, heard, listen };
}

describe("The frames that a server sends", () => {
  test("are one write for each turn, and counted until then", async () => {
    const { port, writes, ws } = opened();
    port.send("1");
    port.send("23");
    ws.bufferedAmount = 10;
    expect([writes, port.buffered()]).toEqual([[], 13]);
    await turn();
    expect([writes, port.buffered()]).toEqual([[["1", "23"]], 10]);
    port.send("4");
    await turn();
    expect(writes).toEqual([["1", "23"], ["4"]]);
  });

  test("are each socket's own, also where those of another one begin alike", async () => {
    const all = [["1", "2"], ["1", "2"], ["1", "2", "3"], ["1"], ["2", "1"], ["1"]];
    const ports = all.map(() => opened());
    for (const [i, frames] of all.entries()) for (const frame of frames) ports[i]!.port.send(frame);
    // One that is closing meanwhile gets nothing, and the others theirs.
    ports[1]!.ws.readyState = 2;
    await turn();
    expect(ports.map(({ writes }) => writes)).toEqual(all.map((frames, i) => (i === 1 ? [] : [frames])));
  });

  test("do not wait for the end of a turn above 64 Ki characters", () => {
    const { port, writes } = opened();
    port.send("x".repeat(64 * 1024));
    expect(writes).toEqual([]);
    port.send("y");
    expect(writes.map((texts) => texts.length)).toEqual([2]);
    expect(port.buffered()).toBe(0);
  });

  test("come before its close, and are dropped by a cut", async () => {
    const { port, writes, told } = opened();
    port.send("1");
    port.close(1000, "bye");
    expect([writes, told]).toEqual([[["1"]], [["close", 1000, "bye"]]]);
    const other = opened();
    other.port.send("1");
    other.port.cut();
    expect(other.port.buffered()).toBe(0);
    await turn();
    expect([other.writes, other.told]).toEqual([[], ["terminate"]]);
  });

  test("end their own connection where it throws, and no other", async () => {
    const [broken, whole] = [opened(), opened()];
    broken.socket.write = () => {
      throw new Error("broken");
    };
    broken.port.send("1");
    whole.port.send("1");
    await turn();
    expect([broken.told, whole.writes]).toEqual([[["destroy", "broken"]], [["1"]]]);
  });
});

describe("The close of a server's socket", () => {
  test.each([
    [1000, ["close", 1000, "why"]],
    [4999, ["close", 4999, "why"]],
    [1005, ["close"]],
    [1006, ["close", 4006, "why"]],
    [1015, ["close", 4015, "why"]],
  ] as const)("by %i is one that may be sent", (code, sent) => {
    const { port, told } = opened();
    port.close(code, "why");
    expect(told).toEqual([sent]);
  });

  test("by the peer is answered at once, or by who asked to be told", () => {
    const [plain, asked] = [opened(), opened()];
    plain.listen();
    plain.ws.close(1000, "bye");
    expect(plain.told).toEqual([["close", 1000, "bye"]]);
    const closing = vi.fn();
    asked.listen({ closing });
    asked.ws.close(3000, Buffer.from("bye"));
    expect([closing.mock.calls, asked.told]).toEqual([[[3000, "bye"]], []]);
    asked.port.close(3000, "bye");
    expect(asked.told).toEqual([["close", 3000, "bye"]]);
    const silent = opened();
    silent.listen({ closing });
    silent.ws.close();
    expect(closing.mock.lastCall).toEqual([1005, ""]);
    // It is reported once: what closes the socket after that does.
    silent.ws.close(1000, "again");
    expect([closing.mock.calls.length, silent.told]).toEqual([2, [["close", 1000, "again"]]]);
  });

  test("is reported once, with its first reason, also to one who listens later", () => {
    for (const early of [true, false]) {
      const { ws, heard, listen } = opened();
      if (early) listen();
      ws.emit("message", Buffer.from("1"), false);
      ws.emit("message", Buffer.from("é"), false);
      ws.emit("close", 1001, Buffer.from("away"));
      ws.emit("close", 1006, Buffer.from(""));
      ws.emit("message", Buffer.from("late"), false);
      if (!early) listen();
      expect(heard).toEqual(["1", "é", [1001, "away"]]);
    }
  });

  test("follows a frame that is no text, and one that breaks the framing", () => {
    const [binary, broken] = [opened(), opened()];
    for (const { listen } of [binary, broken]) listen();
    binary.ws.emit("message", Buffer.from("1"), true);
    expect([binary.heard, binary.told]).toEqual([[[1003, "text frames only"]], [["close", 1003, "text frames only"]]]);
    binary.ws.emit("message", Buffer.from("2"), true);
    expect(binary.told).toHaveLength(1);
    broken.ws.emit("error", new Error("mask"));
    expect(broken.heard).toEqual([[1006, "the peer broke the framing"]]);
  });
});

describe("A heartbeat of 100 ms", () => {
  function beating() {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    const it = opened();
    it.port.beat(100, root);
    const after = (milliseconds: number) => {
      it.told.length = 0;
      vi.advanceTimersByTime(milliseconds);
      return [...it.told];
    };
    return { ...it, root, after };
  }

  test("pings once each, and cuts a peer that is silent for 2.5 of them", () => {
    const { after } = beating();
    expect([after(49), after(1), after(99), after(1), after(50)]).toEqual([[], ["ping"], [], ["ping"], []]);
    expect([after(49), after(1)]).toEqual([[], ["terminate"]]);
  });

  test.each(["pong", "message"])("is answered by a %s", (event) => {
    const { after, ws } = beating();
    const seen: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      seen.push(...after(200));
      ws.emit(event, Buffer.from("x"), false);
    }
    expect(new Set(seen)).toEqual(new Set(["ping"]));
    expect(after(250)).not.toContain("terminate");
    expect(after(50)).toContain("terminate");
  });

  test("stops with its socket, and with its call", () => {
    const [closed, over] = [beating(), beating()];
    closed.ws.emit("close", 1000, Buffer.from(""));
    over.root.close();
    expect([closed.after(1000), over.after(1000), vi.getTimerCount()]).toEqual([[], [], 0]);
  });
});

test("the port of a call is that of its socket, and its call is over with it", () => {
  for (const whole of [true, false]) {
    const { port, told, ws, heard } = opened();
    const call = Scope.open(() => {}).child();
    const { cut, buffered, ...rest } = {
      cut: () => port.cut(),
      buffered: () => 7,
      send: (frame: string) => port.send(frame),
      close: (code: number, reason: string) => port.close(code, reason),
      listen: port.listen.bind(port),
    };
    const own = new CallPort(whole ? { ...rest, cut, buffered } : rest, call);
    own.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push([...how, call.closed]) });
    expect(own.buffered()).toBe(whole ? 7 : 0);
    own.cut();
    own.close(1000, "bye");
    expect(told).toEqual([...(whole ? ["terminate"] : []), ["close", 1000, "bye"]]);
    ws.emit("message", Buffer.from("1"), false);
    ws.emit("close", 1000, Buffer.from("bye"));
    // Its reader gets the reason first.
    expect([heard, call.closed, call.reason]).toEqual([["1", [1000, "bye", false]], true, undefined]);
  }
});
