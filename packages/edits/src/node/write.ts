import type { Patch } from "../patch.js";
import { type PlanConflict, toConflict } from "./conflict.js";
import { nodeFiles } from "./files.js";
import { contentHash, encodeText } from "./hash.js";
import { closeJournal, commitJournal, type Journal, openJournal, uncommitJournal } from "./journal.js";
import { checkName, quote } from "./names.js";
import { end } from "./owner.js";
import type { Move, Plan, PlannedFile } from "./planned.js";
import { describeChanges, invertChanges } from "./preview.js";
import { finish, recoverIn, rollBack } from "./recover.js";
import { type Directory, openRoot, type RootOptions } from "./root.js";
import { listMissing, prepare, refuseStale, type Step, swap } from "./step.js";
import { closeTree, growTree, type Tree } from "./tree.js";

export type WriteResult = Written | NotWritten;

export interface Written {
  readonly ok: true;
  readonly root: string;
  /** What was changed: `before` and `after` have the hashes of the bytes. `undo` takes it back from here. */
  readonly files: readonly PlannedFile[];
  readonly moves: readonly Move[];
  /** The patch that takes it back, for whoever keeps patches. */
  readonly inverse: Patch;
}

export interface NotWritten {
  readonly ok: false;
  readonly conflicts: readonly PlanConflict[];
}

/**
 * Carries a plan out: all of its files, or none. A plan with conflicts is refused, and so is one that no longer fits what
 * is on disk (`stale`: bytes or mode differ from the plan's `before`), looked at again right before each file is replaced.
 * A reader sees each file whole, old or new. A crash at any point leaves a journal, by which the next call, or `recover`,
 * goes back to all the old files or on to all the new ones. Never throws for what is on disk or in the plan.
 */
export async function applyPlan(plan: Plan, options: RootOptions = {}): Promise<WriteResult> {
  if (plan.conflicts.length > 0) return { ok: false, conflicts: plan.conflicts };
  const files = options.files ?? nodeFiles;
  const steps: Step[] = [];
  for (const [index, file] of plan.files.entries()) {
    const checked = checkName(file.path, "posix");
    if (!checked.ok) return refuse({ path: file.path, reason: checked.reason, message: checked.message });
    const bytes = file.after && encodeText(file.after.text);
    if (file.after && !bytes)
      return refuse({ path: file.path, reason: "not-utf8", message: "The new text cannot be encoded." });
    steps.push({ file, index, name: checked.parts.at(-1)!, bytes });
  }
  let root: Directory;
  try {
    root = await openRoot(plan.root, options);
  } catch (error) {
    return refuse(toConflict(error, null));
  }
  const tree = growTree(root, files);
  try {
    const recovered = await recoverIn(root, files);
    if (recovered.conflict) return refuse(recovered.conflict);
    return await carryOut(plan, steps, tree);
  } catch (error) {
    return refuse(toConflict(error, null));
  } finally {
    await closeTree(tree);
  }
}

function refuse(...conflicts: PlanConflict[]): NotWritten {
  return { ok: false, conflicts };
}

async function carryOut(plan: Plan, steps: readonly Step[], tree: Tree): Promise<WriteResult> {
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
    // The files are the new ones now, whatever happens; what cannot be cleared away is left to the next recovery.
    await finish(tree, journal)
      .then(() => closeJournal(root, files, journal))
      .catch((error) => toConflict(error, null));
    return describeResult(plan, modes);
  } finally {
    end(journal.id);
  }
}

const lost: PlanConflict = {
  path: null,
  reason: "busy",
  message: "Somebody else began to apply edits in this root at the same moment. Try again.",
};

function describeResult({ root, files, moves }: Plan, modes: readonly (number | null)[]): Written {
  const written = files.map((file, index) => {
    const { text, hash, mode } = file.after ?? { text: "", hash: "", mode: 0 };
    return file.after ? { ...file, after: { text, hash, mode: modes[index] ?? mode } } : file;
  });
  const inverse = invertChanges(written, moves);
  return { ok: true, root, files: written, moves, inverse: describeChanges(inverse.files, inverse.moves) };
}

/** Goes back to the old files after a failure; says what failed, and what could not be taken back. */
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
