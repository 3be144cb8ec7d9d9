import { needOptions, needText } from "../need.js";
import { attempt, Unreadable } from "../read/message.js";
import { parseWith } from "../read/reader.js";
import type { Reading } from "../reading.js";
import { unifiedDiffs } from "./block.js";
import { readPlain } from "./plain.js";

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
 * Reads a unified diff, plain or with git's extended headers; text around it is left out. An input without any change is an
 * error. Never throws; linear in the input. Hunks keep the order of the input.
 */
export function parsePatch(text: string, options: ParseOptions = {}): Reading {
  needOptions(options, { strict: "boolean", path: "string", strip: "number" });
  needText({ text });
  const { strict = false, path, strip } = options;
  const plain = parsePlain(text, strict, strip);
  if (strict || plain.ok) return plain;
  return parseWith([unifiedDiffs(strip)], text, { path, limit: Number.POSITIVE_INFINITY });
}

/** Reads a text that is nothing but a diff whose counts fit: any other is an error here. Faster than to look for blocks. */
export function parsePlain(text: string, strictly: boolean, strip?: number): Reading {
  const read = attempt((repairs) => readPlain(text, strictly, strip, repairs));
  if (read instanceof Unreadable)
    return { ok: false, errors: [{ line: read.line + 1, reason: read.reason, message: read.message }] };
  for (const repair of read.repairs) repair.line++;
  return { ok: true, patch: { files: read.files }, repairs: read.repairs };
}
