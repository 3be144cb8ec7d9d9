import type { Rung } from "../result.js";
import type { Sides } from "../sides.js";
import type { Target } from "./target.js";

/** For each old line the text's line, -1 for a blank one the text does not have, and for a mistyped one its line as well. */
export interface Alignment {
  readonly rows: readonly number[];
  readonly mistyped: ReadonlySet<number>;
}

/** A way to place a hunk whose lines do not all stand in a row. Null where there are too many places to be sure of one. */
export interface Aligner {
  readonly rung: Rung;
  readonly align: (sides: Sides, target: Target) => readonly Alignment[] | null;
}

export interface LineRange {
  readonly line_start: number;
  readonly line_end?: number;
}

export interface ApplyOptions {
  /** The loosest rung that may be used; default "misspelt". With "context" no letter of code may differ in a context line. */
  readonly loosest?: Rung;
  /**
   * The lines of the text that the patch is about, counted from 1, the last one included; without it all that follow. The
   * hunks' numbers count from there, and what stands elsewhere is not found. Not heeded where a file is created, deleted or
   * replaced as a whole.
   */
  readonly at?: LineRange | undefined;
  /** One more rung, for what "misspelt" does not find: `anchored`. Never used by default. */
  readonly beyond?: Aligner;
}
