export type ApplyResult =
  | { readonly ok: true; readonly text: string; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

export interface AppliedHunk {
  readonly id: string;
  /** Line of the text, counted from 1, at which the hunk's old side was found. */
  readonly at: number;
  /** Distance in lines from there to the hunk's own line number; 0 if it has none. */
  readonly offset: number;
  readonly repairs: readonly Rung[];
}

export interface Conflict {
  /** The hunk's id; empty for a conflict of the file. */
  readonly hunk: string;
  readonly reason: ConflictReason;
  /** Line of the text, counted from 1, that the conflict is about; null if there is none. */
  readonly at: number | null;
  /** Candidate lines for the hunk, counted from 1: at most 20 of them. */
  readonly candidates: readonly number[];
  /** The number of all candidates. */
  readonly total: number;
  /** The last rung tried. */
  readonly rung: Rung;
}

export type ConflictReason =
  | "not-found" // the old lines are not there, by any rung allowed
  | "ambiguous" // they are there more than once, and nothing says which is meant
  | "already-applied" // the new lines are there and the old ones are not
  | "overlap" // two hunks change the same lines
  | "stale"; // the file is in another state than the patch wants: a new file that has text, a deleted one with more of it

/**
 * How far matching was loosened to place a hunk, mildest first. `place`: it stood elsewhere. `order`: an earlier hunk of
 * the patch stood behind it. `final-newline`: text and patch differ in the line feed at the end. `byte-order-mark`: the
 * text's own was put back. The others name what was not compared on matched lines; nothing else was ignored. `misspelt`:
 * a word of a context line had a letter wrong.
 */
export type Rung = (typeof rungs)[number];

export const rungs = [
  "exact",
  "place",
  "order",
  "final-newline",
  "byte-order-mark",
  "line-endings",
  "trailing-space",
  "typography",
  "indentation",
  "context",
  "misspelt",
] as const;

export interface LineRange {
  readonly line_start: number;
  readonly line_end?: number | undefined;
}

export interface ApplyOptions {
  /** The loosest rung allowed; default "misspelt". "context" compares the code of context lines letter by letter. */
  readonly loosest?: Rung | undefined;
  /**
   * The lines of the text that the patch is about, counted from 1, end included; without an end, to the end of the text. The
   * hunks' numbers count from there, and hunks match only inside. Ignored for a file that is created, deleted or
   * replaced as a whole.
   */
  readonly at?: LineRange | undefined;
}
