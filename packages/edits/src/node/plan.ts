import { resolve } from "node:path";
import type { FilePatch, Patch } from "../patch.js";
import type { AppliedHunk } from "../result.js";
import { readToolCall, type ToolCall } from "./call.js";
import { describeChanges, type Plan, type PlannedFile, summarize } from "./changes.js";
import { isBusy, type PlanConflict, Refused, toConflict } from "./conflict.js";
import type { Files } from "./files.js";
import { checkName, quote, rulesHere, stripRoot } from "./names.js";
import { needRoot, type PlanOptions, whileBusy } from "./options.js";
import { recoverIn } from "./recover.js";
import { type Directory, type Tree, withRoot, withTree } from "./root.js";
import { checkShape, isRecord } from "./shape.js";
import { type Episode, look, type Stage, stageFile } from "./stage.js";

const LIMIT = 64 << 20;

/**
 * Computes the effect of patches or tool calls on the files below a root, without writing any. Several of them, and several
 * file patches for one path, apply in turn; so do the blocks of one file patch if they have no line numbers and do not all
 * fit the original file. A tool call is read with the text of its file: `old_str` may be a part of a line, a text without a
 * command replaces the file, and `command: "create"` is refused where a file is there.
 * Never throws for a bad edit: every refusal is one of the plan's conflicts. An option of another type is a TypeError.
 * First undoes or finishes a plan that a crash interrupted.
 */
export async function planEdits(
  edits: Patch | ToolCall | readonly (Patch | ToolCall)[],
  options: PlanOptions,
): Promise<Plan> {
  needRoot(options?.root, options);
  const plan = async (root: Directory, files: Files): Promise<Plan> => {
    const attempt = () => recoverIn(root, files);
    const { conflict } = await whileBusy(attempt, ({ conflict }) => !!conflict && isBusy(conflict), options);
    // While another plan is half applied, a conflict with its files would mean nothing.
    if (conflict) return emptyPlan(root.real, conflict);
    return withTree(root, files, (tree) => planIn(tree, edits, options));
  };
  return withRoot(options.root, options, plan, (conflict) => emptyPlan(options.root, conflict));
}

function emptyPlan(root: string, conflict: PlanConflict): Plan {
  const preview = { files: [] };
  return { root, files: [], moves: [], preview, ...summarize(preview, [conflict]), hunks: [], conflicts: [conflict] };
}

async function planIn(tree: Tree, edits: unknown, options: PlanOptions): Promise<Plan> {
  const { real } = tree.root;
  const roots = [resolve(options.root), real];
  const conflicts: PlanConflict[] = [];
  const hunks: { path: string; hunks: readonly AppliedHunk[] }[] = [];
  const stage: Stage = {
    tree,
    rules: rulesHere(options.rules),
    roots,
    limit: options.limit ?? LIMIT,
    apply: options.apply ?? {},
    ranges: new Map(Object.entries(options.at ?? {}).map(([path, range]) => [stripRoot(path, roots), range])),
    disk: new Map(),
    now: new Map(),
    moves: [],
    folds: new Map(),
  };
  await checkPreconditions(stage, options.preconditions ?? {}, conflicts);
  for (const edit of Array.isArray(edits) ? edits : [edits]) {
    if (isRecord(edit) && "files" in edit) await stagePatch(stage, edit, conflicts, hunks);
    else
      for await (const read of readToolCall(stage, edit))
        if ("conflict" in read) conflicts.push(read.conflict);
        else await stagePatch(stage, read.patch, conflicts, hunks);
  }
  const files = await listChanges(stage, conflicts);
  const { moves } = stage;
  const preview = describeChanges(files, moves);
  return { root: real, files, moves, preview, ...summarize(preview, conflicts), hunks, conflicts };
}

async function checkPreconditions(
  stage: Stage,
  preconditions: Readonly<Record<string, string | null>>,
  conflicts: PlanConflict[],
): Promise<void> {
  for (const [given, wanted] of Object.entries(preconditions)) {
    const path = stripRoot(given, stage.roots);
    try {
      const name = checkName(path, stage.rules);
      if (!name.ok) throw new Refused(path, name.reason, name.message);
      const hash = (await look(stage, name.parts.join("/")))?.hash ?? null;
      if (hash !== wanted) conflicts.push({ path, reason: "stale", message: staleMessage(path, wanted, hash) });
    } catch (error) {
      conflicts.push(toConflict(error, path));
    }
  }
}

export function staleMessage(path: string, wanted: string | null, found: string | null): string {
  return `${quote(path)} has changed: ${found === null ? "it is gone" : `it is ${found}`}, ${wanted === null ? "and should not exist" : `not ${wanted}`}. Read it again.`;
}

async function stagePatch(
  stage: Stage,
  patch: { readonly files?: unknown },
  conflicts: PlanConflict[],
  hunks: { path: string; hunks: readonly AppliedHunk[] }[],
): Promise<void> {
  if (!Array.isArray(patch.files)) {
    conflicts.push({ path: null, reason: "malformed", message: "The patch has no array of files." });
    return;
  }
  const sound: FilePatch[] = [];
  patch.files.forEach((file: FilePatch, index) => {
    const wrong = checkShape(file);
    if (wrong === null) sound.push(stripRoots(file, stage.roots));
    else conflicts.push({ path: null, reason: "malformed", message: `File ${index + 1} of the patch ${wrong}.` });
  });
  const leaves = ({ kind }: FilePatch) => kind === "rename" || kind === "delete";
  const leaving = new Map<string, number>();
  const count = (file: FilePatch, by: number) => {
    if (!leaves(file)) return;
    const path = file.before!.replace(/^\.\//, "");
    leaving.set(path, (leaving.get(path) ?? 0) + by);
  };
  for (const file of sound) count(file, 1);
  const episode: Episode = {
    base: new Map(stage.now),
    leaving,
    placed: new Set(),
    taken: new Set(),
    displaced: new Map(),
  };
  for (const file of sound) {
    count(file, -1);
    try {
      hunks.push(await stageFile(stage, episode, file));
    } catch (error) {
      conflicts.push(toConflict(error, file.after ?? file.before));
    }
  }
}

/** Tools that use absolute paths write `a//home/me/project/x`; inside the root it is the file's own path. */
function stripRoots(file: FilePatch, roots: readonly string[]): FilePatch {
  const strip = (path: string | null) => path && stripRoot(path, roots);
  return { ...file, before: strip(file.before), after: strip(file.after) };
}

/** Compares the stage with the disk; unchanged paths are left out. */
async function listChanges(stage: Stage, conflicts: PlanConflict[]): Promise<PlannedFile[]> {
  const planned: PlannedFile[] = [];
  for (const [path, after] of stage.now) {
    const before = stage.disk.get(path) ?? null;
    if (after) checkParents(stage, path, conflicts);
    if (before?.hash === after?.hash && before?.mode === after?.mode) continue;
    planned.push({ path, before, after });
  }
  return planned.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A file that the plan keeps cannot be another one's directory. */
function checkParents(stage: Stage, path: string, conflicts: PlanConflict[]): void {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const parent = path.slice(0, end);
    if (!stage.now.get(parent)) continue;
    conflicts.push({
      path,
      reason: "not-directory",
      message: `${quote(parent)} is a file, so ${quote(path)} cannot be in it.`,
    });
  }
}
