import type { Hunk } from "../patch.js";
import { type ApplyOptions, type ApplyResult, type Conflict, type Rung, rungs } from "../result.js";
import { type Sides, takeApart } from "../sides.js";
import { type Address, hasAddress, readAddress } from "./address.js";
import { alignContext } from "./context.js";
import { rewrite } from "./rewrite.js";
import {
  type Candidate,
  conflict,
  findRows,
  inARow,
  isNowhere,
  type Match,
  readMatch,
  STEPS,
  type Step,
} from "./search.js";
import { findApplied, settle } from "./settle.js";
import { exactStyle, learnStyle, pairUp } from "./style.js";
import { lastUpTo, readTarget, type Target } from "./target.js";

/** The most places of one hunk that are kept; a hunk with more is placed by its number or not at all. */
const MAX_PLACES = 200;

/** Finds for every hunk the first rung with a place, and writes them all; or returns the conflicts. */
export function climb(
  hunks: readonly Hunk[],
  text: string,
  given: readonly Rung[],
  { loosest = "misspelt" }: ApplyOptions,
): ApplyResult {
  const target = readTarget(text, hunks);
  const candidates = hunks.map((hunk) => {
    const sides = takeApart(hunk);
    return sides.old.length === 0 ? findBare(sides, target) : findPlaces(sides, target, loosest);
  });
  return rewrite(settle(candidates, target), target, given);
}

function findBare(sides: Sides, { text, starts, lines }: Target): Candidate | Conflict {
  const row = sides.hunk.atEnd ? lines.length : (sides.hint ?? (text === "" ? 0 : -1));
  if (row !== 0 && !(row in starts)) return conflict(sides, "not-found", "exact", []);
  return { sides, found: [{ row, rows: [], rung: "exact", style: exactStyle }] };
}

interface Search {
  readonly sides: Sides;
  readonly target: Target;
  readonly address: Address;
  /** Where the hunk would fit without its address. */
  elsewhere: readonly number[];
}

function findPlaces(sides: Sides, target: Target, loosest: Rung): Candidate | Conflict {
  const applied = findApplied(sides, [0], target);
  if (applied !== null) return conflict(sides, "already-applied", "exact", [applied]);
  const search: Search = { sides, target, address: readAddress(sides, target), elsewhere: [] };
  const isAllowed = (rung: Rung) => rungs.indexOf(rung) <= rungs.indexOf(loosest);
  const steps = STEPS.filter(([rung]) => isAllowed(rung));
  let isSought = false;
  for (const step of steps) {
    const found = findOnStep(search, step);
    if (typeof found !== "string") return found;
    isSought ||= found === "none here" || !(isNowhere(sides.old, target) && isNowhere(sides.new, target));
    if (!isSought) break;
  }
  const last = isAllowed("misspelt") ? "misspelt" : isAllowed("context") ? "context" : steps.at(isSought ? -1 : 0)![0];
  const found = isAllowed("context") ? findByContext(search, last) : null;
  return found ?? conflict(sides, "not-found", last, search.elsewhere);
}

function findOnStep(search: Search, [rung, key]: Step): Candidate | Conflict | "nothing" | "none here" {
  const { sides, target, address } = search;
  const { hunk, old, new: now } = sides;
  const all = findRows(old, key, target);
  const made = all && looksForNew(sides, all) ? findRows(now, key, target) : [];
  if (all === null || made === null) return conflict(sides, "ambiguous", rung, []);
  if (all.length + made.length === 0) return "nothing";
  const places = all.filter((row) => address.inside(row, inARow(row, old)));
  const applied = made.filter((row) => address.inside(row, inARow(row, now)));
  if (search.elsewhere.length === 0 && !(hasAddress(hunk) && places.length > 0)) search.elsewhere = all;
  const fresh = places.filter((at) => !isInside(at, sides, applied));
  if (fresh.length === 0) return applied.length > 0 ? conflict(sides, "already-applied", rung, applied) : "none here";
  // Without a number nothing says that the place where the new lines are already is not the one.
  if (sides.hint === null && fresh.length < places.length) return conflict(sides, "ambiguous", rung, places);
  return chooseFresh(search, fresh, rung);
}

/** Whether the new lines tell something: where the old ones are there, shorter new ones do not. */
function looksForNew({ hunk: { anchors = [] }, inserts, old, new: now }: Sides, places: readonly number[]): boolean {
  return inserts && (places.length === 0 || now.length > old.length || anchors.length > 0);
}

function chooseFresh({ sides, target, address }: Search, fresh: readonly number[], rung: Rung) {
  const agreed = fresh.filter((row) => !address.contradicted(row, inARow(row, sides.old)));
  // If number and section point to different places, neither is certain.
  if (agreed.length === 0 || (fresh.includes(sides.hint!) && !agreed.includes(sides.hint!)))
    return conflict(sides, "ambiguous", rung, fresh);
  let kept = agreed;
  if (agreed.length > MAX_PLACES) {
    // Of a great many places those around the one that the hunk's number names.
    target.effort.left -= 20 * MAX_PLACES;
    const near = Math.max(0, lastUpTo(agreed, sides.hint ?? 0) - (MAX_PLACES >> 1));
    kept = agreed.slice(near, near + MAX_PLACES);
  }
  const found = kept.flatMap((row) => readMatch(sides, row, rung, target) ?? []);
  // A last line without a newline is a place too, unless the hunk says that its own has none.
  const total = rung === "exact" && sides.hunk.oldNoNewline ? found.length : agreed.length;
  if (found.length > 0) return { sides, found, total };
  // Only the final newline is to change: a text whose lines fit but not their end is already as the patch wants it.
  if (sides.old.join("\n") === sides.new.join("\n")) return conflict(sides, "already-applied", rung, fresh);
  // A looser rung would write here what this one refuses.
  return rung === "exact" ? "none here" : conflict(sides, "ambiguous", rung, agreed);
}

function findByContext({ sides, target, address }: Search, rung: Rung): Candidate | Conflict | null {
  const alignments = alignContext(sides, target, rung === "misspelt");
  if (alignments === null) return conflict(sides, "ambiguous", rung, []);
  const places: number[] = [];
  const found: Match[] = [];
  for (const { rows, other, verdict } of alignments) {
    const first = rows.findIndex((at) => at >= 0);
    const row = Math.max(rows[first]! - first, 0);
    if (!address.inside(row, rows) || address.contradicted(row, rows)) continue;
    places.push(row);
    const known = rows.map((at, i) => (other.has(i) ? -1 : at));
    const style = verdict === "yes" ? learnStyle(pairUp(sides, known, target), sides.changes, target) : null;
    if (style) found.push({ row, rows, rung: other.size > 0 ? "misspelt" : "context", style });
  }
  if (places.length > 1 && (sides.hint === null || found.length === 0))
    return conflict(sides, "ambiguous", rung, places);
  return found.length > 0 ? { sides, found, total: places.length } : null;
}

/** The old lines at this place are part of the new ones: the hunk has been applied here. A longer old side proves it has not. */
function isInside(at: number, sides: Sides, applied: readonly number[]): boolean {
  const spare = sides.new.length - sides.old.length;
  // With context on both sides, or with none at all, the hunk's own word on its place is good.
  const isFramed = sides.trailing > 0 ? sides.leading > 0 || at === 0 : sides.leading === 0;
  if (spare <= 0 || (at === sides.hint && isFramed)) return false;
  const last = lastUpTo(applied, at);
  return last >= 0 && at <= applied[last]! + spare;
}
