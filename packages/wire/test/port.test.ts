import type { Port } from "@parlance/wire";
import { isCut } from "@parlance/wire/durable";
import { pair, type SocketLike, socketPort } from "@parlance/wire/link";
import { describe, expect, test } from "vitest";

/** Listens to a port, and notes what arrives. */
function heard(port: Port): unknown[] {
  const all: unknown[] = [];
  port.listen({ frame: (text) => void all.push(text), close: (...closed) => void all.push(closed) });
  return all;
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe.each([0, 1])("of two connected ports, number %i", (index) => {
  const ends = () => {
    const both = pair();
    return [both[index]!, both[1 - index]!] as const;
  };

  test("sends frames that arrive later, in order, before and after the other one listens", async () => {
    const [port, peer] = ends();
    for (const frame of ["1", "2"]) port.send(frame);
    const all = heard(peer);
    for (const frame of ["3", "4"]) port.send(frame);
    expect(all).toEqual([]);
    await turn();
    expect(all).toEqual(["1", "2", "3", "4"]);
  });

  test.each([true, false])("closes both, after what it has sent (the other listens before: %s)", async (before) => {
    const [port, peer] = ends();
    const own = heard(port);
    const early = before ? heard(peer) : [];
    port.send("1");
    port.close(1000, "done");
    port.close(1001, "again");
    port.send("2");
    peer.send("3");
    peer.close(1002, "late");
    const all = before ? early : heard(peer);
    await turn();
    expect([all, own]).toEqual([["1", [1000, "done"]], [[1000, "done"]]]);
  });
});

interface Fake extends SocketLike {
  /** What the runtime has been told. */
  readonly told: unknown[];
  /** Something arrives. */
  arrive(data: unknown, isBinary?: boolean): void;
  end(code: number, reason: string): void;
}

/** A socket as browsers have it, or as `ws`. */
function fake(kind: "browser" | "ws"): Fake {
  const listeners: Record<string, (...given: never[]) => void> = {};
  const told: unknown[] = [];
  const common = {
    told,
    bufferedAmount: 7,
    send: (frame: string) => void told.push(frame),
    addEventListener(type: string, listener: (...given: never[]) => void) {
      listeners[`event ${type}`] = listener;
    },
    end: (code: number, reason: string) => listeners["event close"]!({ code, reason } as never),
  };
  if (kind === "browser")
    return {
      ...common,
      close(code?: number, reason?: string) {
        if (code !== undefined && code !== 1000 && !(code >= 3000 && code < 5000)) throw new RangeError("code");
        told.push([code, reason]);
      },
      arrive: (data) => listeners["event message"]!({ data } as never),
    } as Fake;
  return {
    ...common,
    close: (...closed: unknown[]) => void told.push(closed),
    terminate: () => void told.push("terminated"),
    on(type: string, listener: (...given: never[]) => void) {
      listeners[type] = listener;
    },
    arrive: (data, isBinary = false) => listeners.message!(data as never, isBinary as never),
  } as Fake;
}

describe.each(["browser", "ws"] as const)("a port of a socket as %s has it", (kind) => {
  const texts = (...all: string[]) => (kind === "ws" ? all.map((text) => Buffer.from(text)) : all);

  test("keeps what arrives before it is listened to, in order, and its close", () => {
    const socket = fake(kind);
    const port = socketPort(socket);
    for (const data of texts("1", "é")) socket.arrive(data);
    const all = heard(port);
    for (const data of texts("3")) socket.arrive(data);
    expect(all).toEqual(["1", "é", "3"]);
    socket.end(1000, "done");
    socket.end(1006, "again");
    for (const data of texts("late")) socket.arrive(data);
    expect(all).toEqual(["1", "é", "3", [1000, "done"]]);
    const over = fake(kind);
    const late = socketPort(over);
    over.end(1001, "away");
    expect(heard(late)).toEqual([[1001, "away"]]);
  });

  test("sends, counts queued bytes, and cuts", () => {
    const socket = fake(kind);
    const port = socketPort(socket);
    port.send("1");
    port.close(1000, "done");
    port.cut!();
    expect(port.buffered!()).toBe(7);
    expect(socket.told).toEqual(["1", [1000, "done"], kind === "ws" ? "terminated" : [undefined, undefined]]);
  });

  test("closes with a code of its own where the runtime does not send another", () => {
    const socket = fake(kind);
    socketPort(socket).close(1012, "restart");
    expect(socket.told).toEqual([[kind === "ws" ? 1012 : 4012, "restart"]]);
  });

  test("is closed by a frame that is no text, without waiting for the peer", () => {
    const socket = fake(kind);
    const all = heard(socketPort(socket));
    socket.arrive(new Uint8Array(1), true);
    for (const data of texts("late")) socket.arrive(data);
    expect(all).toEqual([[1003, "text frames only"]]);
    expect(socket.told).toEqual([[kind === "ws" ? 1003 : 4003, "text frames only"]]);
  });
});

test("a conversation may continue after the close codes of a cut, a restart and a server that goes away, and no others", () => {
  const codes = [...Array.from({ length: 16 }, (_, i) => 1000 + i), 0, 999, 2001, 2002, 3000, 4001, 4006, 4999];
  expect(codes.filter(isCut)).toEqual([1001, 1005, 1006, 1012, 1013]);
});
