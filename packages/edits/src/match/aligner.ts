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

export interface ApplyOptions {
  /** The loosest rung that may be used; default "context". */
  readonly loosest?: Rung;
  /** One more rung, for what "context" does not find: `anchored`. Never used by default. */
  readonly beyond?: Aligner;
}
