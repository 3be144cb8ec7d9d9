import type { Hunk } from "../patch.js";
import type { ApplyResult, Conflict, Rung } from "../result.js";
import { rungs } from "../result.js";
import { type Sides, takeApart } from "../sides.js";
import type { Aligner, ApplyOptions } from "./aligner.js";
import { contextual } from "./context.js";
import { exactStyle, type LineStyle, learnStyle, type Pair } from "./line-style.js";
import type { Match } from "./match.js";
import { conflict } from "./match.js";
import { looseLine, plainTabs, plainTypography, withoutReturn } from "./normal.js";
import { rewrite } from "./rewrite.js";
import { settle } from "./settle.js";
import { asIs, findRows, type Key, lastUpTo, readTarget, type Target } from "./target.js";

/** On each rung that compares lines as wholes: what it compares of a line of the text, and of a line of the patch. */
type Step = readonly [rung: Rung, text: Key, patch: Key];

const trimmedEnd = (line: string) => line.trimEnd();
const trimmedPlain = (line: string) => plainTypography(line).trimEnd();

const steps: readonly Step[] = [
  ["exact", asIs, asIs],
  ["line-endings", withoutReturn, withoutReturn],
  ["trailing-space", trimmedEnd, trimmedEnd],
  ["typography", trimmedPlain, trimmedPlain],
  ["escapes", trimmedEnd, (line) => plainTabs(line).trimEnd()],
  ["indentation", looseLine, looseLine],
];

/** Finds for every hunk the first rung that has a place for it, and writes them all; or says what is in the way. */
export function climb(
  hunks: readonly Hunk[],
  text: string,
  given: readonly Rung[],
  { loosest = "context", beyond }: ApplyOptions,
): ApplyResult {
  const target = readTarget(text, hunks);
  const candidates = hunks.map((hunk) => {
    const sides = takeApart(hunk);
    const found = sides.old.length === 0 ? findBare(sides, target) : findMatches(sides, target, loosest, beyond);
    return { sides, found };
  });
  return rewrite(settle(candidates, target), target, given);
}

/** Lines to insert, and no old ones: only a number says where, or an empty text. */
function findBare(sides: Sides, { text, starts }: Target): Match[] | Conflict {
  const row = sides.hint ?? (text === "" ? 0 : -1);
  if (!(row in starts)) return conflict(sides, "not-found", "exact", []);
  return [{ row, rows: [], rung: "exact", style: exactStyle }];
}

/** On each rung it is looked whether the new text already stands there. */
function findMatches(sides: Sides, target: Target, loosest: Rung, beyond?: Aligner): Match[] | Conflict {
  const highest = rungs.indexOf(loosest);
  let last: Rung = "exact";
  for (const [rung, text, patch] of steps) {
    if (rungs.indexOf(rung) > highest) break;
    last = rung;
    const places = findRows(sides.old, text, patch, target);
    // Where the old lines are there and the new ones are not longer, nothing is asked of these.
    const asked = sides.inserts && (places?.length === 0 || sides.new.length > sides.old.length);
    const applied = asked ? findRows(sides.new, text, patch, target) : [];
    if (places === null || applied === null) return conflict(sides, "ambiguous", rung, []);
    const fresh = places.filter((at) => !isInside(at, sides, applied));
    if (fresh.length === 0 && applied.length > 0) return conflict(sides, "already-applied", rung, applied);
    const found = fresh.flatMap((row) => readMatch(sides, row, rung, target) ?? []);
    if (found.length > 0) return found;
    // Only the final newline is to change: a text whose lines fit but not their end is already as the patch wants it.
    if (fresh.length > 0 && sides.old.join("\n") === sides.new.join("\n"))
      return conflict(sides, "already-applied", rung, fresh);
  }
  const aligners = highest < rungs.indexOf("context") ? [] : beyond ? [contextual, beyond] : [contextual];
  for (const { rung, align } of aligners) {
    last = rung;
    const alignments = align(sides, target);
    if (alignments === null) return conflict(sides, "ambiguous", rung, []);
    const found = alignments.flatMap(({ rows, mistyped }): Match[] => {
      const style = contextStyle(sides, rows, mistyped, target);
      const first = rows.findIndex((at) => at >= 0);
      return style ? [{ row: Math.max(rows[first]! - first, 0), rows, rung, style }] : [];
    });
    if (found.length === 1) return found;
    const at = found.map(({ row }) => row);
    if (at.length > 1) return conflict(sides, "ambiguous", rung, at);
  }
  return conflict(sides, "not-found", last, []);
}

/** A place where all old lines stand in a row, if there is a style for what is to be inserted. */
function readMatch(sides: Sides, row: number, rung: Rung, target: Target): Match | null {
  const rows = sides.old.map((_, i) => row + i);
  if (rung === "exact") return endsAlike(rows, sides, target) ? { row, rows, rung, style: exactStyle } : null;
  const style = learnStyle(pairUp(sides, rows, target), target.text);
  return style && { row, rows, rung, style };
}

/** Where not all lines agree on a style the deleted ones say how the place is written; without any, it must be as the patch is. */
function contextStyle(
  sides: Sides,
  rows: readonly number[],
  mistyped: ReadonlySet<number>,
  target: Target,
): LineStyle | null {
  const matched = rows.map((row, i) => (mistyped.has(i) ? -1 : row));
  const style = learnStyle(pairUp(sides, matched, target), target.text);
  if (style) return style;
  const gone = matched.map((row, i) => (sides.deleted[i] ? row : -1));
  const deleted = pairUp(sides, gone, target);
  return deleted.some(({ text }) => text.trim() !== "") ? learnStyle(deleted, target.text) : null;
}

function pairUp(sides: Sides, rows: readonly number[], target: Target): Pair[] {
  return rows.flatMap((row, i) => (row < 0 ? [] : { patch: sides.old[i]!, text: target.lines[row]! }));
}

/** The old lines at this place are part of the new ones: the hunk has been applied here. A longer old side proves it has not. */
function isInside(at: number, sides: Sides, applied: readonly number[]): boolean {
  const spare = sides.new.length - sides.old.length;
  if (spare <= 0 || isTrusted(at, sides)) return false;
  const last = lastUpTo(applied, at);
  return last >= 0 && at <= applied[last]! + spare;
}

/** The hunk stands where it says, with context on both sides (or with none at all): there its own word is good. */
function isTrusted(at: number, sides: Sides): boolean {
  return at === sides.hint && (sides.trailing > 0 ? sides.leading > 0 || at === 0 : sides.leading === 0);
}

/** Byte for byte, the last line of a text without final newline is another line than the same one with it. */
function endsAlike(rows: readonly number[], sides: Sides, target: Target): boolean {
  const atEnd = rows.at(-1) === target.lines.length - 1;
  return (sides.hunk.oldNoNewline === true) === (atEnd && !target.newlineAtEnd);
}
