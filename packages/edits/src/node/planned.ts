import type { Patch } from "../patch.js";
import type { AppliedHunk } from "../result.js";
import type { PlanConflict } from "./conflict.js";
import type { FileState } from "./stage.js";

/** A plan as plain data: it can be shown, stored, and sent to a reviewer and back. `applyPlan` trusts none of it. */
export interface Plan {
  /** The root's real path. */
  readonly root: string;
  /** The changes, each path once, however many file patches touch it. */
  readonly files: readonly PlannedFile[];
  readonly moves: readonly Move[];
  /** The same change as a patch against the files as they are now: what `formatPatch` shows as a preview. */
  readonly preview: Patch;
  /** Where each file patch's hunks were found, in patch order; lines count in the text after the earlier ones. */
  readonly hunks: readonly { readonly path: string; readonly hunks: readonly AppliedHunk[] }[];
  /** All conflicts. Unless this is empty `applyPlan` writes nothing. */
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
