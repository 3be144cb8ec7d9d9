import type { Conflict, ConflictReason, Rung } from "../result.js";
import type { Sides } from "../sides.js";
import type { LineStyle } from "./style.js";

/** A place for a hunk: the text's line for each of its old lines, or -1 where a context line has no partner. */
export interface Match {
  /** Line of the text, from 0, at which the hunk begins. */
  readonly row: number;
  readonly rows: readonly number[];
  readonly rung: Rung;
  readonly style: LineStyle;
}

/** A hunk and its place. */
export interface Placed {
  readonly sides: Sides;
  readonly match: Match;
}

/** A hunk and all places that it could take. */
export interface Candidate {
  readonly sides: Sides;
  readonly found: readonly Match[];
  /** The number of places if not all of them were kept: then none is unique. */
  readonly total?: number | undefined;
}

/** The most places that a conflict lists. */
const LISTED = 20;

export function conflict(
  sides: Sides,
  reason: ConflictReason,
  rung: Rung,
  at: readonly number[],
  total = at.length,
): Conflict {
  const lines = at.slice(0, LISTED).map((row) => row + 1);
  return { hunk: sides.hunk.id, reason, at: lines[0] ?? null, candidates: lines, total, rung };
}
