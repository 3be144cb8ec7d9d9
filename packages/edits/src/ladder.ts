import { alignContext } from "./context.js";
import { exactForm, type Form, learnForm, type Pair } from "./form.js";
import { looseLine, plainTabs, plainTypography, withoutReturn } from "./normal.js";
import type { Sides } from "./sides.js";
import { findRows, indexLines, keyLine, type LineIndex, lastUpTo, type Target } from "./target.js";

/**
 * How far a hunk had to be bent to fit, mildest first. `place`: it stood elsewhere. `order`: an earlier
 * hunk of the patch stood behind it. `final-newline`: text and patch differ
 * on the line feed at the end. `byte-order-mark`: the text's own was put back. The others name what was
 * not compared on lines that matched; nothing else was ignored.
 */
export type Rung =
  | "exact"
  | "place"
  | "order"
  | "final-newline"
  | "byte-order-mark"
  | "line-endings"
  | "trailing-space"
  | "typography"
  | "escapes"
  | "indentation"
  | "context";

/** A place for a hunk: the text's line for each of its old lines, or -1 where a context line has no partner. */
export interface Match {
  /** Line of the text, from 0, at which the hunk begins. */
  readonly row: number;
  readonly rows: readonly number[];
  readonly rung: Rung;
  readonly form: Form;
}

type Key = (line: string) => string;

interface Step {
  readonly rung: Rung;
  /** What is compared of a line of the text, and of a line of the patch; null for all of it. */
  readonly text: Key | null;
  readonly patch: Key | null;
}

const trimmedEnd = (line: string) => line.trimEnd();
const trimmedPlain = (line: string) => plainTypography(line).trimEnd();

const steps: readonly Step[] = [
  { rung: "exact", text: null, patch: null },
  { rung: "line-endings", text: withoutReturn, patch: withoutReturn },
  { rung: "trailing-space", text: trimmedEnd, patch: trimmedEnd },
  { rung: "typography", text: trimmedPlain, patch: trimmedPlain },
  { rung: "escapes", text: trimmedEnd, patch: (line) => plainTabs(line).trimEnd() },
  { rung: "indentation", text: looseLine, patch: looseLine },
];

export const rungs: readonly Rung[] = [
  "exact",
  "place",
  "order",
  "final-newline",
  "byte-order-mark",
  ...steps.slice(1).map((step) => step.rung),
  "context",
];

export interface Search {
  readonly target: Target;
  readonly hunks: readonly Sides[];
  readonly indexes: Map<Rung, LineIndex>;
}

export type Climb =
  | { readonly found: readonly Match[]; readonly rung: Rung }
  | {
      readonly reason: "already-applied" | "ambiguous" | "not-found";
      readonly rung: Rung;
      readonly at: readonly number[];
    };

/** Climbs until a rung has a place for the hunk. On each rung it looks whether the new text already stands there. */
export function climb(sides: Sides, search: Search, loosest: Rung): Climb {
  const { target } = search;
  let last: Rung = "exact";
  for (const step of steps) {
    if (rungs.indexOf(step.rung) > rungs.indexOf(loosest)) break;
    last = step.rung;
    const index = stepIndex(step, search);
    const places = findRows(through(sides.old, step.patch), index, target.effort);
    // Where the old lines are there and the new ones are not longer, nothing is asked of these.
    const asked = sides.inserts && (places?.length === 0 || sides.new.length > sides.old.length);
    const applied = asked ? findRows(through(sides.new, step.patch), index, target.effort) : [];
    if (places === null || applied === null) return { reason: "ambiguous", rung: step.rung, at: [] };
    const fresh = places.filter((at) => !isInside(at, sides, applied));
    if (fresh.length === 0 && applied.length > 0) return { reason: "already-applied", rung: step.rung, at: applied };
    const found = fresh.flatMap((row) => readMatch(sides, row, step.rung, target) ?? []);
    if (found.length > 0) return { found, rung: step.rung };
    // Only the final newline is to change: a text whose lines fit but not their end is already as the patch wants it.
    if (isNewlineOnly(sides) && fresh.length > 0) return { reason: "already-applied", rung: step.rung, at: fresh };
  }
  if (last !== "indentation" || rungs.indexOf(loosest) < rungs.indexOf("context")) {
    return { reason: "not-found", rung: last, at: [] };
  }
  const alignments = alignContext(sides, stepIndex(steps.at(-1)!, search), target.effort);
  if (alignments === null) return { reason: "ambiguous", rung: "context", at: [] };
  const found: Match[] = [];
  for (const { rows, mistyped } of alignments) {
    const form = contextForm(sides, rows, mistyped, target);
    const row = rows.find((at) => at >= 0)! - rows.findIndex((at) => at >= 0);
    if (form) found.push({ row: Math.max(row, 0), rows, rung: "context", form });
  }
  if (found.length === 1) return { found, rung: "context" };
  const at = found.map((match) => match.row);
  return { reason: found.length > 1 ? "ambiguous" : "not-found", rung: "context", at };
}

function isNewlineOnly({ old, new: now }: Sides): boolean {
  return old.length === now.length && old.every((line, i) => line === now[i]);
}

/** A place where all old lines stand in a row, if there is a form for what is to be inserted. */
function readMatch(sides: Sides, row: number, rung: Rung, target: Target): Match | null {
  const rows = sides.old.map((_, i) => row + i);
  if (rung === "exact") return endsAlike(rows, sides, target) ? { row, rows, rung, form: exactForm } : null;
  const form = learnForm(pairUp(sides, rows, target), target.text);
  return form && { row, rows, rung, form };
}

/** Where not all lines agree on a form the deleted ones say how the place is written; without any, it must be as the patch is. */
function contextForm(
  sides: Sides,
  rows: readonly number[],
  mistyped: ReadonlySet<number>,
  target: Target,
): Form | null {
  const matched = rows.map((row, i) => (mistyped.has(i) ? -1 : row));
  const form = learnForm(pairUp(sides, matched, target), target.text);
  if (form) return form;
  const deleted = pairUp(
    sides,
    matched.map((row, i) => (sides.deleted[i] ? row : -1)),
    target,
  );
  return deleted.some(({ text }) => text.trim() !== "") ? learnForm(deleted, target.text) : null;
}

function pairUp(sides: Sides, rows: readonly number[], target: Target): Pair[] {
  return rows.flatMap((row, i) => (row < 0 ? [] : { patch: sides.old[i]!, text: target.lines[row]! }));
}

function through(lines: readonly string[], key: Key | null): readonly string[] {
  return key ? lines.map(key) : lines;
}

function stepIndex(step: Step, search: Search): LineIndex {
  const known = search.indexes.get(step.rung);
  if (known) return known;
  const wanted = new Set<string>();
  for (const { old, new: now } of search.hunks) {
    const sought = through(old, step.patch);
    // Context is aligned from any line; for all else one line of each side leads to its places.
    if (step.rung === "indentation") for (const line of sought) wanted.add(line);
    wanted.add(keyLine(sought)).add(keyLine(through(now, step.patch)));
  }
  const index = indexLines(search.target.lines, step.text, wanted);
  search.indexes.set(step.rung, index);
  return index;
}

/** The old lines at this place are part of the new ones: the hunk has been applied here. A longer old side proves it has not. */
function isInside(at: number, sides: Sides, applied: readonly number[]): boolean {
  const spare = sides.new.length - sides.old.length;
  if (spare <= 0 || isTrusted(at, sides)) return false;
  const last = lastUpTo(applied, at);
  return last >= 0 && at <= applied[last]! + spare;
}

/** The hunk stands where it says, with context on both sides (or with none at all): there its own word is good. */
export function isTrusted(at: number, sides: Sides): boolean {
  if (at !== sides.hint) return false;
  if (sides.leading === 0 && sides.trailing === 0) return true;
  return (sides.leading > 0 || at === 0) && sides.trailing > 0;
}

/** Byte for byte, the last line of a text without final newline is another line than the same one with it. */
function endsAlike(rows: readonly number[], sides: Sides, target: Target): boolean {
  const atEnd = rows.at(-1) === target.lines.length - 1;
  return (sides.hunk.oldNoNewline === true) === (atEnd && !target.newlineAtEnd);
}
