import type { Hunk } from "../patch.js";
import type { Sides } from "../sides.js";
import { type Effort, lastUpTo, looseLine, type Target } from "./target.js";

/** `inside`: the place fits the anchors and the end of the file. `contradicted`: the section is in the text, but not above the place. */
export interface Address {
  readonly inside: (row: number, rows: readonly number[]) => boolean;
  readonly contradicted: (row: number, rows: readonly number[]) => boolean;
}

/** Whether a hunk has more than numbers and a section for its place. */
export function isAnchored({ anchors, atEnd }: Hunk): boolean {
  return (anchors?.length ?? 0) > 0 || atEnd === true;
}

/** Whether a hunk has more than numbers for its place. */
export function hasAddress(hunk: Hunk): boolean {
  return isAnchored(hunk) || hunk.section !== undefined;
}

/** Whether a hunk that begins at a row, and changes lines from another on, is below some anchors. */
type Below = (row: number, change: number) => boolean;

interface Outlined {
  readonly outline: Outline;
  endOf?: (row: number) => number;
  readonly belows: Map<string, Below>;
}

/** Read once for all hunks of a text. */
const outlines = /* @__PURE__ */ new WeakMap<Target, Outlined>();

/** The address of a hunk: anywhere if it has only numbers. Anchors and the end of the file are looked for in the blocks of the text. */
export function readAddress({ hunk, leading }: Sides, target: Target): Address {
  if (!hasAddress(hunk)) return { inside: () => true, contradicted: () => false };
  const { section, anchors = [], atEnd } = hunk;
  const { lines, effort } = target;
  const known = outlines.get(target) ?? { outline: readOutline(lines, effort), belows: new Map() };
  outlines.set(target, known);
  const { find, hasLike, last } = known.outline;
  const heads = section === undefined ? [] : find(section);
  const below = anchors.length > 0 ? readBelow(anchors, target, known) : null;
  const lastRow = (row: number, rows: readonly number[]) => rows.findLast((each) => each >= 0) ?? row - 1;
  return {
    inside(row, rows) {
      if (atEnd && lastRow(row, rows) < last) return false;
      const change = rows.find((each, i) => i >= leading && each >= 0) ?? lastRow(row, rows) + 1;
      return below === null || below(row, change);
    },
    contradicted(row, rows) {
      if (heads.length === 0) return false;
      const head = heads[lastUpTo(heads, lastRow(row, rows))];
      return head === undefined || (head < row && hasLike(head, head + 1, row));
    },
  };
}

function readBelow(anchors: readonly string[], { lines, effort }: Target, own: Outlined): Below {
  const { find, indents } = own.outline;
  own.endOf ??= readBlocks(lines, indents, effort);
  const { endOf, belows } = own;
  const key = anchors.join("\n");
  const known = belows.get(key);
  if (known) return known;
  // The blocks that are open, and for each the furthest end of it and those before it.
  let starts = [-1];
  let reach = [lines.length];
  for (const anchor of anchors) {
    const inOpen = (row: number) => (reach[lastUpTo(starts, row - 1)] ?? 0) > row;
    const found = find(anchor);
    effort.left -= found.length;
    const inner = (effort.left < 0 ? [] : found).filter(inOpen);
    let furthest = 0;
    reach = inner.map((row) => {
      furthest = Math.max(furthest, endOf(row));
      return furthest;
    });
    starts = inner;
  }
  const below = (row: number, change: number): boolean => {
    const before = lastUpTo(starts, row);
    // It begins in the block, or it shows the anchor itself, if there is one behind its beginning, above what it changes.
    return (before >= 0 && reach[before]! > row) || starts[before + 1]! < change;
  };
  belows.set(key, below);
  return below;
}

export interface Outline {
  /** Columns of white space in front of each line, -1 for a blank one. */
  readonly indents: readonly number[];
  /** The last row that is not blank. */
  readonly last: number;
  /** Rows of the lines that are this one up to white space, or else of those that begin with it. */
  readonly find: (line: string) => readonly number[];
  /** Whether a line of the same kind (equal indentation, equal first word) is between two rows. */
  readonly hasLike: (row: number, from: number, to: number) => boolean;
}

const TAB_WIDTH = 8;
/** A section of a unified diff may be cut off: from this length on a line that begins with it is meant. */
const MIN_CUT_LENGTH = 40;

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
      if (sought.length >= MIN_CUT_LENGTH || !/\w$/.test(sought) || !/\w/.test(key[sought.length]!))
        for (const row of rows.get(key)!) found.push(row);
    }
    effort.left -= found.length;
    return effort.left < 0 ? [] : found.sort((a, b) => a - b);
  }

  function hasLike(row: number, from: number, to: number): boolean {
    const firstWord = (line: string) => /^\s*([\p{L}_$@][\p{L}\p{N}_$]*)/u.exec(line)?.[1] ?? "";
    const word = firstWord(lines[row]!);
    for (let i = Math.max(from, row + 1); word !== "" && i < to; i++) {
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
    else if (code === 9) columns += TAB_WIDTH - (columns % TAB_WIDTH);
    else return code === 13 && i === line.length - 1 ? -1 : columns;
  }
  return -1;
}

/** A line at the indentation of a block's first line goes on with it if it begins with a bracket or the like, or is one of a preprocessor. */
const GOES_ON = /^(?:[)\]}{,:]|\*\/|#\w)/;
/** A line that starts a section of a configuration file. */
const BRACKETS = /^\[.*\]\s*$/;

/** The line behind the block that a line opens. For a line that opens none, the rest of its own block counts. */
export function readBlocks(lines: readonly string[], indents: readonly number[], effort: Effort) {
  const { inner, outer, opening } = findEnds(lines, indents);
  return (row: number) => (opening[row]! < inner[row]! ? inner[row]! : findMarkedEnd(lines, row, outer[row]!, effort));
}

function findMarkedEnd(lines: readonly string[], row: number, outer: number, effort: Effort): number {
  const braces = (line: string) => line.split("{").length - line.split("}").length;
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

function findEnds(lines: readonly string[], indents: readonly number[]) {
  const [inner, outer, opening] = [0, 1, 2].map(() => new Int32Array(lines.length).fill(lines.length)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const [inners, outers]: [number[], number[]] = [[], []];
  const goOn = lines.map((line) => GOES_ON.test(line.trimStart()));
  for (const [row, indent] of indents.entries()) {
    if (indent < 0) continue;
    const least = indent + (goOn[row] ? 1 : 0);
    while (inners.length > 0 && indents[inners.at(-1)!]! >= least) inner[inners.pop()!] = row;
    while (outers.length > 0 && indents[outers.at(-1)!]! > indent) outer[outers.pop()!] = row;
    inners.push(row);
    outers.push(row);
  }
  for (let row = lines.length - 1, next = lines.length; row >= 0; row--) {
    opening[row] = next;
    if (indents[row]! >= 0 && !goOn[row]) next = row;
  }
  return { inner, outer, opening };
}
