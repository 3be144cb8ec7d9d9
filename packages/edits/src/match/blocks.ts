import type { Effort } from "./effort.js";
import { looseLine } from "./normal.js";

/** A line and the lines in its block: from the line itself up to `end`, which is the first line behind them. */
export interface Block {
  readonly row: number;
  readonly end: number;
}

/** The blocks of a text as its indentation shows them, and where the lines stand that name them. */
export interface Blocks {
  /** The last row that is not blank. */
  readonly last: number;
  /** Rows of the lines that are this one up to white space, or else of those that begin with it. */
  readonly find: (line: string) => readonly number[];
  /** The line behind the block that a line opens. One that opens none stands for what follows it in its own block. */
  readonly endOf: (row: number) => number;
  /** Whether a line of the same kind (equal indentation, equal first word) stands between two rows. */
  readonly hasLike: (row: number, from: number, to: number) => boolean;
}

/** Lines at the indentation of a block's first line that go on with the block. */
const GOES_ON =
  /^(?:[)\]}{,:]|\*\/|end[;.,)]*\s*$|(?:else|elif|elsif|except|catch|finally|rescue|ensure|then)\b|#(?:if|else|elif|endif|define|undef))/;
/** A line that opens a part of a configuration file. */
const BRACKETS = /^\[.*\]\s*$/;
const TAB = 8;
/** A section of a unified diff may be cut off: from this length on a line that begins with it is meant. */
const CUT = 40;

export function readBlocks(lines: readonly string[], effort: Effort): Blocks {
  const indents = lines.map(measure);
  let rows: Map<string, number[]> | undefined;
  let sorted: { readonly key: string; readonly row: number }[] | undefined;
  let ends: { readonly inner: Int32Array; readonly outer: Int32Array } | undefined;

  function find(line: string): readonly number[] {
    const sought = looseLine(line);
    if (sought === "") return [];
    rows ??= groupRows(lines);
    const equal = rows.get(sought);
    if (equal) return equal;
    sorted ??= [...rows]
      .flatMap(([key, all]) => all.map((row) => ({ key, row })))
      .sort((a, b) => compare(a.key, b.key));
    let low = 0;
    for (let high = sorted.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (compare(sorted[middle]!.key, sought) < 0) low = middle + 1;
      else high = middle;
    }
    const found: number[] = [];
    for (; sorted[low]?.key.startsWith(sought); low++) {
      const { key, row } = sorted[low]!;
      if (sought.length >= CUT || !/\w$/.test(sought) || !/\w/.test(key[sought.length]!)) found.push(row);
    }
    effort.left -= found.length;
    return effort.left < 0 ? [] : found.sort((a, b) => a - b);
  }

  function endOf(row: number): number {
    ends ??= findEnds(lines, indents);
    const inner = ends.inner[row]!;
    let next = row + 1;
    while (next < inner && (indents[next]! < 0 || GOES_ON.test(lines[next]!.trimStart()))) next++;
    if (next < inner) return inner;
    return findMarkedEnd(lines, row, ends.outer[row]!, effort);
  }

  function hasLike(row: number, from: number, to: number): boolean {
    const word = firstWord(lines[row]!);
    if (word === "") return false;
    for (let i = Math.max(from, row + 1); i < to; i++) {
      if (--effort.left < 0) return false;
      if (indents[i] === indents[row] && firstWord(lines[i]!) === word) return true;
    }
    return false;
  }

  return { last: indents.findLastIndex((indent) => indent >= 0), find, endOf, hasLike };
}

/** The end of a block that is not indented: one that a heading, a bracket or a brace shows, or the rest of the block around. */
function findMarkedEnd(lines: readonly string[], row: number, outer: number, effort: Effort): number {
  const line = lines[row]!.trimStart();
  const level = (/^(#{1,6})\s/.exec(line)?.[1] ?? "").length;
  const head = level > 0 ? new RegExp(`^#{1,${level}}\\s`) : BRACKETS.test(line) ? BRACKETS : null;
  let depth = braces(line);
  if (head === null && depth <= 0) return outer;
  for (let i = row + 1; i < outer; i++) {
    if (--effort.left < 0) return row + 1;
    if (head?.test(lines[i]!.trimStart())) return i;
    depth += braces(lines[i]!);
    if (head === null && depth <= 0) return i + 1;
  }
  return outer;
}

/** For each line the first one behind it that is no further indented and opens something new, and the first that is less indented. */
function findEnds(lines: readonly string[], indents: readonly number[]) {
  const inner = new Int32Array(lines.length).fill(lines.length);
  const outer = new Int32Array(lines.length).fill(lines.length);
  const inners: number[] = [];
  const outers: number[] = [];
  for (const [row, indent] of indents.entries()) {
    if (indent < 0) continue;
    const goesOn = GOES_ON.test(lines[row]!.trimStart());
    while (inners.length > 0 && indents[inners.at(-1)!]! >= indent + (goesOn ? 1 : 0)) inner[inners.pop()!] = row;
    while (outers.length > 0 && indents[outers.at(-1)!]! > indent) outer[outers.pop()!] = row;
    inners.push(row);
    outers.push(row);
  }
  return { inner, outer };
}

function groupRows(lines: readonly string[]): Map<string, number[]> {
  const rows = new Map<string, number[]>();
  for (const [row, line] of lines.entries()) {
    const key = looseLine(line);
    const known = rows.get(key);
    if (known) known.push(row);
    else rows.set(key, [row]);
  }
  return rows;
}

/** Columns of white space in front, -1 for a blank line. */
function measure(line: string): number {
  let columns = 0;
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    if (code === 32) columns++;
    else if (code === 9) columns += TAB - (columns % TAB);
    else return code === 13 && i === line.length - 1 ? -1 : columns;
  }
  return -1;
}

function firstWord(line: string): string {
  return /^\s*([\p{L}_$@][\p{L}\p{N}_$]*)/u.exec(line)?.[1] ?? "";
}

function braces(line: string): number {
  let depth = 0;
  for (const char of line)
    if (char === "{") depth++;
    else if (char === "}") depth--;
  return depth;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
