import type { Port, PortEvents } from "@parlance/wire";
import { PacedPort } from "@parlance/wire/link";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

// The limits of a paced port, each exactly.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const PIECE = 256 * 1024;
const x = (length: number) => "x".repeat(length);

/** A socket whose unsent bytes a test sets, and what was sent on it. */
function socket({
  room = 100,
  most = 200,
  stall = 1e9,
  ...more
}: Omit<Partial<Port>, "room"> & { room?: number; most?: number; stall?: number } = {}) {
  let buffered = 0;
  let on: PortEvents | undefined;
  const sent: number[] = [];
  const closed: unknown[][] = [];
  const port: Port = {
    send: (frame) => void sent.push(frame.length),
    close: (...how) => void closed.push(how),
    buffered: () => buffered,
    listen: (events) => {
      on = events;
    },
    ...more,
  };
  const paced = new PacedPort(port, { room, most, stall });
  const told: unknown[][] = [];
  paced.listen({ frame() {}, close: (...how) => void told.push(how) });
  return {
    paced,
    sent,
    closed,
    told,
    on: () => on!,
    hold(bytes: number) {
      buffered = bytes;
    },
    waits: () => paced.flushed() !== undefined,
  };
}

describe("A frame is queued", () => {
  test.each([
    [100, 100, false],
    [100, 101, true],
    [PIECE, PIECE, false],
    [PIECE, PIECE + 1, true],
    [4 * PIECE, PIECE, false],
    [4 * PIECE, PIECE + 1, true],
  ])("where the socket, with room for %d, holds %d: %s", (room, bytes, queued) => {
    const { paced, hold, waits, sent } = socket({ room });
    hold(bytes);
    paced.send("a");
    expect([waits(), sent]).toEqual([queued, [1]]);
    paced.send("b");
    expect([sent.length, paced.buffered()]).toEqual([queued ? 1 : 2, bytes + (queued ? 1 : 0)]);
    paced.drop();
  });

  test("after 256 Ki that a socket took at once, anew each time", () => {
    const { paced, waits, sent } = socket({ room: 4 * PIECE });
    for (let round = 0; round < 2; round++) {
      paced.send(x(PIECE - 1));
      paced.send("a");
      expect(waits()).toBe(false);
      paced.send("b");
      expect(waits()).toBe(true);
      paced.send(x(7));
      expect([sent.length, paced.buffered()]).toEqual([4 * round + 3, 7]);
      vi.advanceTimersByTime(1);
      expect([waits(), sent.length, paced.buffered()]).toEqual([false, 4 * round + 4, 0]);
    }
  });

  test("by a socket that does not say what it holds only for that reason", () => {
    const { paced, waits } = socket({ buffered: undefined });
    paced.send(x(PIECE));
    expect([waits(), paced.buffered(), paced.full(), paced.room()]).toEqual([false, 0, false, undefined]);
    paced.send("a");
    expect(waits()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(waits()).toBe(false);
  });
});

test("a port has no room above its room, and is full above its most: each with what is queued", () => {
  const { paced, hold } = socket({ room: 100, most: 200 });
  hold(101);
  paced.send("a");
  hold(50);
  const state = () => [paced.buffered(), paced.room() !== undefined, paced.full()];
  paced.send(x(50));
  expect(state()).toEqual([100, false, false]);
  paced.send("b");
  expect(state()).toEqual([101, true, false]);
  paced.send(x(99));
  expect(state()).toEqual([200, true, false]);
  paced.send("c");
  expect(state()).toEqual([201, true, true]);
  paced.drop();
  // Nothing is queued: the socket alone is never full.
  hold(1000);
  expect(state()).toEqual([1000, false, false]);
});

test("a look writes while the socket holds no more than a piece, and ends when it holds no more than that of the last", () => {
  const held = [101, 101, 101, 100, 101, 101, 100, 100];
  let at = 0;
  const { paced, waits, sent } = socket({ buffered: () => held[Math.min(at++, held.length - 1)]! });
  paced.send(x(1));
  expect([waits(), at]).toEqual([true, 2]);
  for (const size of [2, 3]) paced.send(x(size));
  // It still holds more than a piece.
  vi.advanceTimersByTime(1);
  expect([sent, waits()]).toEqual([[1], true]);
  // It has room, for one frame.
  vi.advanceTimersByTime(2);
  expect([sent, waits()]).toEqual([[1, 2], true]);
  vi.advanceTimersByTime(10);
  expect([sent, waits()]).toEqual([[1, 2, 3], false]);
});

describe("A peer that takes nothing", () => {
  const reason = (bytes: number, stall: number) =>
    expect.objectContaining({
      message: `${bytes} bytes wait to be sent, and the peer has taken none for ${stall} ms`,
      code: "slow_reader",
      retryable: false,
    });

  // The looks are 1, 2, 4, 8 … ms apart.
  test.each([
    [1, 1],
    [2, 3],
    [3, 3],
    [4, 7],
    [7, 7],
    [8, 15],
    [127, 127],
    [128, 227],
    [227, 227],
  ])("for %d ms is cut at the look after %d ms", (stall, after) => {
    const cut = vi.fn();
    const { paced, hold, told, closed, waits } = socket({ stall, cut });
    hold(500);
    paced.send("a");
    paced.close(1000, "bye");
    vi.advanceTimersByTime(after - 1);
    expect([told, cut.mock.calls.length, waits()]).toEqual([[], 0, true]);
    vi.advanceTimersByTime(1);
    expect([told, cut.mock.calls.length, closed, waits()]).toEqual([
      [[1006, "slow reader", reason(500, stall)]],
      1,
      [],
      false,
    ]);
  });

  test("has its whole time again after it has taken something, however little", () => {
    const { paced, hold, told, closed } = socket({ stall: 7 });
    hold(500);
    paced.send("a");
    vi.advanceTimersByTime(6);
    hold(499);
    vi.advanceTimersByTime(1);
    // Seen now: the looks begin anew.
    vi.advanceTimersByTime(6);
    // As much as before, or more, is nothing taken.
    hold(600);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(10);
    expect(told).toEqual([[1006, "slow reader", reason(499, 7)]].map(() => [1006, "slow reader", expect.anything()]));
    // A port without `cut` is closed so that its peer may come again later.
    expect(closed).toEqual([[1013, "slow reader"]]);
  });
});

describe("A paced port that is over", () => {
  test("sends and closes nothing more, and tells its end once", () => {
    const { paced, on, sent, closed, told } = socket();
    on().close(1006, "cut");
    on().close(1000, "again");
    paced.send("a");
    paced.close(1000, "bye");
    expect([sent, closed, told]).toEqual([[], [], [[1006, "cut", undefined]]]);
  });

  test("closes once, at once or after what is queued", () => {
    const { paced, sent, closed } = socket();
    paced.close(3000, "bye");
    paced.close(3001, "again");
    paced.send("late");
    expect([sent, closed]).toEqual([[], [[3000, "bye"]]]);
    const queued = socket();
    queued.hold(101);
    queued.paced.send("a");
    queued.paced.send("b");
    queued.paced.close(3000, "bye");
    queued.paced.send("late");
    queued.paced.close(3001, "again");
    expect([queued.sent.length, queued.closed]).toEqual([1, []]);
    queued.hold(0);
    vi.advanceTimersByTime(1);
    expect([queued.sent.length, queued.closed]).toEqual([2, [[3000, "bye"]]]);
  });

  test("lets go of the waiting messages when its socket fails during a write", async () => {
    const it: { current?: ReturnType<typeof socket> } = {};
    it.current = socket({
      send(frame) {
        if (frame === "fails") it.current!.on().close(1006, "");
      },
    });
    const { paced, hold, told, waits } = it.current;
    hold(101);
    paced.send("a");
    for (const frame of ["fails", "never"]) paced.send(frame);
    const flushed = paced.flushed();
    hold(0);
    vi.advanceTimersByTime(1);
    await flushed;
    expect([told, waits(), paced.buffered(), paced.full()]).toEqual([[[1006, "", undefined]], false, 0, false]);
  });
});
