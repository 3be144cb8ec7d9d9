import type { Effort } from "./effort.js";
import { looseLine } from "./normal.js";
import { lastUpTo } from "./sorted.js";

/** Where the lines of a text stand that name its parts. */
export interface Outline {
  /** Columns of white space in front of each line, -1 for a blank one. */
  readonly indents: readonly number[];
  /** The last row that is not blank. */
  readonly last: number;
  /** Rows of the lines that are this one up to white space, or else of those that begin with it. */
  readonly find: (line: string) => readonly number[];
  /** Whether a line of the same kind (equal indentation, equal first word) stands between two rows. */
  readonly hasLike: (row: number, from: number, to: number) => boolean;
}

const TAB = 8;
/** A section of a unified diff may be cut off: from this length on a line that begins with it is meant. */
const CUT = 40;

export function readOutline(lines: readonly string[], effort: Effort): Outline {
  const indents = lines.map(measure);
  let rows: Map<string, number[]> | undefined;
  let sorted: string[] | undefined;

  function find(line: string): readonly number[] {
    const sought = looseLine(line);
    if (sought === "") return [];
    rows ??= groupRows(lines);
    const equal = rows.get(sought);
    if (equal) return equal;
    sorted ??= [...rows.keys()].sort();
    const found: number[] = [];
    for (let i = lastUpTo(sorted, sought) + 1; sorted[i]?.startsWith(sought); i++) {
      const key = sorted[i]!;
      if (sought.length >= CUT || !/\w$/.test(sought) || !/\w/.test(key[sought.length]!))
        for (const row of rows.get(key)!) found.push(row);
    }
    effort.left -= found.length;
    return effort.left < 0 ? [] : found.sort((a, b) => a - b);
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

  return { indents, last: indents.findLastIndex((indent) => indent >= 0), find, hasLike };
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
