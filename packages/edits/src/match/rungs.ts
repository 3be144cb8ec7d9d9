import { withoutReturn } from "../lines.js";
import type { Rung } from "../result.js";
import type { Sides } from "../sides.js";
import type { Match } from "./place.js";
import { exactStyle, learnStyle, pairUp } from "./style.js";
import { asIs, type Key, looseLine, plainTabs, plainTypography, type Target } from "./target.js";

/** On each rung that compares lines as wholes: what it compares of a line of the text, and of a line of the patch. */
export type Step = readonly [rung: Rung, text: Key, patch: Key];

const trimmedEnd = (line: string) => line.trimEnd();
const trimmedPlain = (line: string) => plainTypography(line).trimEnd();

/**
 * The rungs that compare whole lines, mildest first. Each finds every place by its rule, and the first with a place decides:
 * one that refuses all of its places for cause is the last. Behind them come `elided` (dots stand for lines of the text),
 * and `context` with `misspelt` (one line of context in four is left out or has a slip, and blank lines differ).
 */
export const STEPS: readonly Step[] = [
  // Byte for byte.
  ["exact", asIs, asIs],
  // Carriage returns at the ends of lines differ.
  ["line-endings", withoutReturn, withoutReturn],
  // White space at the ends of lines differs.
  ["trailing-space", trimmedEnd, trimmedEnd],
  // Typographic quotes, dashes and spaces stand for those of a keyboard.
  ["typography", trimmedPlain, trimmedPlain],
  // `\\t` in the patch is a tab in the text.
  ["escapes", trimmedEnd, (line) => plainTabs(line).trimEnd()],
  // White space in front of lines, and how much of it is inside of them, differs.
  ["indentation", looseLine, looseLine],
];

/** Rows one behind the other, as many as there are lines. */
export function inARow(row: number, lines: readonly string[]): number[] {
  return lines.map((_, i) => row + i);
}

/** A place where all old lines stand in a row, if there is a style for what is to be inserted. */
export function readMatch(sides: Sides, row: number, rung: Rung, target: Target): Match | null {
  const rows = inARow(row, sides.old);
  if (rung === "exact") return endsAlike(rows, sides, target) ? { row, rows, rung, style: exactStyle } : null;
  const style = learnStyle(pairUp(sides, rows, target), sides.changes, target);
  return style && { row, rows, rung, style };
}

/** Byte for byte, the last line of a text without final newline is another line than the same one with it. */
function endsAlike(rows: readonly number[], sides: Sides, target: Target): boolean {
  const atEnd = rows.at(-1) === target.lines.length - 1;
  return (sides.hunk.oldNoNewline === true) === (atEnd && !target.newlineAtEnd);
}
