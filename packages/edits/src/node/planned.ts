import type { FileKind, Patch } from "../patch.js";
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
  /** The files of the preview, with the number of lines that each gains and loses. Empty if nothing changes. */
  readonly changes: readonly FileChange[];
  /** What to answer a model: a line for each changed file, the conflicts, or that nothing changes. */
  readonly summary: string;
  /** Where each file patch's hunks were found, in patch order; lines count in the text after the earlier ones. */
  readonly hunks: readonly { readonly path: string; readonly hunks: readonly AppliedHunk[] }[];
  /** All conflicts. Unless this is empty `applyPlan` writes nothing. */
  readonly conflicts: readonly PlanConflict[];
}

export interface FileChange {
  readonly kind: FileKind;
  /** The path after the change; the path before it for a deleted file. */
  readonly path: string;
  /** Numbers of lines. A line that changes is one added and one deleted. */
  readonly added: number;
  readonly deleted: number;
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
