import type { Conflict } from "../result.js";
import { codeOf } from "./files.js";
import { type NameReason, quote } from "./names.js";
import { type FileReason, FileRefusal } from "./root.js";

/** Why a plan cannot be made or carried out as it stands. Nothing of it is written then. */
export interface PlanConflict {
  /** The path as the patch has it, or below the root for an absolute one; null where the conflict is about no one file. */
  readonly path: string | null;
  readonly reason: PlanReason;
  /** What was wrong, where, and what to do. For `hunks`, the message that a model needs to try again. */
  readonly message: string;
  /** For `hunks`: which of the file's hunks did not apply, and why. */
  readonly hunks?: readonly Conflict[];
}

export type PlanReason =
  | NameReason // the path is one that no edit may name
  | FileReason // the path leads to something else than a regular file below the root
  | "malformed" // the value is not a patch, or a plan that contradicts itself
  | "root" // the plan was made for another root
  | "mode" // the patch makes a symlink, a submodule or another thing that is no regular file
  | "exists" // a new file's path is taken
  | "already-applied" // the new file is there, with the very text it should get
  | "hunks" // hunks of the file conflict
  | "busy" // another plan is being carried out in the root
  | "journal" // the root's journal cannot be read
  | "io" // the system refused a call
  | "interrupted"; // a failure, and undoing it failed too: `recover` will, as soon as the system lets it

/** Whether another process is changing the root, so that a later call may succeed. */
export function isBusy({ reason }: PlanConflict): boolean {
  return reason === "busy";
}

/** A caught error as a conflict. What is neither a refusal nor the system's is a bug and goes on. */
export function toConflict(error: unknown, path: string | null): PlanConflict {
  if (error instanceof FileRefusal) return { path: path ?? error.path, reason: error.reason, message: error.message };
  const code = codeOf(error);
  if (code === undefined) throw error;
  // Only "EACCES: permission denied": what follows the comma is the call, with a path by handle in it.
  const what = (error as Error).message.split(",")[0];
  return { path, reason: "io", message: `${path === null ? "The root" : quote(path)}: ${what}.` };
}
