import { countLines } from "../hunk.js";
import { lineStarts, type Splice, spliceText } from "../lines.js";
import type { Hunk } from "../patch.js";
import type { ApplyResult, Rung } from "../result.js";
import { hintOf, takeApart } from "../sides.js";
import { hasAddress, readAddress } from "./address.js";
import { inARow } from "./search.js";
import { isNear, namedRows } from "./settle.js";
import { type Effort, lastUpTo, readTarget, startEffort } from "./target.js";

const LINE_FEED = 10;
const PLUS = 43;
const MINUS = 45;

const MAX_LOOKS = 1000;
/** The most characters of a line to search for: at worst the engine's search takes time for each of them. */
const MAX_SOUGHT_LENGTH = 200;

/** Byte-for-byte places of hunks: the line of each in the text, counted from 0, and its splices. */
interface Standing {
  readonly rows: readonly number[];
  readonly splices: readonly Splice[];
}

/** The result where all hunks stand byte for byte, the first time each where it says; else null. */
export function stand(
  hunks: readonly Hunk[],
  text: string,
  given: readonly Rung[],
  isFirst: boolean,
): ApplyResult | null {
  // Of lines that were typed, some with a carriage return, new ones get the ends of their place.
  const isMixed = ({ oldStart, lines }: Hunk) =>
    oldStart === null && lines.some((line) => line.endsWith("\r") !== lines[0]!.endsWith("\r"));
  if (hunks.some(isMixed)) return null;
  const inPlace = isFirst || given.length > 0 ? standInPlace(hunks, text) : null;
  const standing = inPlace ?? (isFirst ? null : standMoved(hunks, text));
  if (standing === null || !agrees(standing, hunks, text)) return null;
  const applied = hunks.map((hunk, i) => {
    const row = standing.rows[i]!;
    const offset = row - (hintOf(hunk) ?? row);
    return { id: hunk.id, at: row + 1, offset, repairs: offset === 0 ? given : ["place" as const, ...given] };
  });
  return { ok: true, text: spliceText(text, standing.splices), hunks: applied };
}

/** Whether the hunks say nothing of their places that is against these. */
function agrees({ rows }: Standing, hunks: readonly Hunk[], text: string): boolean {
  if (!hunks.some(hasAddress)) return true;
  const target = readTarget(text, hunks);
  return hunks.every((hunk, i) => {
    const sides = takeApart(hunk);
    const own = inARow(rows[i]!, sides.old);
    const address = readAddress(sides, target);
    return address.inside(rows[i]!, own) && !address.contradicted(rows[i]!, own);
  });
}

/** Places hunks that are all exactly at their numbers; else null. One pass, without splitting the text. */
function standInPlace(hunks: readonly Hunk[], text: string): Standing | null {
  let row = 0;
  let at = 0;
  const offsetOf = (wanted: number) => {
    for (; row < wanted && at >= 0; row++) at = text.indexOf("\n", at) + 1 || -1;
    return row === wanted ? at : -1;
  };
  // With context on both sides, or none at all, or an end of the text in its place, the hunk's own number is good.
  const isFramed = ({ lines }: Hunk, _: number, start: number, end: number) => {
    const [leading, trailing] = [isContext(lines[0]), isContext(lines.at(-1))];
    return leading === trailing || (leading ? end === text.length : start === 0);
  };
  return standAt(hunks, text, 0, offsetOf, isFramed);
}

/** Places hunks that are all exactly as far from their numbers as the first, as `settle` would, without a look at every line. */
export function standMoved(hunks: readonly Hunk[], text: string): Standing | null {
  const [first] = hunks;
  const hint = first && hintOf(first);
  const starts = lineStarts(text);
  const effort = startEffort(starts.length);
  const found = hint == null ? -1 : findOnly(first!, text, effort);
  if (found < 0) return null;
  const drift = lastUpTo(starts, found) - hint!;
  const sides = takeApart(first!);
  const isNewAt = ({ lines }: Hunk, at: number | undefined) =>
    at !== undefined && matchSide(lines, MINUS, text, at, effort) >= 0;
  const isApplied = namedRows(sides, [0, drift]).new.some((row) => isNewAt(first!, starts[row]));
  if (drift === 0 || isApplied || isNear(sides, { text, starts }, hint!, hint! + drift)) return null;
  // Whether the new lines are around a place, with the old ones as a part of them. A longer old side proves that they are not.
  const mayBeApplied = (hunk: Hunk, row: number) => {
    const count = countLines(hunk.lines);
    for (let at = row - (count.new - count.old); at <= row && count.new > count.old; at++)
      if (isNewAt(hunk, starts[at])) return true;
    return count.old === 0;
  };
  const isSure = (hunk: Hunk, row: number) => {
    const isElsewhere = matchOld(hunk, text, starts[row - drift] ?? -1, effort) >= 0;
    return !isElsewhere && !mayBeApplied(hunk, row) && effort.left >= 0;
  };
  const moved = standAt(hunks, text, drift, (row) => starts[row] ?? -1, isSure);
  // Hunks that meet may both insert there.
  return moved?.splices.some(({ from }, i) => from === moved.splices[i - 1]?.to) ? null : moved;
}

/** Places each hunk exactly so many lines behind its number, in order and apart; null where one does not fit. */
function standAt(
  hunks: readonly Hunk[],
  text: string,
  drift: number,
  offsetOf: (row: number) => number,
  isSure: (hunk: Hunk, row: number, at: number, end: number) => boolean,
): Standing | null {
  const rows: number[] = [];
  const splices: Splice[] = [];
  let furthest = 0;
  for (const hunk of hunks) {
    const hint = hintOf(hunk);
    if (hint === null) return null;
    const row = hint + drift;
    const at = offsetOf(row);
    const end = at < furthest ? -1 : matchOld(hunk, text, at);
    if (end < 0 || !isSure(hunk, row, at, end) || !write(hunk, text, at, splices)) return null;
    rows.push(row);
    // Nothing follows a hunk that ends the text.
    furthest = hunk.newNoNewline ? Infinity : end;
  }
  return { rows, splices };
}

/** Offset behind the hunk's old side, if that is at this offset; else -1. */
function matchOld(hunk: Hunk, text: string, at: number, effort?: Effort): number {
  const end = matchSide(hunk.lines, PLUS, text, at, effort);
  // Behind the last line there is a line feed, unless the hunk says there is none.
  return end >= 0 && end > text.length === (hunk.oldNoNewline === true) ? Math.min(end, text.length) : -1;
}

/** Compares all lines but those of one mark; -1 where one differs. One more than the text's length where a line feed is missing at its end. */
function matchSide(lines: readonly string[], but: number, text: string, start: number, effort?: Effort): number {
  let at = start;
  for (const line of lines) {
    if (line.charCodeAt(0) === but) continue;
    if (effort && effort.left-- < 0) return -1;
    const end = at + line.length - 1;
    // Behind the last line feed there is no line, not even an empty one.
    if (at >= text.length || text.slice(at, end) !== line.slice(1)) return -1;
    if (end < text.length ? text.charCodeAt(end) !== LINE_FEED : end > text.length) return -1;
    at = end + 1;
  }
  return at;
}

/** The one offset at which the old side is; -1 where there are none or several, or too many to look at. */
function findOnly(hunk: Hunk, text: string, effort: Effort): number {
  let longest = "";
  let length = 0;
  let before = 0;
  for (const line of hunk.lines) {
    if (line.charCodeAt(0) === PLUS) continue;
    if (line.length > longest.length) [longest, before] = [line, length];
    length += line.length;
  }
  const sought = longest.slice(1, MAX_SOUGHT_LENGTH);
  let only = -1;
  let looks = 0;
  for (let found = text.indexOf(sought); found >= 0; found = text.indexOf(sought, found + 1)) {
    if (++looks > MAX_LOOKS) return -1;
    const at = found - before;
    if (at < 0 || (at > 0 && text.charCodeAt(at - 1) !== LINE_FEED)) continue;
    const end = matchSide(hunk.lines, PLUS, text, at, effort);
    if (end < 0 || (hunk.oldNoNewline && end <= text.length)) continue;
    // A last line without a newline is a place too.
    if (only >= 0 || (end > text.length && !hunk.oldNoNewline)) return -1;
    only = at;
  }
  return only;
}

/** Adds the splices of a hunk that is at this offset. False where its lines are at odds about the end of the text. */
function write({ lines, oldNoNewline, newNoNewline }: Hunk, text: string, start: number, splices: Splice[]): boolean {
  let [at, from, insert] = [start, start, ""];
  for (const line of lines) {
    if (line.charCodeAt(0) === PLUS) {
      insert += `${line.slice(1)}\n`;
      continue;
    }
    if (isContext(line)) {
      addSplice(splices, from, at, insert);
      from = at + line.length;
      insert = "";
    }
    at += line.length;
  }
  const to = Math.min(at, text.length);
  from = Math.min(from, to);
  if (newNoNewline) {
    if (to < text.length || (insert === "" && !(oldNoNewline && from === to))) return false;
    insert = insert.slice(0, -1);
  }
  // A line inserted behind a last line without a line feed would be glued to it.
  const isBehind = from === text.length && from > 0;
  if (insert !== "" && isBehind && !text.endsWith("\n")) return false;
  addSplice(splices, from, to, insert);
  return true;
}

function addSplice(splices: Splice[], from: number, to: number, insert: string): void {
  if (to > from || insert !== "") splices.push({ from, to, insert });
}

function isContext(line: string | undefined): boolean {
  const mark = line?.charCodeAt(0);
  return line !== undefined && mark !== PLUS && mark !== MINUS;
}
