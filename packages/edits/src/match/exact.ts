import { countLines } from "../hunk.js";
import type { Hunk } from "../patch.js";
import type { ApplyResult, Rung } from "../result.js";
import { hintOf, takeApart } from "../sides.js";
import { type Splice, spliceText } from "../splice.js";
import { hasAddress, readAddress } from "./address.js";
import { isNear } from "./settle.js";
import { type Effort, lastUpTo, lineStarts, readTarget, startEffort } from "./target.js";

/**
 * The result where all hunks stand byte for byte and say nothing of their places that is against them; else null. The first time
 * each has to stand where it says.
 */
export function stand(
  hunks: readonly Hunk[],
  text: string,
  given: readonly Rung[],
  isFirst: boolean,
): ApplyResult | null {
  if (hunks.some(isMixed)) return null;
  const inPlace = isFirst || given.length > 0 ? standInPlace(hunks, text) : null;
  const standing = inPlace ?? (isFirst ? null : standMoved(hunks, text));
  return standing && agrees(standing, hunks, text) ? writeStanding(standing, hunks, text, given) : null;
}

/** Lines that were typed, and not made by a diff, some with a carriage return: new ones get the ends of their place. */
function isMixed({ oldStart, lines }: Hunk): boolean {
  return oldStart === null && lines.some((line) => line.endsWith("\r") !== lines[0]!.endsWith("\r"));
}

/** Whether the hunks say nothing of their places that is against these. */
function agrees({ rows }: Standing, hunks: readonly Hunk[], text: string): boolean {
  if (!hunks.some(hasAddress)) return true;
  const target = readTarget(text, hunks);
  return hunks.every((hunk, i) => {
    if (!hasAddress(hunk)) return true;
    const sides = takeApart(hunk);
    const own = sides.old.map((_, line) => rows[i]! + line);
    const address = readAddress(sides, target);
    return !address || (address.inside(rows[i]!, own) && !address.contradicted(rows[i]!, own));
  });
}

function writeStanding(
  { rows, splices }: Standing,
  hunks: readonly Hunk[],
  text: string,
  repairs: readonly Rung[],
): ApplyResult {
  const applied = hunks.map((hunk, i) => {
    const row = rows[i]!;
    const offset = row - (hintOf(hunk) ?? row);
    return { id: hunk.id, at: row + 1, offset, repairs: offset === 0 ? repairs : ["place" as const, ...repairs] };
  });
  return { ok: true, text: spliceText(text, splices), hunks: applied };
}

const LINE_FEED = 10;
const PLUS = 43;
const MINUS = 45;

/** Limits on searches of the whole text for moved hunks, and on the places that one search examines. */
const SEARCHES = 16;
const LOOKS = 1000;
/** The most characters of a line to search for: at worst the engine's search takes time for each of them. */
const SOUGHT = 200;

/** Byte-for-byte places of hunks: the line of each in the text, counted from 0, and its splices. */
export interface Standing {
  readonly rows: readonly number[];
  readonly splices: readonly Splice[];
}

/** Places hunks that all stand exactly at their numbers; else null. One pass, without splitting the text. */
function standInPlace(hunks: readonly Hunk[], text: string): Standing | null {
  const rows: number[] = [];
  const splices: Splice[] = [];
  let row = 0;
  let at = 0;
  for (const [i, hunk] of hunks.entries()) {
    if (endsText(hunks[i - 1])) return null;
    const hint = hintOf(hunk) ?? -1;
    for (; row < hint; row++) {
      at = text.indexOf("\n", at) + 1;
      if (at === 0) return null;
    }
    const end = row === hint ? matchOld(hunk, text, at) : -1;
    if (end < 0 || !isFramed(hunk, text, at, end) || !write(hunk, text, at, splices)) return null;
    rows.push(row);
    at = end;
    for (const line of hunk.lines) if (line.charCodeAt(0) !== PLUS) row++;
  }
  return { rows, splices };
}

/**
 * Hunks that all stand exactly somewhere, in order and apart, some of them moved; null where that is not beyond doubt. One
 * that moved is nowhere else, or stands as far from its line as the hunk before it; and it is not also where its own number or
 * the distance of another hunk says. So `settle` would put it there too: this is how to know without looking at every line.
 */
export function standMoved(hunks: readonly Hunk[], text: string): Standing | null {
  const starts = lineStarts(text);
  const rows: number[] = [];
  const splices: Splice[] = [];
  const searched = new Set<Hunk>();
  const drifts = new Set([0]);
  const effort = startEffort(starts.length);
  let drift = 0;
  let furthest = 0;
  for (const [i, hunk] of hunks.entries()) {
    if (endsText(hunks[i - 1])) return null;
    const hint = hintOf(hunk);
    let row = hint === null ? -1 : hint + drift;
    let at = starts[row] ?? -1;
    let end = at < 0 ? -1 : matchOld(hunk, text, at, effort);
    if (end < 0) {
      at = searched.size < SEARCHES ? findOnly(hunk, text, effort) : -1;
      if (at < 0) return null;
      end = matchOld(hunk, text, at, effort);
      row = lastUpTo(starts, at);
      searched.add(hunk);
      if (hint !== null) {
        drift = row - hint;
        drifts.add(drift);
      }
    }
    // One that stands as far from its number as the hunk before it has not been applied there.
    if (searched.has(hunk) && standsNew(hunk, text, starts, drifts, effort)) return null;
    if (at < furthest || (end === at && row !== hint)) return null;
    // Among hunks that moved, the end of the text is no proof that a number is right.
    if (!(row === hint && isFramed(hunk, text, at, -1)) && mayBeApplied(hunk, text, row, starts, effort)) return null;
    const count = splices.length;
    if (!write(hunk, text, at, splices) || (count > 0 && splices[count]?.from === splices[count - 1]!.to)) return null;
    rows.push(row);
    furthest = end;
  }
  for (const [i, hunk] of hunks.entries()) {
    const hint = hintOf(hunk);
    if (hint === null) continue;
    const sides = searched.has(hunk) ? takeApart(hunk) : null;
    for (const drift of drifts) {
      const named = hint + drift;
      const at = starts[named];
      if (at === undefined || named === rows[i]) continue;
      if (sides) effort.left -= hunk.lines.length;
      if (sides ? isNear(sides, { text, starts }, named, rows[i]!) : matchOld(hunk, text, at, effort) >= 0) return null;
    }
  }
  return effort.left < 0 ? null : { rows, splices };
}

/** Whether the new lines stand where the numbers point, so that the old ones elsewhere may be others. */
function standsNew(hunk: Hunk, text: string, starts: readonly number[], drifts: Set<number>, effort: Effort): boolean {
  // A header that says line 0 means the first.
  const named = [hintOf(hunk) ?? -1, Math.max(0, (hunk.newStart ?? 0) - 1)];
  for (const row of named)
    for (const drift of drifts) {
      const at = starts[row + drift];
      if (at !== undefined && matchSide(hunk.lines, MINUS, text, at, effort) >= 0) return true;
    }
  return false;
}

/** Offset behind the hunk's old side, if that stands at this offset; else -1. */
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

/** Context on both sides, or none at all, or the end of the text in its place: there the hunk's own number is good. */
function isFramed({ lines }: Hunk, text: string, at: number, end: number): boolean {
  const leading = isContext(lines[0]);
  const trailing = isContext(lines.at(-1));
  return leading === trailing || (leading ? end === text.length : at === 0);
}

/** Do the new lines stand around this place, with the old ones as a part of them? A longer old side proves that they do not. */
function mayBeApplied({ lines }: Hunk, text: string, row: number, starts: readonly number[], effort: Effort): boolean {
  const count = countLines(lines);
  if (count.old === 0) return false;
  for (let at = row - (count.new - count.old); at <= row && count.new > count.old; at++)
    if (at >= 0 && matchSide(lines, MINUS, text, starts[at]!, effort) >= 0) return true;
  return false;
}

/** The one offset at which the old side stands; -1 where there are none or several, or too many to look at. */
function findOnly(hunk: Hunk, text: string, effort: Effort): number {
  let longest = "";
  let length = 0;
  let before = 0;
  for (const line of hunk.lines) {
    if (line.charCodeAt(0) === PLUS) continue;
    if (line.length > longest.length) [longest, before] = [line, length];
    length += line.length;
  }
  const sought = longest.slice(1, SOUGHT);
  let only = -1;
  let looks = 0;
  for (let found = text.indexOf(sought); found >= 0; found = text.indexOf(sought, found + 1)) {
    if (++looks > LOOKS) return -1;
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

/** Adds the splices of a hunk that stands at this offset. False where its lines are at odds about the end of the text. */
function write({ lines, oldNoNewline, newNoNewline }: Hunk, text: string, start: number, splices: Splice[]): boolean {
  let at = start;
  let from = start;
  let insert = "";
  for (const line of lines) {
    const mark = line.charCodeAt(0);
    if (mark === PLUS) {
      insert += `${line.slice(1)}\n`;
      continue;
    }
    if (mark !== MINUS) {
      if (at > from || insert !== "") splices.push({ from, to: at, insert });
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
  // Behind a last line without a line feed an inserted line would be glued to it.
  if (insert !== "" && from === text.length && from > 0 && text.charCodeAt(from - 1) !== LINE_FEED) return false;
  if (to > from || insert !== "") splices.push({ from, to, insert });
  return true;
}

/** Whether nothing can follow the hunk. */
function endsText(hunk: Hunk | undefined): boolean {
  return hunk?.newNoNewline === true;
}

function isContext(line: string | undefined): boolean {
  const mark = line?.charCodeAt(0);
  return line !== undefined && mark !== PLUS && mark !== MINUS;
}
