import type { Patch } from "../patch.js";
import { describeChanges, invertChanges, type Plan, summarize } from "./changes.js";
import { isBusy, type PlanConflict, toConflict } from "./conflict.js";
import { contentHash, encodeText, type Files } from "./files.js";
import { closeJournal, commitJournal, type Journal, openJournal, uncommitJournal } from "./journal.js";
import { type NameRules, quote, rulesHere } from "./names.js";
import { needRoot, type WaitOptions, whileBusy } from "./options.js";
import { end } from "./owner.js";
import { type Changes, type ChangesReading, readPlan, readWritten } from "./plan-shape.js";
import { finish, recoverIn, rollBack } from "./recover.js";
import { type Directory, type RootOptions, type Tree, withRoot, withTree } from "./root.js";
import { type FileWrite, listMissing, prepare, refuseStale, swap } from "./step.js";

export type WriteResult = Written | NotWritten;

/** The changes as in the plan, but with the modes that the files have now. `undo` reverts them from here. */
export interface Written extends Pick<Plan, "root" | "files" | "moves" | "changes" | "summary"> {
  readonly ok: true;
  /** The patch that reverts the change. */
  readonly inverse: Patch;
}

export interface NotWritten {
  readonly ok: false;
  readonly conflicts: readonly PlanConflict[];
}

export interface WriteOptions extends RootOptions, WaitOptions {
  /** The directory that may be changed. A plan for another root is refused. */
  readonly root: string;
  /** Which names are refused; the same as for `planEdits`. @default "windows" */
  readonly rules?: NameRules | undefined;
}

/**
 * Applies a plan: all of its files, or none. It refuses a plan with conflicts, for a root other than the caller's, or with
 * false claims (names, hashes, modes, preview). It also refuses a plan that no longer fits the disk (`stale`: bytes or mode
 * differ from the plan's `before`); this is checked again right before each file is replaced.
 * A reader sees each file whole, old or new. A crash at any point leaves a journal, from which the next call, or `recover`,
 * restores all the old files or completes all the new ones. Never throws for the state of the disk or of the plan.
 */
export async function applyPlan(plan: Plan, options: WriteOptions): Promise<WriteResult> {
  needRoot(options?.root, options);
  return writeChanges(readPlan(plan, rulesHere(options.rules)), options);
}

/**
 * Reverts `applyPlan`: texts, modes, moves, and the directories it made, if they are empty then. All or none;
 * a file that has changed since is a conflict (`stale`), and the result is checked as a plan is. It can itself be undone.
 */
export async function undo(written: Written, options: WriteOptions): Promise<WriteResult> {
  needRoot(options?.root, options);
  return writeChanges(readWritten(written, rulesHere(options.rules)), options);
}

async function writeChanges(reading: ChangesReading, options: WriteOptions): Promise<WriteResult> {
  if (!reading.ok) return reading;
  const { changes } = reading;
  const steps = changes.files.map((file, index) => ({
    file,
    index,
    name: file.path.slice(file.path.lastIndexOf("/") + 1),
    bytes: file.after && encodeText(file.after.text),
  }));
  const write = async (root: Directory, files: Files): Promise<WriteResult> => {
    if (root.real !== changes.root) return refuse(otherRoot(changes.root, root.real));
    const attempt = async (): Promise<WriteResult> => {
      const recovered = await recoverIn(root, files);
      if (recovered.conflict) return refuse(recovered.conflict);
      // Directories are opened for one attempt, because another process may have replaced them during the wait.
      return withTree(root, files, (tree) => writeSteps(changes, steps, tree));
    };
    return whileBusy(attempt, (result) => !result.ok && result.conflicts.some(isBusy), options);
  };
  return withRoot(options.root, options, write, refuse);
}

function otherRoot(claimed: string, real: string): PlanConflict {
  const message = `The plan was made for the root ${quote(claimed)}, not for ${quote(real)}. Plan the edit again.`;
  return { path: null, reason: "root", message };
}

function refuse(...conflicts: readonly PlanConflict[]): NotWritten {
  return { ok: false, conflicts };
}

async function writeSteps(changes: Changes, steps: readonly FileWrite[], tree: Tree): Promise<WriteResult> {
  const { root, files } = tree;
  const stale: PlanConflict[] = [];
  const directories = new Set<string>();
  for (const step of steps) {
    try {
      for (const path of await listMissing(tree, step)) directories.add(path);
      await refuseStale(tree, step);
    } catch (error) {
      stale.push(toConflict(error, step.file.path));
    }
  }
  if (stale.length > 0) return refuse(...stale);
  const entries = steps.map(({ file: { path, before }, bytes }) => ({
    path,
    before: before?.hash ?? null,
    mode: before?.mode ?? null,
    after: bytes && contentHash(bytes),
  }));
  const journal = await openJournal(root, files, entries, [...directories]);
  if (journal === null) return refuse(lost);
  const touched = new Set<string>();
  try {
    let modes: readonly (number | null)[];
    try {
      modes = await prepare(tree, journal, steps);
      await swap(tree, journal, steps, touched);
      await commitJournal(root, files);
    } catch (error) {
      return refuse(...(await takeBack(tree, journal, touched, error)));
    }
    // The new files are committed now; the next recovery removes any remains.
    await finish(tree, journal)
      .then(() => closeJournal(root, files, journal))
      .catch((error) => toConflict(error, null));
    return describeResult(changes, modes);
  } finally {
    end(journal.id);
  }
}

const lost: PlanConflict = {
  path: null,
  reason: "busy",
  message: "Somebody else began to apply edits in this root at the same moment. Try again.",
};

function describeResult({ root, files, moves, preview }: Changes, modes: readonly (number | null)[]): Written {
  const written = files.map((file, index) => {
    const { text, hash, mode } = file.after ?? { text: "", hash: "", mode: 0 };
    return file.after ? { ...file, after: { text, hash, mode: modes[index] ?? mode } } : file;
  });
  const inverse = invertChanges(written, moves);
  const reverting = describeChanges(inverse.files, inverse.moves);
  return { ok: true, root, files: written, moves, ...summarize(preview), inverse: reverting };
}

/** Rolls back after a failure; reports the failure, and the files that could not be restored. */
async function takeBack(
  tree: Tree,
  journal: Journal,
  touched: ReadonlySet<string>,
  failure: unknown,
): Promise<PlanConflict[]> {
  const conflicts = [toConflict(failure, null)];
  try {
    await uncommitJournal(tree.root, tree.files);
    for (const { path, old } of await rollBack(tree, journal, touched)) {
      const message = `${quote(path)} was changed by somebody else while it was written; its text before that is beside it, as ${old}.`;
      conflicts.push({ path, reason: "stale", message });
    }
    await closeJournal(tree.root, tree.files, journal);
  } catch {
    const message = "Taking the edits back failed too; the next call in this root, or recover, does it.";
    conflicts.push({ path: null, reason: "interrupted", message });
  }
  return conflicts;
}
