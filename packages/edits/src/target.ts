import { splitLines } from "./lines.js";
import { looseLine } from "./normal.js";

/** A text as hunks are matched against it: its lines, where they start, and how much searching it may still cost. */
export interface Target {
  readonly text: string;
  readonly lines: readonly string[];
  /** See `lineStarts`. */
  readonly starts: readonly number[];
  readonly newlineAtEnd: boolean;
  /** Line comparisons left: what keeps the time linear on texts that repeat themselves. */
  readonly effort: { left: number };
}

export function readTarget(text: string): Target {
  const { lines, newlineAtEnd } = splitLines(text);
  return { text, lines, starts: lineStarts(text), newlineAtEnd, effort: { left: 100_000 + 50 * lines.length } };
}

/** Offset at which each line starts, and one more: the text's length. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

/** The last of sorted numbers that is at most this one, as an index; -1 where all are larger. */
export function lastUpTo(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Do these lines stand at this offset up to white space? */
export function fitsLoosely(lines: readonly string[], text: string, start: number): boolean {
  let at = start;
  return lines.every((line) => {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    const fits = at < text.length && looseLine(line) === looseLine(text.slice(at, end));
    at = end + 1;
    return fits;
  });
}

/** Lines under a normalisation, and where those that are looked for stand. */
export interface LineIndex {
  readonly keys: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** Only lines that some hunk asks for are indexed; one pass over the text serves all hunks. */
export function indexLines(
  lines: readonly string[],
  key: ((line: string) => string) | null,
  wanted: ReadonlySet<string>,
): LineIndex {
  const places = new Map<string, number[]>();
  const keys = key ? lines.map(key) : lines;
  for (let i = 0; i < keys.length; i++) {
    const line = keys[i]!;
    if (!wanted.has(line)) continue;
    const known = places.get(line);
    if (known) known.push(i);
    else places.set(line, [i]);
  }
  return { keys, places };
}

/** The line of a pattern by which its places are looked up: the longest, as long lines are seldom common. */
export function keyLine(pattern: readonly string[]): string {
  let longest = "";
  for (const line of pattern) if (line.length > longest.length) longest = line;
  return longest;
}

/** Every index at which the pattern's keys stand in a row. Null when the effort ran out. */
export function findRows(pattern: readonly string[], index: LineIndex, effort: { left: number }): number[] | null {
  const line = keyLine(pattern);
  const offset = pattern.indexOf(line);
  const rows: number[] = [];
  for (const place of index.places.get(line) ?? []) {
    const at = place - offset;
    if (at < 0 || at + pattern.length > index.keys.length) continue;
    let i = 0;
    while (i < pattern.length && index.keys[at + i] === pattern[i]) i++;
    effort.left -= i + 1;
    if (effort.left < 0) return null;
    if (i === pattern.length) rows.push(at);
  }
  return rows;
}
