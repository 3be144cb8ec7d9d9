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
  const seen = new Map<string, number>();
  return hunks.map((hunk) => {
    const name = digest(hunk.lines.join("\n"));
    const ordinal = seen.get(name) ?? 0;
    seen.set(name, ordinal + 1);
    return { id: numbered(name, ordinal), ...hunk };
  });
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

function numbered(name: string, ordinal: number): string {
  return ordinal === 0 ? name : `${name}-${ordinal + 1}`;
}

function digest(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low ^= high >>> 15;
  high ^= Math.imul(low ^ (low >>> 13), 0x2c1b3c6d);
  return (low >>> 0).toString(16).padStart(8, "0") + (high >>> 16).toString(16).padStart(4, "0");
}
