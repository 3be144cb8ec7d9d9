import { EventEmitter } from "node:events";
import { type ByteSource, encodeLine, LineDecoder, type LineEvents, LineReader } from "@parlance/wire/lines";
import { describe, expect, it, vi } from "vitest";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Numbers that follow from a seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

describe("encodeLine", () => {
  it.each([
    ['{"a":1}', '{"a":1}\n'],
    ['{\n  "a": 1\r\n}', '{   "a": 1  }\n'],
    ['"\u2028 and \u2029"', '"\\u2028 and \\u2029"\n'],
  ])("writes %j as one line of the same value", (frame, line) => {
    expect(encodeLine(frame)).toBe(line);
    expect(JSON.parse(line)).toEqual(JSON.parse(frame));
  });
});

describe("LineDecoder", () => {
  it("reads the lines that were written, wherever their bytes are split", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const draw = random(seed);
    for (let round = 0; round < 300; round++) {
      const frames = Array.from({ length: draw(6) }, () =>
        JSON.stringify({ text: "aß€😀\n\u2028\\".slice(draw(4)).repeat(draw(40)) }),
      );
      const written = bytes(frames.map((frame) => (draw(2) ? encodeLine(frame) : `${frame}\r\n\n`)).join(""));
      const decoder = new LineDecoder(10_000);
      const read: string[] = [];
      for (let at = 0; at < written.length; ) {
        const end = at + 1 + draw(draw(2) ? 3 : 200);
        read.push(...decoder.decode(written.subarray(at, end)));
        at = end;
      }
      const values = (some: string[]) => some.map((one) => JSON.parse(one));
      expect(values(read), `seed ${seed}`).toEqual(values(frames));
      expect(decoder.rest).toBe(0);
    }
  });

  it("leaves out blank lines and a byte order mark", () => {
    expect(new LineDecoder(100).decode(bytes("\uFEFF1\n\n \t\r\n2\r\n"))).toEqual(["1", "2"]);
  });

  it.each([
    ['{"a":1}', '{"a":1}', 0],
    ["1\n[2]\r", "[2]", 0],
    ['{"a":', undefined, 5],
    ["12", undefined, 2],
    ["", undefined, 0],
    ["1\n", undefined, 0],
    [`{"a":"${"x".repeat(400)}"}`, undefined, 0],
  ])("takes %j as the last line only where it is whole", (text, last, rest) => {
    const decoder = new LineDecoder(100);
    decoder.decode(bytes(text));
    expect(decoder.last()).toBe(last);
    expect(decoder.rest).toBe(rest);
  });

  it("counts the bytes of a line without an end", () => {
    const decoder = new LineDecoder(100);
    expect(decoder.decode(bytes("1\n€"))).toEqual(["1"]);
    expect(decoder.rest).toBe(3);
  });

  it.each(["a", "ß", "€", "😀"])(
    "gives the beginning of a line of %s over the limit before its end, which is over it too",
    (letter) => {
      const decoder = new LineDecoder(10);
      const piece = bytes(letter.repeat(50));
      const lines: string[] = [];
      for (let i = 0; i < 1000; i++) lines.push(...decoder.decode(piece));
      expect(lines).toHaveLength(1);
      lines.push(...decoder.decode(bytes("\n2\n")));
      expect(lines).toHaveLength(2);
      expect(lines[0]!.length).toBeGreaterThan(10);
      expect(lines[0]!.length).toBeLessThanOrEqual(34);
      expect(lines[1]).toBe("2");
    },
  );

  it("makes only those lines invalid that are not UTF-8", () => {
    const wrong = Uint8Array.from([...bytes('1\n"'), 0xff, ...bytes('"\n3\n')]);
    const [first, second, third] = new LineDecoder(100).decode(wrong);
    expect([first, third]).toEqual(["1", "3"]);
    expect(() => JSON.parse(second!)).toThrow();
  });
});

/** A source that a test writes to, and a reader of its frames. */
function opened(on: Partial<LineEvents> = {}, ahead = 10) {
  const source = Object.assign(new EventEmitter(), { paused: false, pause, resume });
  function pause() {
    source.paused = true;
  }
  function resume() {
    source.paused = false;
  }
  const frames: string[] = [];
  const ends: number[] = [];
  const events: LineEvents = { frame: (text) => frames.push(text), end: (rest) => ends.push(rest), ...on };
  const reader = new LineReader(source as unknown as ByteSource, { maxSize: 100, ahead }, events);
  return { source, frames, ends, reader, give: (text: string) => source.emit("data", bytes(text)) };
}

describe("LineReader", () => {
  it("reads on while the reader keeps up, and ends once", () => {
    const { source, frames, ends, give } = opened({ unread: () => 0 });
    give("1\n2\n3");
    source.emit("end");
    source.emit("close");
    expect(frames).toEqual(["1", "2"]);
    expect(ends).toEqual([1]);
  });

  it("reads a last line whose end is missing", () => {
    const { source, frames, ends, give } = opened();
    give('{"a":1}\n{"b":2}');
    source.emit("end");
    expect(frames).toEqual(['{"a":1}', '{"b":2}']);
    expect(ends).toEqual([0]);
  });

  it("waits for a reader that is behind, and ends after its lines", () => {
    vi.useFakeTimers();
    try {
      let unread = 0;
      const { source, frames, ends, reader, give } = opened({ unread: () => unread });
      unread = 8;
      give('"one"\n"two"\n');
      expect(frames).toEqual([]);
      expect([source.paused, reader.isWaiting]).toEqual([true, true]);
      source.emit("end");
      unread = 5;
      vi.advanceTimersByTime(100);
      expect(frames).toEqual(['"one"', '"two"']);
      expect(ends).toEqual([0]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives as much again to a reader that takes nothing for a second", () => {
    vi.useFakeTimers();
    try {
      const { frames, reader, give } = opened({ unread: () => 100 });
      give('1\n2\n"more than the rest"\n');
      vi.advanceTimersByTime(900);
      expect(frames).toEqual([]);
      vi.advanceTimersByTime(300);
      expect(frames).toEqual(["1", "2"]);
      expect(reader.isWaiting).toBe(true);
      reader.stop();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("delivers nothing after it is stopped", () => {
    const { source, frames, ends, reader, give } = opened();
    reader.stop();
    give("1\n");
    source.emit("end");
    expect([frames, ends]).toEqual([[], []]);
  });
});
