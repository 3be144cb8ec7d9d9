import type { Port, PortEvents } from "@parlance/wire";
import { PacedPort } from "@parlance/wire/link";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { disconnected } from "../src/errors.js";
import { sendAll } from "../src/send-all.js";

const STALL = 1000;
const pace = { room: 100, most: 200, stall: STALL };
const FRAME = "x".repeat(30);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A socket that keeps what it is sent until a test takes it. */
function socket() {
  let waiting: string[] = [];
  const taken: string[] = [];
  const port: Port = {
    send: (frame) => void waiting.push(frame),
    close: (code) => void waiting.push(`close ${code}`),
    cut: () => void waiting.push("cut"),
    buffered: () => waiting.reduce((sum, { length }) => sum + length, 0),
    listen() {},
  };
  const take = (count = waiting.length) => {
    taken.push(...waiting.slice(0, count));
    waiting = waiting.slice(count);
  };
  const paced = new PacedPort(port, pace);
  const close = vi.fn<PortEvents["close"]>();
  paced.listen({ frame() {}, close });
  return { paced, close, taken, take, holds: () => [...waiting] };
}

describe("A paced port", () => {
  it("gives its socket no more than a piece at a time, all frames in order, and the close after them", () => {
    const { paced, taken, take, holds } = socket();
    const frames = Array.from({ length: 50 }, (_, i) => `${i} ${FRAME}`);
    for (const frame of frames) paced.send(frame);
    paced.close(1000, "");
    for (let looks = 0; looks < 100; looks++) {
      expect(holds().join("").length).toBeLessThan(pace.room + 40);
      take(1);
      vi.advanceTimersByTime(200);
    }
    expect(taken).toEqual([...frames, "close 1000"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("reports to its socket that a close waits for frames, and closes it alone where none do", () => {
    const closing = vi.fn();
    const close = vi.fn();
    let waiting = 0;
    const send = ({ length }: string) => {
      waiting += length;
    };
    const [behind, idle] = [1, 2].map(
      () => new PacedPort({ send, close, closing, buffered: () => waiting, listen() {} }, pace),
    );
    idle!.close(1000, "");
    expect([closing.mock.calls.length, close.mock.calls.length]).toEqual([0, 1]);
    for (let i = 0; i < 8; i++) behind!.send(FRAME);
    behind!.close(1000, "");
    expect([closing.mock.calls.length, close.mock.calls.length]).toEqual([1, 1]);
    behind!.drop();
  });

  it("has room again when no more than that waits, and is full above its limit", async () => {
    const { paced, take } = socket();
    const states: string[] = [];
    for (let i = 0; i < 8; i++) {
      paced.send(FRAME);
      states.push(paced.full() ? "full" : paced.room() ? "wait" : "room");
    }
    expect(states).toEqual(["room", "room", "room", "wait", "wait", "wait", "full", "full"]);
    const room = vi.fn();
    void paced.room()!.then(room);
    take();
    await vi.advanceTimersByTimeAsync(1);
    expect([room.mock.calls.length, paced.buffered()]).toEqual([0, 120]);
    take(1);
    await vi.advanceTimersByTimeAsync(1);
    expect([room.mock.calls.length, paced.room()]).toEqual([1, undefined]);
  });

  it("cuts a peer that takes nothing for `stall`, and says why", () => {
    const { paced, close, holds } = socket();
    for (let i = 0; i < 6; i++) paced.send(FRAME);
    vi.advanceTimersByTime(STALL * 0.9);
    expect(close).not.toHaveBeenCalled();
    vi.advanceTimersByTime(STALL * 0.3);
    expect(close).toHaveBeenCalledExactlyOnceWith(
      1006,
      "slow reader",
      expect.objectContaining({ code: "slow_reader" }),
    );
    expect(holds().at(-1)).toBe("cut");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not cut a peer that takes a frame now and then, however much is sent meanwhile", () => {
    const { paced, close, take } = socket();
    for (let i = 0; i < 200; i++) {
      paced.send(FRAME);
      paced.send(FRAME);
      take(1);
      vi.advanceTimersByTime(STALL / 2);
    }
    expect(close).not.toHaveBeenCalled();
  });

  it("gives its listener what its socket hears: frames, that the peer is closing, and the close with its cause", () => {
    let on: PortEvents | undefined;
    const port: Port = {
      send() {},
      close() {},
      listen: (events) => {
        on = events;
      },
    };
    const heard: unknown[] = [];
    const paced = new PacedPort(port, pace);
    paced.listen({
      frame: (text) => void heard.push(text),
      close: (...how) => void heard.push(how),
      closing: (...how) => void heard.push(["closing", ...how]),
    });
    on!.frame("a");
    on!.closing!(3000, "bye");
    const cause = disconnected("why", "closed", true);
    on!.close(1006, "cut", cause);
    on!.close(1000, "again");
    paced.send("late");
    expect([heard, paced.buffered()]).toEqual([["a", ["closing", 3000, "bye"], [1006, "cut", cause]], 0]);
  });

  it("lets go of everything when its socket is closed", async () => {
    const { paced } = socket();
    for (let i = 0; i < 6; i++) paced.send(FRAME);
    const waits = Promise.all([paced.room(), paced.flushed()]);
    paced.cut();
    await waits;
    expect([paced.room(), paced.flushed(), paced.full()]).toEqual([undefined, undefined, false]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("A look at a full socket", () => {
  /** The milliseconds from each look to the next. */
  function looking() {
    const times: number[] = [];
    let buffered = 1000;
    const port: Port = {
      send() {},
      close() {},
      buffered() {
        if (times.at(-1) !== Date.now()) times.push(Date.now());
        return buffered;
      },
      listen() {},
    };
    const paced = new PacedPort(port, { ...pace, stall: 1e9 });
    paced.send(FRAME);
    paced.send(FRAME);
    const between = () => times.slice(1).map((time, i) => time - times[i]!);
    const hold = (bytes: number) => {
      buffered = bytes;
      times.splice(0, times.length - 1);
    };
    return { paced, between, hold };
  }

  it("comes later each time while the peer takes nothing, up to 100 ms", () => {
    const { paced, between } = looking();
    vi.advanceTimersByTime(450);
    expect(between()).toEqual([1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
    paced.drop();
  });

  it("comes soon again where it took something, and after all was sent", () => {
    const { paced, between, hold } = looking();
    vi.advanceTimersByTime(127);
    hold(900);
    vi.advanceTimersByTime(100 + 1 + 2);
    expect(between()).toEqual([100, 1, 2]);
    hold(0);
    vi.advanceTimersByTime(4);
    expect([paced.flushed(), paced.buffered()]).toEqual([undefined, 0]);
    hold(1000);
    paced.send(FRAME);
    vi.advanceTimersByTime(1 + 2 + 4);
    expect(between().slice(-3)).toEqual([1, 2, 4]);
    paced.drop();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("thousands of frames that a socket takes slowly arrive each once, in order", () => {
  const { paced, taken, take, holds } = socket();
  const frames = Array.from({ length: 4000 }, (_, i) => `${i}`);
  for (const frame of frames) paced.send(frame);
  for (let looks = 0; looks < 1000 && taken.length < frames.length; looks++) {
    take();
    vi.advanceTimersByTime(1);
    // More comes while others wait.
    if (looks < 200) for (let i = 0; i < 10; i++) paced.send(frames[frames.push(`${frames.length}`) - 1]!);
  }
  expect(taken).toEqual(frames);
  expect([holds(), paced.buffered(), vi.getTimerCount()]).toEqual([[], 0, 0]);
});

test("a port without room waits anew each time, for its reader and for its last frame", async () => {
  const { paced, take } = socket();
  const waits = new Set<unknown>();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 6; i++) paced.send(FRAME);
    const [room, flushed] = [paced.room()!, paced.flushed()!];
    expect([paced.room(), paced.flushed()]).toEqual([room, flushed]);
    expect([paced.room() === room, paced.flushed() === flushed]).toEqual([true, true]);
    waits.add(room).add(flushed);
    while (paced.flushed()) {
      take();
      await vi.advanceTimersByTimeAsync(1);
    }
    take();
    await Promise.all([room, flushed]);
  }
  expect(waits.size).toBe(6);
});

test("a socket that takes everything at once is given no more than 256 Ki characters in one turn", () => {
  const sent: string[] = [];
  const port: Port = { send: (frame) => void sent.push(frame), close() {}, buffered: () => 0, listen() {} };
  const paced = new PacedPort(port, { room: 1e9, most: 2e9, stall: STALL });
  const frame = "x".repeat(64 * 1024);
  for (let i = 0; i < 4; i++) paced.send(frame);
  expect([sent.length, paced.flushed()]).toEqual([4, undefined]);
  for (let i = 0; i < 3; i++) paced.send(frame);
  expect(sent).toHaveLength(5);
  vi.advanceTimersByTime(1);
  expect([sent.length, paced.flushed()]).toEqual([7, undefined]);
});

test("a port tells of its end once, and takes nothing after it", () => {
  let on!: PortEvents;
  const asked: string[] = [];
  const paced = new PacedPort(
    {
      send: (frame) => void asked.push(frame),
      close: (code) => void asked.push(`close ${code}`),
      listen: (events) => {
        on = events;
      },
    },
    pace,
  );
  const close = vi.fn();
  paced.listen({ frame() {}, close });
  on.close(1006, "first");
  on.close(1000, "second");
  paced.send("late");
  paced.close(1000, "");
  expect([close.mock.calls, asked]).toEqual([[[1006, "first", undefined]], []]);
});

/** A source that is left, or not. */
function source<T>(next: () => Promise<IteratorResult<T>>) {
  const left = vi.fn(async () => ({ done: true as const, value: undefined }));
  return { left, messages: { [Symbol.asyncIterator]: () => ({ next, return: left }) } as AsyncIterable<T> };
}

describe("sendAll", () => {
  const onEnd = () => () => {};

  it("sends what an iterable or an async iterable gives, each when there is room", async () => {
    for (const messages of [
      [1, 2, 3],
      (async function* () {
        yield* [1, 2, 3];
      })(),
    ]) {
      const log: string[] = [];
      const send = (message: number) => {
        log.push(`send ${message}`);
        return Promise.resolve().then(() => void log.push(`room ${message}`));
      };
      await sendAll("a channel", messages, { send, onEnd });
      expect(log).toEqual(["send 1", "room 1", "send 2", "room 2", "send 3", "room 3"]);
    }
  });

  it("leaves its source, and fails, where a send fails", async () => {
    const { messages, left } = source(async () => ({ done: false, value: 1 }));
    const failing = sendAll("a channel", messages, { send: () => Promise.reject(new Error("no")), onEnd });
    await expect(failing).rejects.toThrow("no");
    expect(left).toHaveBeenCalledOnce();
  });

  it("leaves a source that has nothing to give when the channel ends", async () => {
    const { messages, left } = source(() => new Promise<never>(() => {}));
    let end = (_: unknown): void => {};
    const failing = sendAll("a channel", messages, {
      send: () => undefined,
      onEnd(stop) {
        end = stop;
        return () => {};
      },
    });
    end(new Error("over"));
    await expect(failing).rejects.toThrow("over");
    expect(left).toHaveBeenCalledOnce();
  });

  it("does not wait for a generator that makes its next message when the channel ends", async () => {
    async function* messages() {
      yield 1;
      await new Promise(() => {});
    }
    let end = (_: unknown): void => {};
    const sent: number[] = [];
    const failing = sendAll("a channel", messages(), {
      send: (one) => {
        sent.push(one);
        return undefined;
      },
      onEnd(stop) {
        end = stop;
        return () => {};
      },
    });
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    end(new Error("over"));
    await expect(failing).rejects.toThrow("over");
    expect(sent).toEqual([1]);
  });

  it("rejects where the source throws", async () => {
    const { messages } = source(() => Promise.reject(new Error("source")));
    await expect(sendAll("a channel", messages, { send: () => undefined, onEnd })).rejects.toThrow("source");
  });

  it.each([7, undefined, null, {}])("rejects %j, which is no iterable, with a sentence", async (messages) => {
    const failing = sendAll("a channel", messages as never, { send: () => undefined, onEnd });
    await expect(failing).rejects.toMatchObject({
      name: "TypeError",
      code: "usage",
      message: expect.stringContaining("a channel: sendAll takes an iterable of messages"),
    });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])("rejects after its source has closed, where a send %s", async (_, send) => {
    const log: string[] = [];
    async function* messages() {
      try {
        yield 1;
        yield 2;
      } finally {
        await Promise.resolve();
        log.push("closed");
      }
    }
    await sendAll("a channel", messages(), { send, onEnd }).catch((error: Error) => log.push(error.message));
    expect(log).toEqual(["closed", "no"]);
  });
});

test("frames that wait keep the process until they are sent, because in memory no socket does", async () => {
  const set = vi.fn(setTimeout);
  vi.stubGlobal("setTimeout", set);
  const { paced, take } = socket();
  paced.send("x".repeat(500));
  expect(set.mock.results.map(({ value }) => (value as unknown as NodeJS.Timeout).hasRef())).toEqual([true]);
  vi.unstubAllGlobals();
  take();
  const flushed = paced.flushed();
  await vi.runAllTimersAsync();
  await flushed;
  expect(vi.getTimerCount()).toBe(0);
});
