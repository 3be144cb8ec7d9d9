import type { Hunk } from "../patch.js";
import { type ApplyResult, type Conflict, type ConflictReason, type Rung, rungs } from "../result.js";
import { type Sides, takeApart } from "../sides.js";
import type { ApplyOptions } from "./aligner.js";
import { findApplied } from "./applied.js";
import { type Candidate, conflict, type Match } from "./match.js";
import type { OrderRows } from "./order.js";
import { rewrite } from "./rewrite.js";
import type { Address, ReadAddress } from "./section.js";
import { settle } from "./settle.js";
import { lastUpTo } from "./sorted.js";
import { exactStyle, type LearnStyle, pairUp } from "./style.js";
import { findRows, isNowhere, type Key, readTarget, type Target } from "./target.js";

/** On each rung that compares lines as wholes: what it compares of a line of the text, and of a line of the patch. */
export type Step = readonly [rung: Rung, text: Key, patch: Key];

/**
 * Places hunks that stand byte for byte, without examining every line of the text; null if in doubt. Its result equals
 * that of the steps. `isFirst`: called before line endings and byte order mark are examined.
 */
export type Stand = (
  hunks: readonly Hunk[],
  text: string,
  given: readonly Rung[],
  isFirst: boolean,
) => ApplyResult | null;

/** Places a hunk whose lines are not all consecutive; null if there is no such place. */
export type Align = (
  sides: Sides,
  target: Target,
  address: Address | null,
  loosest: Rung,
) => Candidate | Conflict | null;

/** Places a hunk that omits lines with dots; null if it has none. */
export type Fill = (sides: Sides, target: Target, ladder: Ladder) => Candidate | Conflict | null;

/** Rows at which the old text stands as a part of lines: a hunk that is nowhere may then be ambiguous. */
export type FindFragments = (old: readonly string[], target: Target) => readonly number[];

/** The ways in which a hunk may match, mildest first: a value, so that a page bundles only those it passes in. */
export interface Ladder {
  readonly steps: readonly Step[];
  /** For a hunk without line number that no step places. */
  readonly fill?: Fill | undefined;
  /** For a hunk that no step places. */
  readonly align?: Align | undefined;
  /** For a hunk without line number that is nowhere. */
  readonly findFragments?: FindFragments | undefined;
  readonly learnStyle: LearnStyle;
  readonly readAddress: ReadAddress;
  /** Chooses among several places if the hunks stand in the file's order. */
  readonly orderRows?: OrderRows | undefined;
  /** A short cut for large texts. */
  readonly stand?: Stand | undefined;
}

/** The most places of one hunk that are kept; a hunk with more is placed by its number or not at all. */
const MOST = 200;
/** Finds for every hunk the first rung with a place, and writes them all; or returns the conflicts. */
export function climb(
  hunks: readonly Hunk[],
  text: string,
  path: string,
  given: readonly Rung[],
  ladder: Ladder,
  { loosest = "misspelt" }: ApplyOptions,
): ApplyResult {
  const target = readTarget(text, hunks, path);
  const candidates = hunks.map((hunk) => {
    const sides = takeApart(hunk);
    return sides.old.length === 0 ? findBare(sides, target) : findMatches(sides, target, ladder, loosest);
  });
  return rewrite(settle(candidates, target, ladder.orderRows), target, given);
}

/** Lines to insert, and no old ones: only a number says where, an empty text, or that it is the end. */
function findBare(sides: Sides, { text, starts, lines }: Target): Candidate | Conflict {
  const row = sides.hunk.atEnd ? lines.length : (sides.hint ?? (text === "" ? 0 : -1));
  if (row !== 0 && !(row in starts)) return conflict(sides, "not-found", "exact", []);
  return { sides, found: [{ row, rows: [], rung: "exact", style: exactStyle }] };
}

/** Tries each rung; each also checks whether the new text already stands there. */
function findMatches(sides: Sides, target: Target, ladder: Ladder, loosest: Rung): Candidate | Conflict {
  const refuse = (reason: ConflictReason, rung: Rung, at: readonly number[] = []) => conflict(sides, reason, rung, at);
  const applied = sides.hint === null ? null : findApplied(sides, [0], target);
  if (applied !== null) return refuse("already-applied", "exact", [applied]);
  const address = ladder.readAddress(sides, target);
  const highest = rungs.indexOf(loosest);
  let last: Rung = "exact";
  /** Whether a looser rung may succeed. */
  let sought: boolean | undefined;
  /** Where the hunk would fit without its address. */
  let elsewhere: readonly number[] = [];
  for (const [rung, text, patch] of ladder.steps) {
    if (rungs.indexOf(rung) > highest) break;
    last = rung;
    const all = findRows(sides.old, text, patch, target);
    // Where the old lines are there and the new ones are not longer, nothing is asked of these.
    const asked = sides.inserts && (all?.length === 0 || sides.new.length > sides.old.length || hasAnchors(sides));
    const made = asked ? findRows(sides.new, text, patch, target) : [];
    if (all === null || made === null) return refuse("ambiguous", rung);
    if (all.length + made.length === 0) {
      sought ??= !(isNowhere(sides.old, target) && isNowhere(sides.new, target));
      if (sought) continue;
      break;
    }
    const places = address ? all.filter((row) => address.inside(row, inARow(row, sides.old))) : all;
    const applied = address ? made.filter((row) => address.inside(row, inARow(row, sides.new))) : made;
    if (elsewhere.length === 0 && !(address && places.length)) elsewhere = all;
    const fresh = places.filter((at) => !isInside(at, sides, applied));
    if (fresh.length === 0 && applied.length > 0) return refuse("already-applied", rung, applied);
    // Without a number nothing says that the place where the new lines stand already is not the one.
    if (sides.hint === null && fresh.length < places.length) return refuse("ambiguous", rung, places);
    const agreed = address ? fresh.filter((row) => !address.contradicted(row, inARow(row, sides.old))) : fresh;
    // If number and section point to different places, neither is certain.
    if (fresh.length > 0 && (agreed.length === 0 || (fresh.includes(sides.hint!) && !agreed.includes(sides.hint!))))
      return refuse("ambiguous", rung, fresh);
    const kept = keepNear(agreed, sides, target);
    const found = kept.flatMap((row) => readMatch(sides, row, rung, ladder, target) ?? []);
    // A last line without a newline is a place too, unless the hunk says that its own has none.
    const others = rung === "exact" && sides.hunk.oldNoNewline ? found.length : agreed.length;
    if (found.length > 0) return { sides, found, total: others };
    // Only the final newline is to change: a text whose lines fit but not their end is already as the patch wants it.
    if (fresh.length > 0 && sides.old.join("\n") === sides.new.join("\n"))
      return refuse("already-applied", rung, fresh);
    // A looser rung would write here what this one refuses.
    if (rung !== "exact" && agreed.length > 0) return refuse("ambiguous", rung, agreed);
  }
  const isBare = sides.hint === null && highest >= rungs.indexOf("elided");
  const filled = isBare ? ladder.fill?.(sides, target, ladder) : null;
  if (filled) return filled;
  if (ladder.align && highest >= rungs.indexOf("context")) {
    const found = ladder.align(sides, target, address, loosest);
    if (found) return found;
    last = loosest === "context" ? loosest : "misspelt";
  }
  const isSearched = elsewhere.length === 0 && sides.hint === null && target.effort.searches-- > 0;
  const fragments = (isSearched && ladder.findFragments?.(sides.old, target)) || [];
  if (fragments.length > 1) return conflict(sides, "ambiguous", last, [...new Set(fragments)], fragments.length);
  return refuse("not-found", last, elsewhere);
}

function hasAnchors({ hunk }: Sides): boolean {
  return hunk.anchors !== undefined && hunk.anchors.length > 0;
}

/** Rows one behind the other, as many as there are lines. */
export function inARow(row: number, lines: readonly string[]): number[] {
  return lines.map((_, i) => row + i);
}

/** Of a great many places those around the one that the hunk's number names. */
function keepNear(rows: readonly number[], { hint }: Sides, { effort }: Target): readonly number[] {
  if (rows.length <= MOST) return rows;
  effort.left -= 20 * MOST;
  const near = Math.max(0, lastUpTo(rows, hint ?? 0) - (MOST >> 1));
  return rows.slice(near, near + MOST);
}

/** A place where all old lines stand in a row, if there is a style for what is to be inserted. */
export function readMatch(sides: Sides, row: number, rung: Rung, { learnStyle }: Ladder, target: Target): Match | null {
  const rows = sides.old.map((_, i) => row + i);
  if (rung === "exact") return endsAlike(rows, sides, target) ? { row, rows, rung, style: exactStyle } : null;
  const style = learnStyle(pairUp(sides, rows, target), sides.changes, target);
  return style && { row, rows, rung, style };
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
