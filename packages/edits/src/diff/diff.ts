import { markFew } from "./greedy.js";
import { type Interned, internByHash } from "./intern.js";
import { compareNumbers } from "./myers.js";
import { slideChanges } from "./slide.js";
import { commonEnds, isSameRun, type Source } from "./source.js";

/** Lines `oldStart` to `oldEnd` of the old text (counted from 0, end excluded) became `newStart` to `newEnd` of the new. */
export interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

export interface DiffOptions {
  /**
   * Number of steps to search for a shortest path before a longer one is accepted. Time grows with its square.
   * Default: the square root of the number of lines, at least 256, as in git. Infinity: always minimal.
   */
  cost?: number | undefined;
}

export interface LineDiffOptions extends DiffOptions {
  /** Choose among equal places of a change by blank lines and indentation (default), or keep it as low as possible. */
  readable?: boolean | undefined;
}

/** Finds the changes in order, no two touching, as git does. Linear in the lines; any cost gives correct changes. */
export function diffLines(a: Source, b: Source, options: LineDiffOptions = {}): LineChange[] {
  const { start, end } = commonEnds(a, b);
  const aEnd = a.length - end;
  const bEnd = b.length - end;
  // One buffer, because allocating one costs as much as comparing a short text.
  const flags = new Uint8Array(a.length + b.length + 2);
  const removed = flags.subarray(0, a.length + 1);
  const added = flags.subarray(a.length + 1);
  if (!markFew(a, b, start, aEnd, bEnd, removed, added)) {
    markMany(internByHash(a, b, start, aEnd, bEnd), start, options.cost, removed, added);
    // Two lines have the same hashes, once in an age: then all lines are other ones.
    if (!isTrue(a, b, removed, added)) {
      removed.fill(1, start, aEnd);
      added.fill(1, start, bEnd);
    }
  }
  slideChanges(a, removed, added, options.readable ?? true);
  slideChanges(b, added, removed, options.readable ?? true);
  return collect(removed, added, a.length, b.length);
}

function markMany(
  { left, right, size }: Interned,
  start: number,
  limit: number | undefined,
  removed: Uint8Array,
  added: Uint8Array,
): void {
  const keptLeft = keepShared(left, right, size, removed.subarray(start));
  const keptRight = keepShared(right, left, size, added.subarray(start));
  const cost = limit ?? Math.max(256, Math.sqrt(keptLeft.length + keptRight.length));
  const kept = compareNumbers(take(left, keptLeft), take(right, keptRight), cost);
  for (let i = 0; i < keptLeft.length; i++) if (kept.removed[i] === 1) removed[start + keptLeft[i]!] = 1;
  for (let i = 0; i < keptRight.length; i++) if (kept.added[i] === 1) added[start + keptRight[i]!] = 1;
}

function keepShared(numbers: Int32Array, others: Int32Array, size: number, changed: Uint8Array): Int32Array {
  const isShared = new Uint8Array(size);
  for (let i = 0; i < others.length; i++) isShared[others[i]!] = 1;
  const kept = new Int32Array(numbers.length);
  let length = 0;
  for (let i = 0; i < numbers.length; i++) {
    if (isShared[numbers[i]!] === 1) kept[length++] = i;
    else changed[i] = 1;
  }
  return kept.subarray(0, length);
}

function take(numbers: Int32Array, indexes: Int32Array): Int32Array {
  return indexes.map((index) => numbers[index]!);
}

function isTrue(a: Source, b: Source, removed: Uint8Array, added: Uint8Array): boolean {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    while (removed[i] === 1) i++;
    while (added[j] === 1) j++;
    const from = i;
    const other = j;
    while (i < a.length && j < b.length && removed[i] === 0 && added[j] === 0) {
      i++;
      j++;
    }
    if (!isSameRun(a, from, b, other, i - from)) return false;
  }
  return true;
}

function collect(removed: Uint8Array, added: Uint8Array, oldLength: number, newLength: number): LineChange[] {
  const changes: LineChange[] = [];
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
