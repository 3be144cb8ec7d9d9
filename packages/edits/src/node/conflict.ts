import type { Conflict } from "../result.js";
import { codeOf } from "./files.js";
import { type NameReason, quote } from "./names.js";

/** Why a plan cannot be made or applied. Nothing of it is written then. */
export interface PlanConflict {
  /** The path as in the patch, or below the root for an absolute one; null if the conflict is not about one file. */
  readonly path: string | null;
  readonly reason: PlanReason;
  /** The problem, its place, and what to do. For `hunks`, the message to send to the model. */
  readonly message: string;
  /** For `hunks`: which of the file's hunks did not apply, and why. */
  readonly hunks?: readonly Conflict[] | undefined;
}

export type PlanReason =
  | NameReason // the path is one that no edit may name
  | "missing" // there is no such file, directory or root
  | "stale" // the file has changed
  | "symlink" // the path leads through a symlink
  | "not-regular" // the path is no regular file
  | "not-directory" // a part of the path is no directory
  | "not-utf8" // the file is no text, or the new text cannot be encoded
  | "too-large" // the file has more bytes than the limit
  | "case-collision" // the name is another one's on some systems
  | "moved" // the directory has been replaced by another one
  | "malformed" // the value is not an edit, or a plan that contradicts itself
  | "root" // the plan was made for another root
  | "mode" // the patch makes a symlink, a submodule or another thing that is no regular file
  | "exists" // a new file's path is taken
  | "already-applied" // the new file is there, with the very text it should get
  | "hunks" // hunks of the file conflict
  | "busy" // another plan is being carried out in the root
  | "journal" // the root's journal cannot be read, or is not trusted
  | "io" // the system refused a call
  | "interrupted"; // a failure, and undoing it failed too: `recover` will, as soon as the system lets it

/** Whether another process is changing the root, so a later call may succeed. */
export function isBusy({ reason }: PlanConflict): boolean {
  return reason === "busy";
}

/** A conflict, thrown in this folder and caught in it. Without a path it is about the file that the caller had in hand. */
export class Refused {
  readonly conflict: PlanConflict;
  constructor(path: string | null, reason: PlanReason, message: string, hunks?: readonly Conflict[]) {
    this.conflict = { path, reason, message, ...(hunks && { hunks }) };
  }
}

/** Converts what was thrown to a conflict. Any error but a refusal or a system error is a bug and is rethrown. */
export function toConflict(error: unknown, path: string | null): PlanConflict {
  if (error instanceof Refused) return { ...error.conflict, path: error.conflict.path ?? path };
  if (codeOf(error) === undefined) throw error;
  // Only "EACCES: permission denied": what follows the comma is the call, with a path by handle in it.
  const what = (error as Error).message.split(",")[0];
  return { path, reason: "io", message: `${path === null ? "The root" : quote(path)}: ${what}.` };
}
