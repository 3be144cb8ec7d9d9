import type { ApplyOptions } from "../match/aligner.js";
import { applyBy } from "../match/apply.js";
import type { Ladder } from "../match/ladder.js";
import { plainLadder } from "../match/plain.js";
import { needOptions } from "../need.js";
import type { FilePatch, Patch } from "../patch.js";
import type { ApplyResult } from "../result.js";

export interface UnifiedApplyOptions extends ApplyOptions {
  /** All rungs of the whole package. Without them a hunk is found as far as the rung "trailing-space". */
  readonly rungs?: Ladder | undefined;
}

/**
 * Applies the patch of one file to its text as the whole package does, as far as the rung "trailing-space": a hunk stands
 * where it says or at the only other place, and lines may differ in line endings and in white space at their ends. What needs
 * a looser rung is not found, and neither is a hunk with anchors: pass `rungs` for these.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: UnifiedApplyOptions = {}): ApplyResult {
  needOptions(options, { rungs: "object" });
  return applyBy(options.rungs ?? plainLadder, patch, text, options);
}
