import { withoutReturn } from "../lines.js";
import type { Rung } from "../result.js";
import type { Change, Sides } from "../sides.js";
import type { Target } from "./target.js";

/** The style of a hunk's new lines at a place, learned from its old lines and their matches. */
export interface LineStyle {
  readonly repairs: readonly Rung[];
  /**
   * The body of an inserted line in the style of the place; null if nothing shows that style. `at` counts the old
   * lines before the change that the line is part of.
   */
  readonly write: (line: string, at: number) => string | null;
}

/** An old line, the text's line that it matched, whether it is deleted, and its index. */
export interface Pair {
  readonly patch: string;
  readonly text: string;
  readonly deleted: boolean;
  readonly at: number;
}

export const exactStyle: LineStyle = { repairs: [], write: (line) => line };

/** Null where the pairs contradict each other. */
export type LearnStyle = (pairs: readonly Pair[], changes: readonly Change[], target: Target) => LineStyle | null;

/** The old lines that have a row, each with the line of the text that stands there. */
export function pairUp(sides: Sides, rows: readonly number[], target: Target): Pair[] {
  return rows.flatMap((row, i) =>
    row < 0 ? [] : { patch: sides.old[i]!, text: target.lines[row]!, deleted: sides.deleted[i]!, at: i },
  );
}

/** How lines end, in the patch and in the text. */
export interface Ends {
  readonly repairs: Set<Rung>;
  /** The patch has white space behind lines that have none in the text. */
  readonly padded: boolean;
}

export function readEnds(pairs: readonly Pair[]): Ends {
  const repairs = new Set<Rung>();
  let padded = false;
  for (const { patch, text } of pairs) {
    const [own, there] = [withoutReturn(patch), withoutReturn(text)];
    const [ownTail, tail] = [own, there].map((line) => line.slice(line.trimEnd().length));
    if (patch.endsWith("\r") !== text.endsWith("\r")) repairs.add("line-endings");
    if (ownTail !== tail) repairs.add("trailing-space");
    padded ||= ownTail !== "" && tail === "" && there !== "";
  }
  return { repairs, padded };
}

/** The body of a new line where only the ends of lines may differ. */
export function writeEnd(line: string, { padded }: Ends): string {
  const body = withoutReturn(line);
  return padded ? body.trimEnd() : body;
}
