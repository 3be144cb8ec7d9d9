import type { Patch } from "../patch.js";
import type { AppliedHunk } from "../result.js";
import type { PlanConflict } from "./conflict.js";
import type { FileState } from "./stage.js";

/** Plain data: it may be shown, stored, sent to a reviewer and come back. `applyPlan` trusts none of it. */
export interface Plan {
  /** The root's real path. */
  readonly root: string;
  /** What will change, each path once, whatever number of file patches touched it. */
  readonly files: readonly PlannedFile[];
  readonly moves: readonly Move[];
  /** The same change as a patch against the files as they are now: what `formatPatch` shows as a preview. */
  readonly preview: Patch;
  /** Where each file patch's hunks were found, in the order of the patches: in the text that those before it left. */
  readonly hunks: readonly { readonly path: string; readonly hunks: readonly AppliedHunk[] }[];
  /** All that stands in the way. Unless this is empty `applyPlan` writes nothing. */
  readonly conflicts: readonly PlanConflict[];
}

export interface PlannedFile {
  readonly path: string;
  readonly before: FileState | null;
  readonly after: FileState | null;
}

export interface Move {
  readonly from: string;
  readonly to: string;
}
