import { matchInPlace } from "./in-place.js";
import { climb, type Match, type Rung, rungs, type Search } from "./ladder.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";
import { type Rewriting, rewrite } from "./rewrite.js";
import { type Candidate, settle } from "./settle.js";
import { type Sides, takeApart } from "./sides.js";
import { type Splice, spliceText } from "./splice.js";
import { readTarget } from "./target.js";

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
  /** The loosest rung that may be used; default "context". "anchors" is only for callers that show what they will change. */
  readonly loosest?: Rung;
}

/**
 * Applies the patch of one file to its text. A conflict is a value; nothing throws, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; a line that was not matched is never deleted; context keeps the text's own bytes,
 * line endings, byte order mark and final newline; a place is taken only if it is the only one (or see `settle`).
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  const file = "files" in patch ? patch.files[0] : patch;
  if (!file || ("files" in patch && patch.files.length !== 1)) return refuse([fileConflict("not-found")]);
  const { hunks } = file;
  if (hunks.length === 0) return { ok: true, text, hunks: [] };
  const inPlace = matchInPlace(hunks, text, true);
  if (inPlace) return { ok: true, text: spliceText(text, inPlace), hunks: hunks.map(appliedInPlace) };
  return applyByLadder(hunks, text, options);
}

function applyByLadder(hunks: readonly Hunk[], text: string, options: ApplyOptions): ApplyResult {
  const target = readTarget(
    text,
    hunks.some((hunk) => hunk.lines.some((line) => line.includes("\ufeff"))),
  );
  const sides = hunks.map(takeApart);
  const search: Search = { target, hunks: sides, indexes: new Map() };
  const loosest = options.loosest ?? "context";
  const conflicts: Conflict[] = [];
  const candidates: Candidate[] = [];
  for (const side of sides) {
    if (side.old.length === 0) {
      const at = side.hint ?? (text === "" ? 0 : -1);
      if (at < 0 || at > target.lines.length) conflicts.push(conflict(side, "not-found", "exact", []));
      else candidates.push({ sides: side, found: [], chosen: { rows: [], rung: "exact" } });
      continue;
    }
    const climbed = climb(side, search, loosest);
    if ("found" in climbed) candidates.push({ sides: side, found: climbed.found, chosen: null });
    else conflicts.push(conflict(side, climbed.reason, climbed.rung, climbed.at));
  }
  settle(candidates);
  const placed: { sides: Sides; match: Match; writing: Rewriting }[] = [];
  for (const { sides: side, found, chosen } of candidates) {
    if (chosen === null)
      conflicts.push(
        conflict(
          side,
          "ambiguous",
          found[0]!.rung,
          found.map((match) => match.rows[0]!),
        ),
      );
    else placed.push({ sides: side, match: chosen, writing: rewrite(side, chosen, target) });
  }
  if (conflicts.length > 0) return refuse(conflicts);
  const splices = placed.flatMap(({ writing }) => writing.splices).sort((a, b) => a.from - b.from || a.to - b.to);
  return {
    ok: true,
    text: spliceText(text, splices),
    hunks: placed.map(({ sides: { hunk, hint }, match, writing }) => {
      const at = match.rows[0] ?? hint ?? 0;
      const repairs = new Set(writing.repairs);
      if (match.rung !== "exact") repairs.add(match.rung);
      const offset = hint === null ? 0 : at - hint;
      if (offset !== 0) repairs.add("place");
      return { id: hunk.id, at: at + 1, offset, repairs: rungs.filter((rung) => repairs.has(rung)) };
    }),
  };
}

function appliedInPlace(hunk: Hunk): AppliedHunk {
  const hasOld = hunk.lines.some((line) => line[0] !== "+");
  return { id: hunk.id, at: hunk.oldStart! + (hasOld ? 0 : 1), offset: 0, repairs: [] };
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
