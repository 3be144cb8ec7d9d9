import { STEPS } from "./ladder.js";
import { endingAt } from "./rewrite.js";
import { findRows, readTarget } from "./target.js";

/** A part of a text, by offsets. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Every part of a text that is a string, whatever line ends the two have. */
export function findParts(sought: string, text: string): Part[] {
  const lines = sought.split(/\r?\n/).map((line) => line.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  // A carriage return alone at the end belongs to no line end.
  const matches = text.matchAll(new RegExp(lines.join("\\r?\\n"), "g"));
  return Array.from(matches, ({ 0: { length }, index }) => ({ from: index, to: index + length }));
}

/** A string with the line ends of a place in a text. */
export function withEndsOf(text: string, offset: number, written: string): string {
  return written.replace(/\r?\n/g, endingAt(text, offset));
}

/** Every row at which lines are in a text, none of them in two places, by the first rung that has one. */
export function findEvery(sought: readonly string[], text: string): number[] {
  const lines = sought.map((line) => ` ${line}`);
  const target = readTarget(text, [{ id: "", oldStart: null, newStart: null, lines }]);
  for (const [, keyOfText, keyOfPatch] of STEPS) {
    const rows = findRows(sought, keyOfText, keyOfPatch, target) ?? [];
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
