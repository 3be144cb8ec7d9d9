import type { Port, PortEvents } from "@parlance/wire";
import { type DurableOptions, durable } from "@parlance/wire/durable";
import { PacedPort } from "@parlance/wire/link";
import { describe, expect, test, vi } from "vitest";

/** A socket that notes what is sent over it, of which frames and closes come from outside. */
function socket() {
  let on: PortEvents | undefined;
  const sent: string[] = [];
  let buffered = 0;
  const port: Port = {
    send: (frame) => void sent.push(frame),
    close: (code, reason) => void sent.push(`close ${code} ${reason}`.trim()),
    cut: () => void sent.push("cut"),
    buffered: () => buffered,
    listen: (events) => {
      on = events;
    },
  };
  return {
    port,
    sent,
    hold: (bytes: number) => {
      buffered = bytes;
    },
    receive: (...frames: string[]) => {
      for (const frame of frames) on!.frame(frame);
    },
    end: (code: number, reason = "") => on!.close(code, reason),
  };
}

function conversation(options: Partial<DurableOptions> = {}) {
  const heard: string[] = [];
  const told: unknown[][] = [];
  const [onCut, onEnd] = [vi.fn(), vi.fn()];
  const it = durable({ limit: 10, Paced: PacedPort, onCut, onEnd, ...options });
  const listen = () =>
    it.port.listen({ frame: (text) => void heard.push(text), close: (...how) => void told.push(how) });
  const { port } = it;
  const send = (...frames: string[]) => {
    for (const frame of frames) port.send(frame);
  };
  const counts = () => ({ sent: it.sent, dropped: it.dropped, unconfirmed: it.unconfirmed, received: it.received });
  return { it, port, heard, told, onCut, onEnd, listen, send, counts };
}

describe("The frames of a durable port", () => {
  test("are counted as they are sent, received and confirmed", () => {
    const { it, send, counts, listen, heard } = conversation();
    listen();
    const [first, second] = [socket(), socket()];
    it.attach(first.port, 0);
    send("a", "b");
    first.receive("1", "2", "3");
    expect(counts()).toEqual({ sent: 2, dropped: 0, unconfirmed: 2, received: 3 });
    it.attach(second.port, 1);
    expect(counts()).toEqual({ sent: 2, dropped: 1, unconfirmed: 1, received: 3 });
    expect([first.sent, second.sent]).toEqual([["a", "b", "close 1012 another socket goes on"], ["b"]]);
    second.receive("4");
    expect([heard, it.received]).toEqual([["1", "2", "3", "4"], 4]);
  });

  test("that come over a socket which another one has replaced are not heard, and neither is its close", () => {
    const { it, listen, heard, told, onCut, counts } = conversation();
    listen();
    const [first, second] = [socket(), socket()];
    it.attach(first.port, 0);
    it.attach(second.port, 0);
    first.receive("old");
    first.end(1000);
    expect([heard, told, onCut.mock.calls, counts().received, it.cut]).toEqual([[], [], [], 0, false]);
    it.detach();
    second.receive("old");
    second.end(1000);
    expect([heard, told, counts().received, it.cut]).toEqual([[], [], 0, true]);
    expect(second.sent).toEqual(["close 1012 another socket goes on"]);
  });

  test("that come before anyone listens wait, in order, and so does the end", () => {
    const { it, heard, told, listen } = conversation();
    const first = socket();
    it.attach(first.port, 0);
    first.receive("1", "2");
    first.end(1000, "done");
    expect([heard, told]).toEqual([[], []]);
    listen();
    expect([heard, told]).toEqual([["1", "2"], [[1000, "done", undefined]]]);
  });

  test.each([
    { limit: 10, frames: ["12345", "67890"], dropped: 0 },
    { limit: 10, frames: ["12345", "67890", "1"], dropped: 1 },
    // Half of them, where fewer would do.
    { limit: 10, frames: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "1"], dropped: 5 },
    // As many as have to be, where that is more than half.
    { limit: 10, frames: ["1", "2", "3", "4567890"], dropped: 0 },
    { limit: 10, frames: ["1", "2", "3", "45678901"], dropped: 2 },
    { limit: 10, frames: ["1", "2", "3", "4567890123"], dropped: 3 },
    // The last one is kept, whatever its length.
    { limit: 10, frames: ["1", "12345678901"], dropped: 1 },
    { limit: 10, frames: ["12345678901"], dropped: 0 },
  ])("are held up to its limit: of $frames $dropped are dropped", ({ limit, frames, dropped }) => {
    const { it, send, counts } = conversation({ limit });
    send(...frames);
    const unconfirmed = frames.length - dropped;
    expect(counts()).toEqual({ sent: frames.length, dropped, unconfirmed, received: 0 });
    if (dropped > 0) expect(it.attach(socket().port, dropped - 1)).toBe(false);
    const next = socket();
    expect(it.attach(next.port, dropped)).toBe(true);
    expect(next.sent).toEqual(frames.slice(dropped));
  });

  test("that the peer has confirmed no longer count", () => {
    const { it, send, counts } = conversation({ limit: 10 });
    for (let round = 0; round < 5; round++) {
      send("12345", "67890");
      expect(counts()).toMatchObject({ dropped: 2 * round, unconfirmed: 2 });
      expect(it.attach(socket().port, 2 * round + 2)).toBe(true);
    }
  });
});

describe("The end of a durable port", () => {
  test("is reported once, with the first reason, and nothing is sent or held after it", () => {
    const { it, port, send, told, onEnd, counts, listen } = conversation();
    listen();
    const first = socket();
    it.attach(first.port, 0);
    send("a", "b");
    it.end(1001, "away");
    it.end(1000, "again");
    send("c");
    port.close(1000, "late");
    expect([told, onEnd.mock.calls]).toEqual([[[1001, "away", undefined]], [[1001]]]);
    expect(counts()).toEqual({ sent: 2, dropped: 2, unconfirmed: 0, received: 0 });
    expect([it.cut, it.closing, it.attach(socket().port, 2)]).toEqual([false, false, false]);
    expect(first.sent).toEqual(["a", "b"]);
  });

  test.each([
    { code: 1000, back: false },
    { code: 1001, back: true },
    { code: 1006, back: true },
    { code: 1008, back: false },
    { code: 1012, back: true },
    { code: 4000, back: false },
    { code: 4000, back: true, mayReturn: (code: number) => code === 4000 },
    { code: 1006, back: false, mayReturn: () => false },
  ])("after the socket's close: %o", ({ code, back, ...options }) => {
    const { it, told, onCut, onEnd, listen } = conversation(options);
    listen();
    const first = socket();
    it.attach(first.port, 0);
    first.end(code, "why");
    expect([it.cut, onCut.mock.calls.length]).toEqual(back ? [true, 1] : [false, 0]);
    expect([told, onEnd.mock.calls]).toEqual(back ? [[], []] : [[[code, "why", undefined]], [[code]]]);
  });

  test.each([
    { deliver: true, socketCloses: 1000, told: true, back: false },
    { deliver: true, socketCloses: 1006, told: false, back: true },
    { deliver: true, socketCloses: 3001, told: true, back: false },
    { deliver: true, socketCloses: 1012, closes: 1012, told: true, back: false },
    { deliver: false, socketCloses: 1006, told: true, back: true },
    { deliver: false, socketCloses: 1012, closes: 1012, told: true, back: false },
  ])("that this side began: %o", ({ deliver, socketCloses, closes = 3001, told: isTold, back }) => {
    const { it, port, send, told, onCut, listen } = conversation({ deliver });
    listen();
    const first = socket();
    it.attach(first.port, 0);
    port.close(closes, "bye");
    port.close(1000, "again");
    send("late");
    expect([it.closing, first.sent, told]).toEqual([true, [`close ${closes} bye`], []]);
    first.end(socketCloses);
    expect(told).toEqual(isTold ? [[closes, "bye"]] : []);
    expect([onCut.mock.calls.length, it.cut]).toEqual(back ? [1, true] : [0, false]);
  });

  test("that this side began without a socket is reported at once, unless it delivers", () => {
    for (const deliver of [false, true]) {
      const { port, told, listen, send, counts } = conversation({ deliver });
      listen();
      port.close(3001, "bye");
      port.close(3002, "again");
      send("late");
      expect([told, counts().sent]).toEqual([deliver ? [] : [[3001, "bye"]], 0]);
    }
  });

  test("has the reason for which this side cut its last socket, and not that of one before", () => {
    vi.useFakeTimers();
    try {
      const pace = { room: 1, most: 100, stall: 50 };
      for (const [code, again, cause, isCut = true] of [
        [1006, false, expect.objectContaining({ code: "slow_reader" })],
        [1000, false, undefined],
        [1006, true, undefined],
        [1006, true, undefined, false],
      ] as const) {
        const { it, send, told, listen } = conversation({ pace });
        listen();
        const first = socket();
        it.attach(first.port, 0);
        first.hold(100);
        send("a");
        vi.advanceTimersByTime(1000);
        expect([first.sent, it.cut]).toEqual([["a", "cut"], true]);
        if (again) {
          const second = socket();
          it.attach(second.port, 1);
          if (isCut) second.end(1006);
        }
        it.end(code, "over");
        expect(told).toEqual([[code, "over", cause]]);
      }
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("A durable port without a socket", () => {
  const pace = { room: 3, most: 100, stall: 1000 };

  test("has room for as much as its pace says, anew after each socket", async () => {
    const { it, port, send } = conversation({ pace, limit: 100 });
    const rooms = new Set<unknown>();
    for (let round = 0; round < 2; round++) {
      send("123");
      expect(port.room!()).toBeUndefined();
      send("4");
      const room = port.room!();
      expect(room).toBeInstanceOf(Promise);
      expect(port.room!()).toBe(room);
      rooms.add(room);
      it.attach(socket().port, it.sent);
      await room;
      expect(port.room!()).toBeUndefined();
      it.detach();
      expect(port.room!()).toBeUndefined();
    }
    expect(rooms.size).toBe(2);
  });

  test.each(["its end", "its close"])("lets nobody wait after %s", async (how) => {
    const { it, port, send } = conversation({ pace, limit: 100, deliver: true });
    send("1234");
    const room = port.room!();
    if (how === "its end") {
      it.end(1006, "");
      await room;
    } else port.close(1000, "");
    expect(port.room!()).toBeUndefined();
  });

  test("has room for its limit where it has no pace, is not full, and has nothing to flush", () => {
    const { port, send } = conversation({ limit: 4 });
    expect([port.full!(), port.flushed!()]).toEqual([false, undefined]);
    send("1234");
    expect(port.room!()).toBeUndefined();
    send("5");
    expect([port.room!() instanceof Promise, port.full!(), port.flushed!()]).toEqual([true, false, undefined]);
  });

  test("is as full as its next socket then, and waits for that", async () => {
    const { it, port, send } = conversation({ pace, limit: 1000 });
    const slow = socket();
    it.attach(slow.port, 0);
    slow.hold(100);
    send("a");
    expect([port.full!(), port.room!() instanceof Promise]).toEqual([false, true]);
    send("b");
    expect(port.full!()).toBe(true);
    const [room, flushed] = [port.room!(), port.flushed!()];
    expect(flushed).toBeInstanceOf(Promise);
    it.detach();
    await Promise.all([room, flushed]);
    expect([port.full!(), port.flushed!()]).toEqual([false, undefined]);
  });
});
