import type { Sides } from "./sides.js";
import { findRows, indexLines, type LineIndex, type Target } from "./target.js";

/**
 * How far a hunk had to be bent to fit, mildest first. `place`: it stood elsewhere. `final-newline`: text and patch differ
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
  | "context"
  | "anchors";

/** A place for a hunk: the text's line for each of its old lines, or -1 where a context line has no partner. */
export interface Match {
  /** Line of the text, from 0, at which the hunk begins. */
  readonly row: number;
  readonly rows: readonly number[];
  readonly rung: Rung;
}

interface Step {
  readonly rung: Rung;
  /** What is compared of a line of the text, and of a line of the patch. */
  readonly text: (line: string) => string;
  readonly patch: (line: string) => string;
}

const same = (line: string) => line;
const withoutReturn = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);
const trimmedEnd = (line: string) => line.trimEnd();

/** Quotes, dashes and spaces as a keyboard has them. */
export function plainTypography(line: string): string {
  if (!/[^ -~\s]|[\u00a0\u2000-\u205f]/.test(line)) return line;
  return line
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f]/g, " ")
    .replaceAll("\u2026", "...");
}

/** A tab that a model wrote as backslash and t. */
export function plainTabs(line: string): string {
  return line.includes("\\t") ? line.replaceAll("\\t", "\t") : line;
}

/** White space at the ends is not compared, and inside a line a run of it counts as one space. */
export function looseLine(line: string): string {
  return plainTypography(line)
    .trim()
    .replace(/[ \t]+/g, " ");
}

const trimmedPlain = (line: string) => plainTypography(line).trimEnd();

const steps: readonly Step[] = [
  { rung: "exact", text: same, patch: same },
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
  "anchors",
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
    const old = sides.old.map(step.patch);
    const places = findRows(old, index, target.effort);
    const applied = sides.inserted.size > 0 ? findRows(sides.new.map(step.patch), index, target.effort) : [];
    if (places === null || applied === null) return { reason: "ambiguous", rung: step.rung, at: [] };
    const fresh = places.filter((at) => !isInside(at, sides, applied));
    const found = fresh.map((at) => ({ row: at, rows: old.map((_, i) => at + i), rung: step.rung }));
    const fit = step.rung === "exact" ? found.filter((match) => endsAlike(match, sides, target)) : found;
    if (fit.length > 0) return { found: fit, rung: step.rung };
    if (found.length === 0 && applied.length > 0) return { reason: "already-applied", rung: step.rung, at: applied };
  }
  return { reason: "not-found", rung: last, at: [] };
}

function stepIndex(step: Step, search: Search): LineIndex {
  const known = search.indexes.get(step.rung);
  if (known) return known;
  const wanted = search.hunks.flatMap((hunk) => [...hunk.old, ...hunk.new]).map(step.patch);
  const index = indexLines(search.target.lines, step.text, wanted);
  search.indexes.set(step.rung, index);
  return index;
}

/** The old lines at this place are part of the new ones: the hunk has been applied here. A longer old side proves it has not. */
function isInside(at: number, sides: Sides, applied: readonly number[]): boolean {
  const spare = sides.new.length - sides.old.length;
  if (spare <= 0 || isTrusted(at, sides)) return false;
  // The last of the sorted places that is not behind this one.
  let low = 0;
  let high = applied.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (applied[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at <= applied[low - 1]! + spare;
}

/** The hunk stands where it says, with context on both sides (or with none at all): there its own word is good. */
export function isTrusted(at: number, sides: Sides): boolean {
  if (at !== sides.hint) return false;
  if (sides.leading === 0 && sides.trailing === 0) return true;
  return (sides.leading > 0 || at === 0) && sides.trailing > 0;
}

/** Byte for byte, the last line of a text without final newline is another line than the same one with it. */
function endsAlike(match: Match, sides: Sides, target: Target): boolean {
  const atEnd = match.rows.at(-1) === target.lines.length - 1;
  return (sides.hunk.oldNoNewline === true) === (atEnd && !target.newlineAtEnd);
}
