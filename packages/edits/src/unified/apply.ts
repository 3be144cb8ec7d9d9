import type { ApplyOptions } from "../match/aligner.js";
import { applyBy } from "../match/apply.js";
import { plainLadder } from "../match/plain.js";
import type { FilePatch, Patch } from "../patch.js";
import type { ApplyResult } from "../result.js";

/**
 * Applies the patch of one file to its text as the whole package does, as far as the rung "trailing-space": a hunk stands
 * where it says or at the only other place, and lines may differ in line endings and in white space at their ends. What needs
 * a looser rung is not found, and neither is a hunk with anchors.
 */
export function applyPatch(
  patch: FilePatch | Patch,
  text: string,
  options: Omit<ApplyOptions, "beyond"> = {},
): ApplyResult {
  return applyBy(plainLadder, patch, text, options);
}
