import { endingAt, withoutReturn } from "../lines.js";
import type { ConflictReason, Rung } from "../result.js";
import type { Sides } from "../sides.js";
import { exactStyle, type LineStyle, learnStyle, pairUp } from "./style.js";
import { asIs, indexBy, type Key, lastUpTo, looseLine, plainTypography, readTarget, type Target } from "./target.js";

/** A place for a hunk: the text's line for each of its old lines, or -1 where a context line has no partner. */
export interface Match {
  /** Line of the text, from 0, at which the hunk begins. */
  readonly row: number;
  readonly rows: readonly number[];
  readonly rung: Rung;
  readonly style: LineStyle;
}

export interface Placed {
  readonly sides: Sides;
  readonly match: Match;
}

/** A hunk and all places that it could take. */
export interface Candidate {
  readonly sides: Sides;
  readonly found: readonly Match[];
  /** The number of places if not all of them were kept: then none is unique. */
  readonly total?: number | undefined;
}

const MAX_LISTED = 20;

export function conflict(sides: Sides, reason: ConflictReason, rung: Rung, at: readonly number[], total = at.length) {
  const lines = at.slice(0, MAX_LISTED).map((row) => row + 1);
  return { hunk: sides.hunk.id, reason, at: lines[0] ?? null, candidates: lines, total, rung };
}

/** A rung that compares whole lines, and the part of a line that it compares. */
export type Step = readonly [rung: Rung, key: Key];

/**
 * The rungs that compare whole lines, mildest first. Each finds every place by its rule, and the first with a place decides:
 * one that refuses all of its places for cause is the last. Behind them come `context` and `misspelt` (one line of context in four is left out or has a slip, and blank lines differ).
 */
export const STEPS: readonly Step[] = [
  // Byte for byte.
  ["exact", asIs],
  // Carriage returns at the ends of lines differ.
  ["line-endings", withoutReturn],
  // White space at the ends of lines differs.
  ["trailing-space", (line) => line.trimEnd()],
  // Typographic quotes, dashes and spaces stand for those of a keyboard.
  ["typography", (line) => plainTypography(line).trimEnd()],
  // White space in front of lines, and how much of it is inside of them, differs.
  ["indentation", looseLine],
];

export function inARow(row: number, lines: readonly string[]): number[] {
  return lines.map((_, i) => row + i);
}

/** A place where all old lines stand in a row, if there is a style for what is to be inserted. */
export function readMatch(sides: Sides, row: number, rung: Rung, target: Target): Match | null {
  const rows = inARow(row, sides.old);
  if (rung === "exact") {
    // Byte for byte, the last line of a text without final newline is another line than the same one with it.
    const isTorn = rows.at(-1) === target.lines.length - 1 && !target.newlineAtEnd;
    return (sides.hunk.oldNoNewline === true) === isTorn ? { row, rows, rung, style: exactStyle } : null;
  }
  const style = learnStyle(pairUp(sides, rows, target), sides.changes, target);
  return style && { row, rows, rung, style };
}

function longestOf(lines: readonly string[]): number {
  let longest = 0;
  let found = 0;
  for (let i = 0; i < lines.length; i++) {
    if (lines[i]!.length <= longest) continue;
    const { length } = lines[i]!.trim();
    if (length > longest) [longest, found] = [length, i];
  }
  return found;
}

/** Whether one of these lines is not in the text by any key: what is equal by any is so loosely. */
export function isNowhere(sought: readonly string[], target: Target): boolean {
  const { places } = indexBy(looseLine, target);
  return !places.get(looseLine(sought[longestOf(sought)] ?? ""))?.length;
}

/** Every row from which lines stand, one behind the other, by this key. Null when the effort ran out. */
export function findRows(sought: readonly string[], key: Key, target: Target): number[] | null {
  const offset = longestOf(sought);
  const coarse = key === asIs ? asIs : looseLine;
  const { lines, effort } = target;
  const rows: number[] = [];
  const pattern: string[] = [];
  for (const place of indexBy(coarse, target).places.get(coarse(sought[offset] ?? "")) ?? []) {
    const row = place - offset;
    if (row < 0 || row + sought.length > lines.length) continue;
    let i = 0;
    for (; i < sought.length; i++) {
      if (lines[row + i] === sought[i]) continue;
      pattern[i] ??= key(sought[i]!);
      if (key(lines[row + i]!) !== pattern[i]) break;
    }
    effort.left -= i + 1;
    if (effort.left < 0) return null;
    if (i === sought.length) rows.push(row);
  }
  return rows;
}

export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Every part of a text that is a string, whatever line ends the two have. None overlaps another. */
export function findParts(sought: string, text: string): Part[] {
  const plain = text.replaceAll("\r\n", "\n");
  const wanted = sought.replaceAll("\r\n", "\n");
  // The line feeds that have a carriage return before them, as offsets in the text without these.
  const feeds: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) feeds.push(at - feeds.length);
  const inText = (offset: number) => offset + lastUpTo(feeds, offset - 1) + 1;
  const parts: Part[] = [];
  for (let at = wanted === "" ? -1 : plain.indexOf(wanted); at >= 0; at = plain.indexOf(wanted, at + wanted.length))
    parts.push({ from: inText(at), to: inText(at + wanted.length) });
  return parts;
}

/** A string with the line ends of a place in a text. */
export function withEndsOf(text: string, offset: number, written: string): string {
  return written.replace(/\r?\n/g, endingAt(text, offset));
}

/** Every row at which lines are in a text, none of them in two places, by the first rung that has one. */
export function findEvery(sought: readonly string[], text: string): number[] {
  const lines = sought.map((line) => ` ${line}`);
  const target = readTarget(text, [{ id: "", oldStart: null, newStart: null, lines }]);
  for (const [, key] of STEPS) {
    const rows = findRows(sought, key, target) ?? [];
    let end = 0;
    const apart = rows.filter((row) => {
      if (row < end) return false;
      end = row + sought.length;
      return true;
    });
    if (apart.length > 0) return apart;
  }
  return [];
}
