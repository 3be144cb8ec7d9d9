import { type Standing, standInPlace, standMoved } from "./exact.js";
import { exactForm } from "./form.js";

import { climb, type Match, type Rung, rungs, type Search } from "./ladder.js";
import { withoutReturn } from "./normal.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";
import { rewrite } from "./rewrite.js";
import { type Candidate, settle } from "./settle.js";
import { hintOf, type Sides, takeApart } from "./sides.js";
import { type Splice, spliceText } from "./splice.js";
import { matchStrictly } from "./strict.js";
import { fitsLoosely, readTarget, type Target } from "./target.js";

export type ApplyResult =
  | { readonly ok: true; readonly text: string; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

export interface AppliedHunk {
  readonly id: string;
  /** Line of the text, counted from 1, at which the hunk's old side was found. */
  readonly at: number;
  /** Lines between there and where the hunk said; 0 where it named no line. */
  readonly offset: number;
  readonly repairs: readonly Rung[];
}

export interface Conflict {
  /** The hunk's id; empty where the conflict is the file's. */
  readonly hunk: string;
  readonly reason: ConflictReason;
  /** Line of the text, counted from 1, that the conflict is about; null where there is none. */
  readonly at: number | null;
  /** Lines, counted from 1, where the hunk could stand. */
  readonly candidates: readonly number[];
  /** The last rung that was tried. */
  readonly rung: Rung;
}

export type ConflictReason =
  | "not-found" // the old lines are not there, by any rung allowed
  | "ambiguous" // they are there more than once, and nothing says which is meant
  | "already-applied" // the new lines are there and the old ones are not
  | "overlap" // two hunks change the same lines
  | "stale"; // the file is in another state than the patch wants: a new file that has text, a deleted one with more of it

export interface ApplyOptions {
  /** The verdict of `git apply`: byte for byte, at another place only as git moves hunks (see `matchStrictly`). */
  readonly strict?: boolean;
  /** With `strict`: trust a hunk without context to stand where it says, as `git apply --unidiff-zero` does. */
  readonly unidiffZero?: boolean;
  /** The loosest rung that may be used; default "context", the loosest there is. */
  readonly loosest?: Rung;
}

/**
 * Applies the patch of one file to its text. A conflict is a value; nothing throws, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; a line that was not matched is never deleted; context keeps the text's own bytes,
 * line endings, byte order mark and final newline; a place is taken only if it is the only one (or see `settle`).
 * A patch without files changes nothing; one of several files has no one text and is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  if ("files" in patch && patch.files.length > 1) return refuse([fileConflict("not-found")]);
  const file = "files" in patch ? patch.files[0] : patch;
  if (!file) return { ok: true, text, hunks: [] };
  if (file.whole) return replaceWhole(file, text);
  const { hunks, kind } = file;
  if (hunks.length === 0) return { ok: true, text: kind === "delete" ? "" : text, hunks: [] };
  if (kind === "create" && text !== "")
    return refuse([fileConflict(isNewText(file, text) ? "already-applied" : "stale")]);
  const result = options.strict
    ? applyStrictly(hunks, text, options.unidiffZero === true)
    : applyLeniently(hunks, text, options.loosest);
  return kind === "delete" && result.ok && result.text !== "" ? refuse([fileConflict("stale")]) : result;
}

function applyLeniently(hunks: readonly Hunk[], text: string, loosest?: Rung): ApplyResult {
  const inPlace = standInPlace(hunks, text);
  if (inPlace) return writeStanding(inPlace, hunks, text, []);
  const even = evenOut(hunks, text, loosest);
  const repairs: Rung[] = even === hunks ? [] : ["line-endings"];
  // A byte order mark belongs to no line, unless the patch itself writes one.
  const mark = text[0] === "\ufeff" && !hunks.some(({ lines }) => lines.some((line) => line.includes("\ufeff")));
  const body = mark ? text.slice(1) : text;
  const standing = (even !== hunks && standInPlace(even, body)) || standMoved(even, body);
  const result = standing
    ? writeStanding(standing, even, body, repairs)
    : climbAll(even.map(takeApart), readTarget(body), loosest, repairs);
  return mark && result.ok ? { ...result, text: `\ufeff${result.text}` } : result;
}

/** Gives the patch the text's line endings, where each of the two has one kind only and they differ. */
function evenOut(hunks: readonly Hunk[], text: string, loosest: Rung = "context"): readonly Hunk[] {
  if (rungs.indexOf(loosest) < rungs.indexOf("line-endings")) return hunks;
  const returns = text.includes("\r");
  if (returns ? !hasReturns(text) || hunks.some(({ lines }) => lines.some(isReturned)) : !hunks.every(areReturned))
    return hunks;
  if (!returns) return hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(withoutReturn) }));
  return hunks.map((hunk) => {
    const open = openLines(hunk);
    return { ...hunk, lines: hunk.lines.map((line, i) => (open.includes(i) ? line : `${line}\r`)) };
  });
}

const isReturned = (line: string) => line.endsWith("\r");

function areReturned(hunk: Hunk): boolean {
  const open = openLines(hunk);
  return hunk.lines.every((line, i) => isReturned(line) || open.includes(i));
}

/** Indexes of the lines that have no line feed behind them. */
function openLines({ lines, oldNoNewline, newNoNewline }: Hunk): number[] {
  const last = (but: string) => lines.findLastIndex((line) => line[0] !== but);
  return [...(oldNoNewline ? [last("+")] : []), ...(newNoNewline ? [last("-")] : [])];
}

/** Does every line end with a carriage return before its line feed? */
function hasReturns(text: string): boolean {
  return text.includes("\r\n") && !/(?:^|[^\r])\n/.test(text);
}

function writeStanding(
  { rows, splices }: Standing,
  hunks: readonly Hunk[],
  text: string,
  repairs: readonly Rung[],
): ApplyResult {
  const applied = hunks.map((hunk, i) => {
    const offset = rows[i]! - (hintOf(hunk) ?? rows[i]!);
    return { id: hunk.id, at: rows[i]! + 1, offset, repairs: offset === 0 ? repairs : ["place" as const, ...repairs] };
  });
  return { ok: true, text: spliceText(text, splices), hunks: applied };
}

/** The new side is the whole file. A text that is there lends it line endings and byte order mark. */
function replaceWhole({ hunks, kind }: FilePatch, text: string): ApplyResult {
  const hunk = hunks[0];
  if (!hunk) return kind === "create" ? { ok: true, text: "", hunks: [] } : refuse([fileConflict("stale")]);
  const { new: lines } = takeApart(hunk);
  const mark = text.startsWith("\ufeff") && !lines[0]?.startsWith("\ufeff") ? "\ufeff" : "";
  const returns = hasReturns(text) && !lines.some((line) => line.endsWith("\r"));
  const ending = returns ? "\r\n" : "\n";
  const body = lines.join(ending) + (lines.length > 0 && !hunk.newNoNewline ? ending : "");
  const repairs: Rung[] = [
    ...(returns ? ["line-endings" as const] : []),
    ...(mark ? ["byte-order-mark" as const] : []),
  ];
  return { ok: true, text: mark + body, hunks: [{ id: hunk.id, at: 1, offset: 0, repairs }] };
}

function isNewText({ hunks }: FilePatch, text: string): boolean {
  const made = standInPlace(hunks, "");
  return made !== null && spliceText("", made.splices) === text;
}

function applyStrictly(hunks: readonly Hunk[], text: string, bare: boolean): ApplyResult {
  const target = readTarget(text);
  return writePlaced(placeStrictly(hunks.map(takeApart), target, bare), target, []);
}

function climbAll(
  hunks: readonly Sides[],
  target: Target,
  loosest: Rung | undefined,
  given: readonly Rung[],
): ApplyResult {
  return writePlaced(placeByLadder(hunks, target, loosest), target, given);
}

function writePlaced(placement: Placement, target: Target, given: readonly Rung[]): ApplyResult {
  const conflicts = [...placement.conflicts];
  const splices: Splice[] = [];
  const applied: AppliedHunk[] = [];
  let furthest = 0;
  for (const { sides: side, match } of placement.placed) {
    const writing = rewrite(side, match, target);
    if (!writing) {
      conflicts.push(conflict(side, "ambiguous", match.rung, [match.row]));
      continue;
    }
    splices.push(...writing.splices);
    const { hunk, hint } = side;
    const offset = hint === null ? 0 : match.row - hint;
    const repairs = new Set([...given, ...writing.repairs]);
    if (match.rung === "context") repairs.add("context");
    if (offset !== 0) repairs.add("place");
    // Blocks without line numbers have no order to be out of.
    if (hint !== null && match.row < furthest) repairs.add("order");
    furthest = Math.max(furthest, match.row);
    applied.push({ id: hunk.id, at: match.row + 1, offset, repairs: rungs.filter((rung) => repairs.has(rung)) });
  }
  conflicts.push(...findOverlaps(placement.placed));
  if (conflicts.length > 0) return refuse(conflicts);
  splices.sort((a, b) => a.from - b.from || a.to - b.to);
  return { ok: true, text: spliceText(target.text, splices), hunks: applied };
}

/** Hunks may share context, but no line that one deletes, and no place at which both insert. */
function findOverlaps(placed: Placement["placed"]): Conflict[] {
  const deletedBy = new Map<number, number>();
  const insertedBy = new Map<number, number>();
  const conflicts = new Set<number>();
  placed.forEach(({ sides, match }, i) => {
    for (const { from, to, insert } of sides.changes) {
      for (const row of match.rows.slice(from, to)) {
        if (deletedBy.has(row)) conflicts.add(i);
        deletedBy.set(row, i);
      }
      if (insert.length === 0) continue;
      const before = match.rows.slice(0, from).findLast((row) => row >= 0);
      const at = match.rows.slice(from).find((row) => row >= 0) ?? (before === undefined ? match.row : before + 1);
      if (sides.old.length > 0 && insertedBy.has(at)) conflicts.add(i);
      insertedBy.set(at, i);
    }
  });
  placed.forEach(({ match }, i) => {
    for (const row of match.rows) if ((deletedBy.get(row) ?? i) !== i) conflicts.add(i);
  });
  return [...conflicts].map((i) =>
    conflict(placed[i]!.sides, "overlap", placed[i]!.match.rung, [placed[i]!.match.row]),
  );
}

interface Placement {
  readonly placed: readonly { readonly sides: Sides; readonly match: Match }[];
  readonly conflicts: readonly Conflict[];
}

function placeStrictly(hunks: readonly Sides[], target: Target, bare: boolean): Placement {
  const placed: { sides: Sides; match: Match }[] = [];
  const conflicts: Conflict[] = [];
  matchStrictly(hunks, target, bare).forEach((match, i) => {
    const sides = hunks[i]!;
    if (typeof match === "string") conflicts.push(conflict(sides, match, "place", []));
    else placed.push({ sides, match });
  });
  return { placed, conflicts };
}

function placeByLadder(hunks: readonly Sides[], target: Target, loosest: Rung = "context"): Placement {
  const search: Search = { target, hunks, indexes: new Map() };
  const conflicts: Conflict[] = [];
  const candidates: Candidate[] = [];
  for (const sides of hunks) {
    if (sides.old.length === 0) {
      const row = sides.hint ?? (target.text === "" ? 0 : -1);
      if (row < 0 || row > target.lines.length) conflicts.push(conflict(sides, "not-found", "exact", []));
      else candidates.push({ sides, found: [], chosen: { row, rows: [], rung: "exact", form: exactForm } });
      continue;
    }
    const climbed = climb(sides, search, loosest);
    if ("found" in climbed) candidates.push({ sides, found: climbed.found, chosen: null });
    else conflicts.push(conflict(sides, climbed.reason, climbed.rung, climbed.at));
  }
  settle(candidates, ({ old }, row) => row in target.starts && fitsLoosely(old, target.text, target.starts[row]!));
  const placed: { sides: Sides; match: Match }[] = [];
  for (const { sides, found, chosen } of candidates) {
    if (chosen) placed.push({ sides, match: chosen });
    else
      conflicts.push(
        conflict(
          sides,
          "ambiguous",
          found[0]!.rung,
          found.map((match) => match.row),
        ),
      );
  }
  return { placed, conflicts };
}

function conflict(sides: Sides, reason: ConflictReason, rung: Rung, at: readonly number[]): Conflict {
  const lines = at.map((row) => row + 1);
  return { hunk: sides.hunk.id, reason, at: lines[0] ?? null, candidates: lines, rung };
}

function fileConflict(reason: ConflictReason): Conflict {
  return { hunk: "", reason, at: null, candidates: [], rung: "exact" };
}

function refuse(conflicts: readonly Conflict[]): ApplyResult {
  return { ok: false, conflicts };
}
