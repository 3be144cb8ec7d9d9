import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import * as ws from "ws";
import { type Cutter, cutEvents, cutFrames } from "../../src/node/cutter.js";
import { Direction } from "../../src/node/direction.js";

const { Sender } = ws as unknown as {
  readonly Sender: { frame(data: Buffer, options: object): Buffer[] };
};

/** A frame of a client (masked) or of a server. */
function frame(text: string, { mask = false, fin = true, opcode = 1 } = {}): Buffer {
  return Buffer.concat(Sender.frame(Buffer.from(text), { fin, rsv1: false, opcode, mask, readOnly: true }));
}

interface Case {
  readonly cut: () => Cutter;
  readonly messages: readonly Buffer[];
}

const long = "x".repeat(70_000);
const cases: Readonly<Record<string, Case>> = {
  "events that end in LF": {
    cut: cutEvents,
    messages: ["data: a\n\n", ": beat\n\n", "event: b\ndata: {}\n\n"].map((one) => Buffer.from(one)),
  },
  "events that end in CRLF": {
    cut: cutEvents,
    messages: ["data: a\r\n\r\n", "data: b\r\ndata: c\r\n\r\n"].map((one) => Buffer.from(one)),
  },
  "events that end in CR": { cut: cutEvents, messages: ["data: a\r\r", "data: b\r\r"].map((one) => Buffer.from(one)) },
  "frames of a server": { cut: cutFrames, messages: [frame("a"), frame("x".repeat(300)), frame("")] },
  "frames of a client": {
    cut: cutFrames,
    messages: [frame("{}", { mask: true }), frame("é".repeat(100), { mask: true })],
  },
  "frames in fragments": {
    cut: cutFrames,
    messages: [Buffer.concat([frame("ab", { fin: false }), frame("cd", { opcode: 0 })]), frame("e")],
  },
};

/** Every way to cut bytes in two, and byte by byte. */
function* splits(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 0; at <= bytes.length; at++)
    yield [bytes.subarray(0, at), bytes.subarray(at)].filter((one) => one.length > 0);
  yield Array.from(bytes, (byte) => Buffer.from([byte]));
}

describe.each(Object.entries(cases))("%s", (_, { cut, messages }) => {
  test("are cut into the same messages however the bytes arrive, and joined they are the bytes", () => {
    const bytes = Buffer.concat(messages);
    for (const chunks of splits(bytes)) {
      const pieces = chunks.flatMap(cut());
      expect(Buffer.concat(pieces.map((piece) => piece.bytes))).toEqual(bytes);
      const found: Buffer[] = [];
      let held: Buffer[] = [];
      for (const piece of pieces) {
        held.push(piece.bytes);
        if (!piece.last) continue;
        found.push(Buffer.concat(held));
        held = [];
      }
      // The LF of a CRLF that arrives alone belongs to the next message.
      expect(Buffer.concat([...found, ...held])).toEqual(bytes);
      expect(found).toHaveLength(messages.length);
    }
  });

  test("pass a direction that spoils one of them once, and as they are after that", () => {
    for (const how of ["duplicate", "malformed"] as const)
      for (const chunks of splits(Buffer.concat(messages))) {
        const { direction, passed } = directionOf(cut(), cut === cutFrames);
        direction.spoil(how);
        for (const chunk of chunks) direction.pass(chunk);
        const bytes = Buffer.concat(passed);
        const all = Buffer.concat(messages);
        const first = messages[0]!;
        if (how === "duplicate") expect(bytes.length - all.length).toBeLessThanOrEqual(first.length);
        expect(bytes.equals(all)).toBe(false);
        expect(bytes.subarray(-messages.at(-1)!.length)).toEqual(messages.at(-1));
      }
  });
});

function directionOf(cut: Cutter, socket: boolean) {
  const passed: Buffer[] = [];
  const direction = new Direction();
  const source = new PassThrough();
  direction.attach(source, (bytes) => void passed.push(bytes), cut, socket);
  return { direction, passed };
}

test("a direction's own message goes between two of the peer, never into one", () => {
  const { direction, passed } = directionOf(cutFrames(), true);
  const whole = frame("hello");
  direction.pass(whole.subarray(0, 3));
  direction.inject(frame("mine"));
  expect(passed).toEqual([whole.subarray(0, 3)]);
  direction.pass(whole.subarray(3));
  expect(Buffer.concat(passed)).toEqual(Buffer.concat([whole, frame("mine")]));
});

test("a ping passes while a message is held", () => {
  const { direction, passed } = directionOf(cutFrames(), true);
  direction.spoil("duplicate");
  const part = frame("ab", { fin: false });
  direction.pass(part);
  direction.pass(frame("", { opcode: 9 }));
  expect(passed).toEqual([frame("", { opcode: 9 })]);
  direction.pass(frame("cd", { opcode: 0 }));
  expect(passed).toHaveLength(2);
});

test("a long frame's length of eight bytes is read", () => {
  const pieces = cutFrames()(Buffer.concat([frame(long), frame("b")]));
  expect(pieces.map(({ bytes }) => bytes.length)).toEqual([frame(long).length, frame("b").length]);
});
