import type { Patch } from "../patch.js";
import { describeChanges, invertChanges, type Plan, type PlannedFile, summarize } from "./changes.js";
import { isBusy, type PlanConflict, Refused, toConflict } from "./conflict.js";
import { codeOf, contentHash, encodeText } from "./files.js";
import {
  closeJournal,
  commitJournal,
  type Journal,
  newName,
  oldName,
  openJournal,
  uncommitJournal,
} from "./journal.js";
import { type NameRules, quote, rulesHere } from "./names.js";
import { needRoot, type WaitOptions, whileBusy } from "./options.js";
import { end } from "./owner.js";
import { staleMessage } from "./plan.js";
import { type Changes, readPlan, readWritten } from "./plan-shape.js";
import { finish, recoverIn, rollBack } from "./recover.js";
import {
  type Directory,
  type NewFile,
  type Place,
  type RootOptions,
  readRegular,
  refuseCollision,
  syncTree,
  type Tree,
  walk,
  withRoot,
  withTree,
  writeNew,
} from "./root.js";

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
  if (Array.isArray(plan?.conflicts) && plan.conflicts.length > 0) return refuse(...plan.conflicts);
  return writeChanges(() => readPlan(plan, rulesHere(options.rules)), options);
}

/**
 * Reverts `applyPlan`: texts, modes, moves, and the directories it made, if they are empty then. All or none;
 * a file that has changed since is a conflict (`stale`), and the result is checked as a plan is. It can itself be undone.
 */
export async function undo(written: Written, options: WriteOptions): Promise<WriteResult> {
  needRoot(options?.root, options);
  return writeChanges(() => readWritten(written, rulesHere(options.rules)), options);
}

async function writeChanges(read: () => Changes, options: WriteOptions): Promise<WriteResult> {
  let changes: Changes;
  try {
    changes = read();
  } catch (error) {
    return refuse(toConflict(error, null));
  }
  const write = async (root: Directory): Promise<WriteResult> => {
    if (root.real !== changes.root) {
      const message = `The plan was made for the root ${quote(changes.root)}, not for ${quote(root.real)}. Plan the edit again.`;
      return refuse({ path: null, reason: "root", message });
    }
    const attempt = async (): Promise<WriteResult> => {
      const recovered = await recoverIn(root);
      if (recovered.conflict) return refuse(recovered.conflict);
      // Directories are opened for one attempt, because another process may have replaced them during the wait.
      return withTree(root, (tree) => writeFiles(changes, tree));
    };
    return whileBusy(attempt, (result) => !result.ok && result.conflicts.some(isBusy), options);
  };
  return withRoot(options.root, options, write, refuse);
}

function refuse(...conflicts: readonly PlanConflict[]): NotWritten {
  return { ok: false, conflicts };
}

async function writeFiles(changes: Changes, tree: Tree): Promise<WriteResult> {
  const { root } = tree;
  const stale: PlanConflict[] = [];
  const directories = new Set<string>();
  for (const file of changes.files) {
    try {
      for (const path of await listMissing(tree, file)) directories.add(path);
      await refuseStale(tree, file);
    } catch (error) {
      stale.push(toConflict(error, file.path));
    }
  }
  if (stale.length > 0) return refuse(...stale);
  const files = changes.files.map(({ path, before, after }) => ({
    path,
    before: before?.hash ?? null,
    mode: before?.mode ?? null,
    after: after?.hash ?? null,
  }));
  const journal = await openJournal(root, { files, directories: [...directories] });
  if (journal === null) {
    const message = "Somebody else began to apply edits in this root at the same moment. Try again.";
    return refuse({ path: null, reason: "busy", message });
  }
  const touched = new Set<string>();
  try {
    let modes: readonly (number | null)[];
    try {
      modes = await prepare(tree, journal, changes.files);
      await swap(tree, journal, changes.files, touched);
      await commitJournal(root);
    } catch (error) {
      return refuse(...(await takeBack(tree, journal, touched, error)));
    }
    // The new files are committed now; the next recovery removes any remains.
    await finish(tree, journal)
      .then(() => closeJournal(root, journal))
      .catch((error) => toConflict(error, null));
    return describeResult(changes, modes);
  } finally {
    end(journal.id);
  }
}

async function listMissing(tree: Tree, { path, before, after }: PlannedFile): Promise<string[]> {
  const place = await walk(tree, path);
  if (!after || before) return [];
  await refuseCollision(place);
  if (place.missing === null) return [];
  const parts = path.split("/");
  const depth = place.directory.path === "" ? 0 : place.directory.path.split("/").length;
  return parts.slice(depth, -1).map((_, i) => parts.slice(0, depth + i + 1).join("/"));
}

/** Checks that the file matches the plan. @throws `Refused` */
async function refuseStale(tree: Tree, { path, before }: PlannedFile): Promise<void> {
  const { directory, missing, name } = await walk(tree, path);
  const content = missing === null ? await readRegular(directory, name) : null;
  const found = content && contentHash(content.bytes);
  const wanted = before?.hash ?? null;
  if (found !== wanted) throw new Refused(path, "stale", staleMessage(path, wanted, found));
  if (content && before && (content.stat.mode & 0o7777) !== before.mode)
    throw new Refused(path, "stale", `The mode of ${quote(path)} has changed. Plan the edit again.`);
}

async function prepare(tree: Tree, journal: Journal, planned: readonly PlannedFile[]): Promise<(number | null)[]> {
  const { files } = tree.root;
  for (const path of journal.directories) {
    const { directory, name } = await walk(tree, path);
    await files.mkdir(directory.at(name)).catch((error) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
  const modes: (number | null)[] = [];
  for (const [index, { path, before, after }] of planned.entries()) {
    const place = await reach(tree, path);
    const { directory } = place;
    const owner = before && (await keepOld(place, oldName(journal, index)));
    const fresh = directory.at(newName(journal, index));
    modes.push(after && (await writeNew(files, fresh, encodeText(after.text)!, { ...after, owner })));
  }
  await syncTree(tree);
  return modes;
}

async function swap(tree: Tree, journal: Journal, planned: readonly PlannedFile[], touched: Set<string>) {
  const { files } = tree.root;
  for (const [index, file] of planned.entries()) {
    const { directory, name } = await reach(tree, file.path);
    await refuseStale(tree, file);
    touched.add(file.path);
    const [fresh, target] = [directory.at(newName(journal, index)), directory.at(name)];
    if (!file.after) await files.unlink(target);
    else if (file.before) await files.rename(fresh, target);
    // A link never replaces a file that appeared there meanwhile.
    else
      await files.link(fresh, target).catch((error) => {
        const message = `${quote(file.path)} has been made by somebody else. Read it.`;
        if (codeOf(error) === "EEXIST") throw new Refused(file.path, "stale", message);
        if (!UNLINKABLE.has(codeOf(error))) throw error;
        return files.rename(fresh, target);
      });
  }
  await syncTree(tree);
}

async function keepOld({ directory, name }: Place, backup: string): Promise<NewFile["owner"]> {
  const { files } = directory;
  try {
    await files.link(directory.at(name), directory.at(backup));
  } catch (error) {
    if (!UNLINKABLE.has(codeOf(error))) throw error;
    const { bytes, stat } = (await readRegular(directory, name))!;
    await writeNew(files, directory.at(backup), bytes, { mode: stat.mode & 0o7777, owner: stat });
    return stat;
  }
  return files.lstat(directory.at(backup));
}

// EPERM: the file system has no links, or protects other users' files from them (fs.protected_hardlinks).
const UNLINKABLE = new Set<string | undefined>("EPERM EACCES ENOTSUP EOPNOTSUPP ENOSYS EMLINK EXDEV".split(" "));

async function reach(tree: Tree, path: string): Promise<Place> {
  const place = await walk(tree, path);
  if (place.missing !== null) throw new Refused(path, "missing", `The directory of ${quote(path)} is gone.`);
  await place.directory.verify();
  return place;
}

function describeResult({ root, files, moves, preview }: Changes, modes: readonly (number | null)[]): Written {
  const written = files.map((file, index) => {
    const { text, hash, mode } = file.after ?? { text: "", hash: "", mode: 0 };
    return file.after ? { ...file, after: { text, hash, mode: modes[index] ?? mode } } : file;
  });
  const inverse = invertChanges(written, moves);
  const reverting = describeChanges(inverse.files, inverse.moves);
  return { ok: true, root, files: written, moves, ...summarize(preview), inverse: reverting };
}

async function takeBack(tree: Tree, journal: Journal, touched: ReadonlySet<string>, failure: unknown) {
  const conflicts = [toConflict(failure, null)];
  try {
    await uncommitJournal(tree.root);
    for (const { path, old } of await rollBack(tree, journal, touched)) {
      const message = `${quote(path)} was changed by somebody else while it was written; its text before that is beside it, as ${old}.`;
      conflicts.push({ path, reason: "stale", message });
    }
    await closeJournal(tree.root, journal);
  } catch {
    const message = "Taking the edits back failed too; the next call in this root, or recover, does it.";
    conflicts.push({ path: null, reason: "interrupted", message });
  }
  return conflicts;
}
