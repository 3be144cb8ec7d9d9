import type { ApplyOptions } from "./match/aligner.js";
import { applyBy } from "./match/apply.js";
import { looseLadder } from "./match/loose.js";
import type { FilePatch, Patch } from "./patch.js";
import type { ApplyResult } from "./result.js";

/**
 * Applies the patch of one file to its text. Conflicts are returned, never thrown, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; an unmatched line is never deleted; context keeps the text's own bytes, line
 * endings, byte order mark and final newline; a hunk is placed only where its place is unique (or see `settle`).
 * A patch without files changes nothing; a patch of several files is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  return applyBy(looseLadder, patch, text, options);
}
