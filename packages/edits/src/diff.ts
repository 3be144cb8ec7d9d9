import type { Lines } from "./lines.js";
import { markChanges } from "./myers.js";

/** Lines `oldStart` to `oldEnd` of the old text (counted from 0, end excluded) became `newStart` to `newEnd` of the new. */
export interface Change {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

export interface DiffOptions {
  /**
   * How many steps the search for one shortest path may take (its time is the square of it), before it settles for a
   * longer one. Default: the square root of the number of lines, at least 256, as git has it. Infinity: always minimal.
   */
  cost?: number;
}

/** The changes that make the old text into the new one, in order, no two touching. */
export function diffLines(before: Lines, after: Lines, options: DiffOptions = {}): Change[] {
  const a = before.lines;
  const b = after.lines;
  const keys = new Map<string, number>();
  const left = intern(before, keys);
  const right = intern(after, keys);
  const removed = new Uint8Array(a.length + 1);
  const added = new Uint8Array(b.length + 1);
  const cost = options.cost ?? Math.max(256, Math.sqrt(a.length + b.length));
  markChanges(
    left,
    right,
    (at) => (removed[at] = 1),
    (at) => (added[at] = 1),
    cost,
  );
  return collect(removed, added, a.length, b.length);
}

function intern({ lines, newlineAtEnd }: Lines, keys: Map<string, number>): Int32Array {
  const ids = new Int32Array(lines.length);
  for (let i = 0; i < lines.length; i++) {
    // No line holds a line feed, so this makes a last line without one differ from every other.
    const key = i === lines.length - 1 && !newlineAtEnd ? `${lines[i]}\n` : lines[i]!;
    let id = keys.get(key);
    if (id === undefined) keys.set(key, (id = keys.size));
    ids[i] = id;
  }
  return ids;
}

function collect(removed: Uint8Array, added: Uint8Array, oldLength: number, newLength: number): Change[] {
  const changes: Change[] = [];
  let i = 0;
  let j = 0;
  while (i < oldLength || j < newLength) {
    const oldStart = i;
    const newStart = j;
    while (removed[i] === 1) i++;
    while (added[j] === 1) j++;
    if (i > oldStart || j > newStart) changes.push({ oldStart, oldEnd: i, newStart, newEnd: j });
    i++;
    j++;
  }
  return changes;
}
