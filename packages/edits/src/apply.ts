import type { ApplyOptions } from "./match/aligner.js";
import { applyBy } from "./match/apply.js";
import { looseLadder } from "./match/loose.js";
import type { FilePatch, Patch } from "./patch.js";
import type { ApplyResult } from "./result.js";

/**
 * Applies the patch of one file to its text. A conflict is a value; nothing throws, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; a line that was not matched is never deleted; context keeps the text's own bytes,
 * line endings, byte order mark and final newline; a place is taken only if it is the only one (or see `settle`).
 * A patch without files changes nothing; one of several files has no one text and is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  return applyBy(looseLadder, patch, text, options);
}
