import { needOptions } from "./need.js";
import type { Reading } from "./reading.js";
import { parseBy } from "./unified/parse.js";
import { repairs } from "./unified/repairs.js";

export interface ParseOptions {
  /**
   * Refuse everything that `git apply` refuses to read. Otherwise certain repairs are made, and every repair is listed. Both
   * refuse a quoted name that is broken or not UTF-8, names that contradict git's header, a file that is created or deleted
   * and has its mode changed, text glued to a hunk header, and changed lines outside of any hunk.
   */
  strict?: boolean | undefined;
  /** The file of hunks without `---` and `+++`; without it they are an error. Ignored by strict reading. */
  path?: string | undefined;
  /**
   * Leading folders to take off each name of a header, as `git apply -p` does: each slash counts, and a
   * name that has fewer is an error. The names of renames have no `a/`, so one less of them.
   * By default strict reading takes off one, lenient reading the `a/` and `b/` that are there.
   */
  strip?: number | undefined;
}

/**
 * Reads a unified diff, plain or with git's extended headers. An input without any change is an error.
 * Never throws; linear in the input. Hunks keep the order of the input.
 */
export function parsePatch(text: string, options: ParseOptions = {}): Reading {
  needOptions(options, { strict: "boolean", path: "string", strip: "number" });
  return parseBy(options.strict ? null : repairs, text, options);
}
