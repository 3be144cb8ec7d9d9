import { resolve } from "node:path";
import type { Patch } from "../patch.js";
import { readToolCall, type ToolCall } from "./call.js";
import { describeChanges, type Plan, type PlannedFile, summarize } from "./changes.js";
import { isBusy, type PlanConflict, Refused, toConflict } from "./conflict.js";
import { checkName, quote, rulesHere, stripRoot } from "./names.js";
import { needRoot, type PlanOptions, whileBusy } from "./options.js";
import { inFile } from "./plan-shape.js";
import { recoverIn } from "./recover.js";
import { type Directory, type Tree, withRoot, withTree } from "./root.js";
import { isRecord } from "./shape.js";
import { look, type Stage, stagePatch } from "./stage.js";

const MAX_BYTES = 64 << 20;

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
  const plan = async (root: Directory): Promise<Plan> => {
    const attempt = () => recoverIn(root);
    const { conflict } = await whileBusy(attempt, ({ conflict }) => !!conflict && isBusy(conflict), options);
    // While another plan is half applied, a conflict with its files would mean nothing.
    if (conflict) return emptyPlan(root.real, conflict);
    return withTree(root, (tree) => planIn(tree, edits, options));
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
  const stage: Stage = {
    tree,
    rules: rulesHere(options.rules),
    roots,
    limit: options.limit ?? MAX_BYTES,
    apply: options.apply ?? {},
    ranges: new Map(Object.entries(options.at ?? {}).map(([path, range]) => [stripRoot(path, roots), range])),
    disk: new Map(),
    now: new Map(),
    moves: [],
    folds: new Map(),
    conflicts: [],
    hunks: [],
  };
  const { moves, hunks, conflicts } = stage;
  await checkPreconditions(stage, options.preconditions ?? {});
  for (const edit of Array.isArray(edits) ? edits : [edits]) {
    if (isRecord(edit) && "files" in edit) await stagePatch(stage, edit);
    else
      for await (const read of readToolCall(stage, edit))
        if ("conflict" in read) conflicts.push(read.conflict);
        else await stagePatch(stage, read.patch);
  }
  const files = listChanges(stage);
  const preview = describeChanges(files, moves);
  return { root: real, files, moves, preview, ...summarize(preview, conflicts), hunks, conflicts };
}

async function checkPreconditions(stage: Stage, wantedHashes: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [given, wanted] of Object.entries(wantedHashes)) {
    const path = stripRoot(given, stage.roots);
    try {
      const name = checkName(path, stage.rules);
      if (!name.ok) throw new Refused(path, name.reason, name.message);
      const hash = (await look(stage, name.parts.join("/")))?.hash ?? null;
      if (hash !== wanted) throw new Refused(path, "stale", staleMessage(path, wanted, hash));
    } catch (error) {
      stage.conflicts.push(toConflict(error, path));
    }
  }
}

export function staleMessage(path: string, wanted: string | null, found: string | null): string {
  const is = found === null ? "it is gone" : `it is ${found}`;
  return `${quote(path)} has changed: ${is}, ${wanted === null ? "and should not exist" : `not ${wanted}`}. Read it again.`;
}

function listChanges({ now, disk, conflicts }: Stage): PlannedFile[] {
  const planned: PlannedFile[] = [];
  for (const [path, after] of now) {
    const before = disk.get(path) ?? null;
    for (let end = path.lastIndexOf("/"); after && end > 0; end = path.lastIndexOf("/", end - 1))
      if (now.get(path.slice(0, end))) conflicts.push(inFile(path, path.slice(0, end)).conflict);
    if (before?.hash !== after?.hash || before?.mode !== after?.mode) planned.push({ path, before, after });
  }
  const known = new Set(planned.map(({ before }) => before && before.mode & ~0o111));
  return planned.map((file) => asCopy(file, known)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A moved file whose old name has it again is a copy, which has the mode of a new file. */
function asCopy({ path, before, after }: PlannedFile, known: ReadonlySet<number | null>): PlannedFile {
  const isCopy = before === null && after !== null && !after.umask && !known.has(after.mode & ~0o111);
  return { path, before, after: isCopy ? { ...after, mode: after.mode & 0o100 ? 0o755 : 0o644, umask: true } : after };
}
