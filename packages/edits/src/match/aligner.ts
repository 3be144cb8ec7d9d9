import type { Rung } from "../result.js";
import type { Sides } from "../sides.js";
import type { Target } from "./target.js";

/** For each old line the text's line, -1 for a blank one the text does not have, and for a mistyped one its line as well. */
export interface Alignment {
  readonly rows: readonly number[];
  readonly mistyped: ReadonlySet<number>;
}

/** A way to place a hunk whose lines are not all consecutive. Null if too many places could fit. */
export interface Aligner {
  readonly rung: Rung;
  readonly align: (sides: Sides, target: Target) => readonly Alignment[] | null;
}

export interface LineRange {
  readonly line_start: number;
  readonly line_end?: number;
}

export interface ApplyOptions {
  /** The loosest rung allowed; default "misspelt". "context" compares the code of context lines letter by letter. */
  readonly loosest?: Rung;
  /**
   * The lines of the text that the patch is about, counted from 1, end included; without an end, to the end of the text. The
   * hunks' numbers count from there, and hunks match only inside. Ignored for a file that is created, deleted or
   * replaced as a whole.
   */
  readonly at?: LineRange | undefined;
  /** One more rung, tried after "misspelt": `anchored`. Never used by default. */
  readonly beyond?: Aligner;
}
