import { FileRefusal, type PlanConflict } from "./conflict.js";
import { codeOf, contentHash, type Files, orMissing } from "./files.js";
import {
  closeJournal,
  type FoundJournal,
  type Journal,
  newName,
  oldName,
  readJournal,
  removeDrafts,
  removeEnded,
} from "./journal.js";
import { needRoot } from "./options.js";
import { isAlive } from "./owner.js";
import { isRecorded } from "./records.js";
import {
  type Content,
  type Directory,
  READ_LIMIT,
  type RootOptions,
  readRegular,
  syncTree,
  type Tree,
  walk,
  withRoot,
  withTree,
} from "./root.js";

export interface Recovery {
  /** `clean`: nothing to do. `rolled-back`: all files are the old ones. `completed`: all are the new ones. */
  readonly state: "clean" | "rolled-back" | "completed" | "refused";
  /** Paths changed by others after the crash: their text stays, and the old one is kept beside it under the given name. */
  readonly kept: readonly { readonly path: string; readonly old: string }[];
  readonly conflict?: PlanConflict | undefined;
}

/**
 * Rolls a crashed `applyPlan` back or completes it. It may itself be killed at any point and run again.
 * A plan that a living process is applying is left alone (`busy`).
 */
export async function recover(root: string, options: RootOptions = {}): Promise<Recovery> {
  needRoot(root, options);
  const recoverRoot = async (directory: Directory, files: Files): Promise<Recovery> => {
    await removeEnded(directory, files);
    return recoverIn(directory, files);
  };
  return withRoot(root, options, recoverRoot, (conflict) => ({ state: "refused", kept: [], conflict }));
}

/** `recover` in an open root, which stays open. */
export async function recoverIn(root: Directory, files: Files): Promise<Recovery> {
  await removeDrafts(root, files);
  const found = await readSettled(root, files);
  if (found === null) return { state: "clean", kept: [] };
  const { journal, state, hash } = found;
  if (journal === null) return refuseJournal("cannot be read");
  if (isAlive(journal.owner, journal.id)) return { state: "refused", kept: [], conflict: busy(journal) };
  if (!(await isRecorded(root, files, journal.id, hash)))
    return refuseJournal("came with the folder or is another user's: this user has no record of it");
  const isPending = state === "pending";
  const kept = await withTree(root, files, (tree) => (isPending ? rollBack(tree, journal) : finish(tree, journal)));
  // Another process may have recovered the same journal meanwhile, and the present one may be a live lock.
  if (isSame(found, await readJournal(root, files))) await closeJournal(root, files, journal);
  return { state: isPending ? "rolled-back" : "completed", kept };
}

function refuseJournal(why: string): Recovery {
  const message = `The root's journal (.parlance-journal) ${why}. If nothing else is applying edits, remove it.`;
  return { state: "refused", kept: [], conflict: { path: null, reason: "journal", message } };
}

/** How many times to reread a journal that changes while it is read. */
const READINGS = 100;

/**
 * Reads the journal of a live process, or one that outlived its process. Otherwise a journal read while its process
 * finished would count as crashed, and the next process's lock would be taken for it.
 */
async function readSettled(root: Directory, files: Files): Promise<FoundJournal | null> {
  let found = await readJournal(root, files);
  for (let readings = 1; found !== null && readings < READINGS; readings++) {
    if (found.journal && isAlive(found.journal.owner, found.journal.id)) return found;
    const again = await readJournal(root, files);
    if (isSame(found, again)) return again;
    found = again;
  }
  return found;
}

function isSame(one: FoundJournal, other: FoundJournal | null): boolean {
  return one.journal?.id === other?.journal?.id && one.state === other?.state;
}

function busy({ owner }: Journal): PlanConflict {
  const message = `Process ${owner.pid} on ${owner.host} is applying edits in this root. Try again when it has ended; if it is gone, remove .parlance-journal.`;
  return { path: null, reason: "busy", message };
}

/** Restores the old files. `touched` lists the replaced targets, if known. */
export async function rollBack(
  tree: Tree,
  journal: Journal,
  touched?: ReadonlySet<string>,
): Promise<{ path: string; old: string }[]> {
  const { files } = tree;
  const kept: { path: string; old: string }[] = [];
  await eachFile(tree, journal, async (directory, name, index) => {
    const { path, before, after, mode } = journal.files[index]!;
    const spare = directory.at(newName(journal, index));
    const backup = oldName(journal, index);
    if (before === null) await removeCreated(files, directory, name, after!, newName(journal, index));
    else {
      const old = await readOrNothing(files, directory, backup);
      // A partly copied backup is no backup; its target is untouched then.
      if (old !== null && contentHash(old.bytes) === before && (old.stat.mode & 0o7777) === mode) {
        const there = await orMissing(files.lstat(directory.at(name)));
        const target = await readOrNothing(files, directory, name);
        const hash = target && contentHash(target.bytes);
        const replaced = touched ? touched.has(path) : there?.ino !== old.stat.ino;
        if (replaced && hash === after && (there === null) === (after === null))
          await files.rename(directory.at(backup), directory.at(name));
        else if (replaced && hash !== before) {
          kept.push({ path, old: backup });
          await orMissing(files.unlink(spare));
          return;
        }
      }
      await orMissing(files.unlink(directory.at(backup)));
    }
    await orMissing(files.unlink(spare));
  });
  for (const path of [...journal.directories].reverse()) await removeEmpty(tree, path);
  return kept;
}

/** Removes a new file if it is still the one that the plan wrote. */
async function removeCreated(
  files: Files,
  directory: Directory,
  name: string,
  after: string,
  spare: string,
): Promise<void> {
  const target = await readOrNothing(files, directory, name);
  if (target === null || contentHash(target.bytes) !== after) return;
  const source = await orMissing(files.lstat(directory.at(spare)));
  if (source === null || source.ino === target.stat.ino) await files.unlink(directory.at(name));
}

/** Removes temporary files and backups, and directories that the plan emptied. */
export async function finish(tree: Tree, journal: Journal): Promise<[]> {
  const { files } = tree;
  await eachFile(tree, journal, async (directory, _name, index) => {
    await orMissing(files.unlink(directory.at(newName(journal, index))));
    await orMissing(files.unlink(directory.at(oldName(journal, index))));
  });
  // As git has it: a directory whose last file went goes too.
  for (const { path, after } of journal.files) {
    if (after !== null) continue;
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
      if (!(await removeEmpty(tree, path.slice(0, end)))) break;
  }
  return [];
}

async function eachFile(
  tree: Tree,
  journal: Journal,
  visit: (directory: Directory, name: string, index: number) => Promise<void>,
): Promise<void> {
  for (const [index, { path }] of journal.files.entries()) {
    const parts = path.split("/");
    const directory = await walkOrNothing(tree, parts);
    if (directory) await visit(directory, parts.at(-1)!, index);
  }
  await syncTree(tree);
}

/** Null if the path is gone or no longer consists of plain directories: then none of our files can be reached. */
async function walkOrNothing(tree: Tree, parts: readonly string[]): Promise<Directory | null> {
  try {
    const { directory, missing } = await walk(tree, parts);
    return missing === null ? directory : null;
  } catch (error) {
    if (error instanceof FileRefusal) return null;
    throw error;
  }
}

/** Reads the entry if it is a regular file; anything else was put there by others and is left alone. */
async function readOrNothing(files: Files, directory: Directory, name: string): Promise<Content | null> {
  try {
    return await readRegular(files, directory, name, READ_LIMIT);
  } catch (error) {
    if (error instanceof FileRefusal) return null;
    throw error;
  }
}

async function removeEmpty(tree: Tree, path: string): Promise<boolean> {
  const parts = path.split("/");
  const parent = await walkOrNothing(tree, parts);
  if (parent === null) return false;
  try {
    await tree.files.rmdir(parent.at(parts.at(-1)!));
    return true;
  } catch (error) {
    // Not empty, missing, or no longer a directory: it must stay.
    if (["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return false;
    throw error;
  }
}
