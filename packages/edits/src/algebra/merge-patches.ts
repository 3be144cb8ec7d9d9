import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import { linesOf, meet, readChanges, type Turn, writeHunks } from "./spans.js";

export type PatchMerge =
  | { readonly ok: true; readonly patch: Patch }
  | { readonly ok: false; readonly conflicts: readonly PatchConflict[] };

export interface PatchConflict {
  /** The file's path before the change; the path after it for a created file. */
  readonly path: string;
  /**
   * `overlap`: both change or touch the same lines differently. `base`: they were made from different texts.
   * `no-place`: a hunk has no line numbers. `file`: they create, delete, rename or replace the file differently.
   */
  readonly reason: "overlap" | "base" | "no-place" | "file";
  /** The hunks concerned, by id. */
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

/**
 * Merges two patches of the same base into one. Changes that overlap or touch are a conflict unless they are the same.
 */
export function mergePatches(ours: Patch, theirs: Patch): PatchMerge {
  needPatch({ ours, theirs });
  const files: FilePatch[] = [];
  const conflicts: PatchConflict[] = [];
  const others = new Map(theirs.files.map((file) => [pathOf(file), file]));
  for (const file of ours.files) {
    const other = others.get(pathOf(file));
    others.delete(pathOf(file));
    const merged = other === undefined ? file : mergeFiles(file, other);
    if ("ours" in merged) conflicts.push(merged);
    else files.push(merged);
  }
  return conflicts.length === 0
    ? { ok: true, patch: { files: [...files, ...others.values()] } }
    : { ok: false, conflicts };
}

function pathOf({ before, after }: FilePatch): string {
  return before ?? after ?? "";
}

function mergeFiles(ours: FilePatch, theirs: FilePatch): FilePatch | PatchConflict {
  if (isEqual(ours, theirs)) return ours;
  const conflict = (reason: PatchConflict["reason"], mine = ours.hunks, other = theirs.hunks): PatchConflict => ({
    path: pathOf(ours),
    reason,
    ours: idsOf(mine),
    theirs: idsOf(other),
  });
  const header = mergeHeaders(ours, theirs);
  if (header === null) return conflict("file");
  const shown = new Map<number, string>();
  const left = readChanges(ours.hunks, shown);
  if (typeof left === "string") return conflict(left);
  const right = readChanges(theirs.hunks, shown);
  if (typeof right === "string") return conflict(right);
  const turns: Turn[] = [];
  for (const meeting of meet(left, right)) {
    const { left: first, right: second } = meeting;
    const [mine, other] = [first, second].map((changes) => linesOf(meeting, changes, shown));
    if (first.length > 0 && second.length > 0 && !isEqual(mine, other)) {
      const [own, their] = [first, second].map((changes) => changes.map(({ hunk }) => hunk));
      return conflict("overlap", own, their);
    }
    turns.push({ ...meeting, before: linesOf(meeting, [], shown), after: first.length > 0 ? mine! : other! });
  }
  return { ...header, hunks: writeHunks(turns, shown) };
}

/** What both make of the file itself; null where they differ about it. */
function mergeHeaders(ours: FilePatch, theirs: FilePatch): FilePatch | null {
  const [moved, rest] = ours.kind === "modify" && theirs.kind !== "modify" ? [theirs, ours] : [ours, theirs];
  const agree = rest.kind === "modify" || rest.after === moved.after;
  const oldMode = ours.oldMode ?? theirs.oldMode;
  const modes = new Set([ours.newMode, theirs.newMode].filter((mode) => mode !== undefined && mode !== ours.oldMode));
  if (!/^(?:modify|rename)$/.test(moved.kind) || !agree || ours.whole || theirs.whole || modes.size > 1) return null;
  const { git: _, ...header } = moved;
  const newMode = [...modes][0] ?? oldMode;
  return { ...header, ...(oldMode !== undefined && { oldMode }), ...(newMode !== undefined && { newMode }) };
}

function idsOf(hunks: readonly Hunk[]): string[] {
  return [...new Set(hunks.map(({ id }) => id))];
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
