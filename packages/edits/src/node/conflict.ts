import type { Conflict } from "../result.js";
import { codeOf } from "./files.js";
import { type NameReason, quote } from "./names.js";
import { type FileReason, FileRefusal } from "./root.js";

/** Why a plan cannot be made or applied. Nothing of it is written then. */
export interface PlanConflict {
  /** The path as in the patch, or below the root for an absolute one; null if the conflict is not about one file. */
  readonly path: string | null;
  readonly reason: PlanReason;
  /** The problem, its place, and what to do. For `hunks`, the message to send to the model. */
  readonly message: string;
  /** For `hunks`: which of the file's hunks did not apply, and why. */
  readonly hunks?: readonly Conflict[];
}

export type PlanReason =
  | NameReason // the path is one that no edit may name
  | FileReason // the path leads to something else than a regular file below the root, or the root has a journal that is not trusted
  | "malformed" // the value is not a patch, or a plan that contradicts itself
  | "root" // the plan was made for another root
  | "mode" // the patch makes a symlink, a submodule or another thing that is no regular file
  | "exists" // a new file's path is taken
  | "already-applied" // the new file is there, with the very text it should get
  | "hunks" // hunks of the file conflict
  | "busy" // another plan is being carried out in the root
  | "io" // the system refused a call
  | "interrupted"; // a failure, and undoing it failed too: `recover` will, as soon as the system lets it

/** Whether another process is changing the root, so a later call may succeed. */
export function isBusy({ reason }: PlanConflict): boolean {
  return reason === "busy";
}

/** Converts a caught error to a conflict. Any error but a refusal or a system error is a bug and is rethrown. */
export function toConflict(error: unknown, path: string | null): PlanConflict {
  if (error instanceof FileRefusal)
    return { path: path ?? (error.path || null), reason: error.reason, message: error.message };
  const code = codeOf(error);
  if (code === undefined) throw error;
  // Only "EACCES: permission denied": what follows the comma is the call, with a path by handle in it.
  const what = (error as Error).message.split(",")[0];
  return { path, reason: "io", message: `${path === null ? "The root" : quote(path)}: ${what}.` };
}
