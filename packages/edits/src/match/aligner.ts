import type { Rung } from "../result.js";

export interface LineRange {
  readonly line_start: number;
  readonly line_end?: number;
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
