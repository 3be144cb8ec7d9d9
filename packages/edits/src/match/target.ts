import { lineStarts, splitLines } from "../lines.js";
import type { Hunk } from "../patch.js";

/** Maps a line to the key that is compared. */
export type Key = (line: string) => string;

export const asIs: Key = (line) => line;

export interface Target {
  readonly text: string;
  readonly lines: readonly string[];
  /** See `lineStarts`. */
  readonly starts: readonly number[];
  readonly newlineAtEnd: boolean;
  readonly hunks: readonly Hunk[];
  readonly indexes: Map<Key, LineIndex>;
  readonly effort: Effort;
  words?: ReadonlySet<string> | undefined;
  step?: number | undefined;
}

/** The text's lines by their keys, and where those stand that some hunk has. */
export interface LineIndex {
  readonly keys: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

export function readTarget(text: string, hunks: readonly Hunk[]): Target {
  const split = splitLines(text);
  const effort = startEffort(split.lines.length);
  return { text, ...split, starts: lineStarts(text), hunks, indexes: new Map(), effort };
}

/** Looks up the lines of all hunks in one pass over the text. */
export function indexBy(key: Key, { lines, hunks, indexes }: Target): LineIndex {
  const known = indexes.get(key);
  if (known) return known;
  const places = new Map<string, number[]>();
  for (const hunk of hunks) for (const line of hunk.lines) places.set(key(line.slice(1)), []);
  const index = { keys: key === asIs ? lines : lines.map(key), places };
  for (let row = 0; row < lines.length; row++) places.get(index.keys[row]!)?.push(row);
  indexes.set(key, index);
  return index;
}

/** What is left of the budget of comparisons that keeps the time linear. */
export interface Effort {
  left: number;
}

export function startEffort(lines: number): Effort {
  return { left: 100_000 + 50 * lines };
}

/** The last of sorted values that is at most this one, as an index; -1 where all are larger. */
export function lastUpTo<Value extends number | string>(sorted: readonly Value[], limit: Value): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Converts quotes, dashes and spaces to their keyboard form. */
export function plainTypography(line: string): string {
  if (!/[^ -~\s]|[\u00a0\u2000-\u205f]/.test(line)) return line;
  return line
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f]/g, " ")
    .replaceAll("\u2026", "...");
}

/** White space at the ends is not compared, and inside a line a run of it counts as one space. */
export function looseLine(line: string): string {
  if (line === "") return line;
  const plain = plainTypography(line).trim();
  // Most lines have single spaces: replacing each by itself would make a new string.
  return /\t| {2}/.test(plain) ? plain.replace(/[ \t]+/g, " ") : plain;
}
