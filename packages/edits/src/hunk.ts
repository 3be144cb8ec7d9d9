import type { Hunk } from "./patch.js";

/**
 * The id of a hunk: a 48-bit hash of its lines as twelve hexadecimal digits, then an ordinal if the same lines occur
 * again in the file. It does not depend on the place, so it survives a re-read and a move. Not cryptographic.
 */
export function hunkId(lines: readonly string[]): string {
  return hashText(lines.join("\n"));
}

/** Gives the hunks of one file their ids; equal hunks are told apart by their order. */
export function identifyHunks(hunks: readonly Omit<Hunk, "id">[]): Hunk[] {
  const tellApart = ordinals();
  return hunks.map((hunk) => ({ ...hunk, id: tellApart(hunkId(hunk.lines)) }));
}

/** Tells equal hunks of one file apart by their order. */
export function ordinals(): (name: string) => string {
  const seen = new Map<string, number>();
  return (name) => {
    const ordinal = seen.get(name) ?? 0;
    seen.set(name, ordinal + 1);
    return ordinal === 0 ? name : `${name}-${ordinal + 1}`;
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

/** Hashes parts of one text. A long ASCII text is encoded once for all of them. */
export function hashParts(text: string): (start: number, end: number) => string {
  const encoded = text.length > 10_000 ? encoder.encode(text) : null;
  if (encoded?.length !== text.length) return (start, end) => hashText(text.slice(start, end));
  const view = new DataView(encoded.buffer, encoded.byteOffset);
  return (start, end) => hash(view, start, end);
}

/** The id of a hunk by its lines with line feeds between them. */
export function hashText(text: string): string {
  if (scratch.bytes.length < 3 * text.length) scratch = makeScratch(6 * text.length);
  return hash(scratch.view, 0, encoder.encodeInto(text, scratch.bytes).written);
}

function hash(view: DataView, start: number, end: number): string {
  let low = 0x811c9dc5;
  let high = end - start;
  for (let i = start; i < end; ) {
    const wide = end - i >= 8;
    const first = wide ? view.getInt32(i, true) : view.getUint8(i);
    const second = wide ? view.getInt32(i + 4, true) : 0;
    i += wide ? 8 : 1;
    low = Math.imul(low ^ first ^ Math.imul(second, 0x2c1b3c6d), 0x01000193);
    low ^= low >>> 15;
    high = Math.imul(high ^ second ^ Math.imul(first, 0x297a2d39), 0x5f356495);
    high ^= high >>> 13;
  }
  low = Math.imul(low ^ (high >>> 16), 0x2c1b3c6d);
  return `${HEX[low >>> 24]}${HEX[(low >>> 16) & 255]}${HEX[(low >>> 8) & 255]}${HEX[low & 255]}${HEX[high >>> 24]}${HEX[(high >>> 16) & 255]}`;
}

function makeScratch(size: number): { bytes: Uint8Array<ArrayBuffer>; view: DataView } {
  const bytes = new Uint8Array(size);
  return { bytes, view: new DataView(bytes.buffer) };
}

// Marked as pure, so that a bundler leaves them out, and what they use, where no id is made.
const HEX = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const encoder = /* @__PURE__ */ new TextEncoder();
let scratch = /* @__PURE__ */ makeScratch(4096);
