import { splitLines } from "./lines.js";

/** A text as hunks are matched against it: its lines, where they start, and how much searching it may still cost. */
export interface Target {
  readonly text: string;
  readonly lines: readonly string[];
  /** Offset at which each line starts, and one more: the text's length. */
  readonly starts: Int32Array;
  readonly newlineAtEnd: boolean;
  /** Line comparisons left: what keeps the time linear on texts that repeat themselves. */
  readonly effort: { left: number };
}

/** A byte order mark belongs to no line, unless the patch itself writes one. */
export function readTarget(text: string, keepMark: boolean): Target {
  const start = !keepMark && text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const { lines, newlineAtEnd } = splitLines(start ? text.slice(1) : text);
  const starts = new Int32Array(lines.length + 1);
  let at = start;
  for (let i = 0; i < lines.length; i++) {
    starts[i] = at;
    at += lines[i]!.length + 1;
  }
  starts[lines.length] = text.length;
  return { text, lines, starts, newlineAtEnd, effort: { left: 100_000 + 50 * lines.length } };
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
