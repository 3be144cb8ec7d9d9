import { createPatch } from "../diff/create.js";
import type { FileKind, FilePatch, Patch } from "../patch.js";
import type { AppliedHunk } from "../result.js";
import type { PlanConflict } from "./conflict.js";
import { quote } from "./names.js";

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

/** A file's text and the identity of its bytes. */
export interface FileState {
  readonly text: string;
  /** `sha256:<hex>` of the bytes. */
  readonly hash: string;
  /** Permission bits. */
  readonly mode: number;
  /** The mode was requested by a patch rather than read from a file; the process's umask applies to it. */
  readonly umask?: true;
}

/** Writes planned files as a patch of the files as they are now. A move is a rename if nothing else happened to its paths. */
export function describeChanges(files: readonly PlannedFile[], moves: readonly Move[]): Patch {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const sources = new Map<PlannedFile, PlannedFile>();
  const moved = new Set<PlannedFile>();
  for (const file of files) {
    if (file.before || !file.after) continue;
    const source = byPath.get(traceBack(file.path, moves));
    if (!source?.before || source.after || moved.has(source)) continue;
    sources.set(file, source);
    moved.add(source);
  }
  return { files: files.flatMap((file) => (moved.has(file) ? [] : describeFile(file, sources.get(file) ?? file))) };
}

/** The lines that each file of a preview gains and loses, and what to tell a model about them. */
export function summarize(preview: Patch, conflicts: readonly PlanConflict[] = []) {
  const changes = preview.files.map(({ kind, before, after, hunks }) => {
    const marks = hunks.flatMap(({ lines }) => lines.map((line) => line[0]));
    const count = (mark: string) => marks.filter((each) => each === mark).length;
    return { kind, path: after ?? before!, added: count("+"), deleted: count("-") };
  });
  const lines =
    conflicts.length > 0
      ? conflicts.map(({ message }) => message)
      : changes.map(({ kind, path, added, deleted }) => `${quote(path)}: ${VERBS[kind]}, +${added} -${deleted}`);
  return { changes, summary: lines.join("\n") || "Nothing changes: the files have this text already." };
}

const VERBS: Record<FileKind, string> = {
  create: "created",
  modify: "changed",
  delete: "deleted",
  rename: "moved",
  copy: "copied",
};

/** The change that reverts the planned one. */
export function invertChanges(files: readonly PlannedFile[], moves: readonly Move[]) {
  return {
    files: files.map(({ path, before, after }) => ({ path, before: after, after: before })),
    moves: moves.map(({ from, to }) => ({ from: to, to: from })).reverse(),
  };
}

function traceBack(path: string, moves: readonly Move[]): string {
  let at = path;
  for (const { from, to } of [...moves].reverse()) if (to === at) at = from;
  return at;
}

function describeFile(file: PlannedFile, source: PlannedFile): FilePatch[] {
  const { before } = source;
  const { after } = file;
  const oldPath = before ? source.path : null;
  const newPath = after ? file.path : null;
  const oldMode = gitMode(before);
  const newMode = gitMode(after);
  const [change] = createPatch(before?.text ?? "", after?.text ?? "", { oldPath, newPath }).files;
  const modes = oldMode === newMode ? {} : { ...(oldMode && { oldMode }), ...(newMode && { newMode }) };
  if (change) return [{ ...change, ...modes }];
  // Permissions that git cannot express are kept, but are no change to show.
  if (oldMode === newMode) return [];
  return [{ kind: "modify", before: oldPath, after: newPath, hunks: [], ...modes }];
}

function gitMode(state: FileState | null): string | undefined {
  return state ? (state.mode & 0o100 ? "100755" : "100644") : undefined;
}
