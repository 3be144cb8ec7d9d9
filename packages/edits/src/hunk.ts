import type { Hunk } from "./patch.js";

/**
 * The name of a hunk: a 48-bit hash of its lines, as twelve hexadecimal digits, and behind it the ordinal where the same
 * lines come again in one file. It says nothing of the place, so it survives a re-read and a move. Not cryptographic.
 */
export function hunkId(lines: readonly string[], ordinal = 0): string {
  return numbered(digest(lines.join("\n")), ordinal);
}

/** Gives the hunks of one file their ids; equal hunks are told apart by their order. */
export function identifyHunks(hunks: readonly Omit<Hunk, "id">[]): Hunk[] {
  const nextId = hunkIds();
  return hunks.map((hunk) => ({ ...hunk, id: nextId(hunk.lines.join("\n")) }));
}

/** The ids of one file's hunks, one after the other, from their lines with line feeds between them. */
export function hunkIds(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const name = digest(text);
    const ordinal = seen.get(name) ?? 0;
    seen.set(name, ordinal + 1);
    return numbered(name, ordinal);
  };
}

/** How many lines the hunk has on its old and on its new side: the counts of its `@@` line. */
export function countLines(lines: readonly string[]): { old: number; new: number } {
  let removed = 0;
  let added = 0;
  for (const line of lines) {
    const mark = line.charCodeAt(0);
    if (mark === 45 /* - */) removed++;
    else if (mark === 43 /* + */) added++;
  }
  return { old: lines.length - added, new: lines.length - removed };
}

/** The indexes of the last line of each side, -1 where it has none. */
export function lastLines(lines: readonly string[]): { old: number; new: number } {
  return {
    old: lines.findLastIndex((line) => line[0] !== "+"),
    new: lines.findLastIndex((line) => line[0] !== "-"),
  };
}

function numbered(name: string, ordinal: number): string {
  return ordinal === 0 ? name : `${name}-${ordinal + 1}`;
}

/** Of the text's UTF-8 form, eight bytes at a time: a patch is hashed as fast as it is split into lines. */
function digest(text: string): string {
  if (bytes.length < 3 * text.length + 8) {
    bytes = new Uint8Array(8 * (text.length + 8));
    words = new Int32Array(bytes.buffer);
  }
  const { written } = encoder.encodeInto(text, bytes);
  for (let i = written; i < written + 7; i++) bytes[i] = 0;
  const count = (written + 3) >> 2;
  const data = words;
  let low = 0x811c9dc5;
  let high = written;
  for (let i = 0; i < count; i += 2) {
    const first = data[i]!;
    const second = data[i + 1]!;
    low = Math.imul(low ^ first ^ Math.imul(second, 0x2c1b3c6d), 0x01000193);
    low ^= low >>> 15;
    high = Math.imul(high ^ second ^ Math.imul(first, 0x297a2d39), 0x5f356495);
    high ^= high >>> 13;
  }
  low = Math.imul(low ^ (high >>> 16), 0x2c1b3c6d);
  return `${HEX[low >>> 24]}${HEX[(low >>> 16) & 255]}${HEX[(low >>> 8) & 255]}${HEX[low & 255]}${HEX[high >>> 24]}${HEX[(high >>> 16) & 255]}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const encoder = new TextEncoder();
let bytes = new Uint8Array(4096);
let words = new Int32Array(bytes.buffer);
