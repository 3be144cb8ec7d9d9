import { type PlanConflict, Refused } from "./conflict.js";
import { codeOf, contentHash, orMissing } from "./files.js";
import * as journals from "./journal.js";
import { type FoundJournal, type Journal, newName, oldName, readJournal } from "./journal.js";
import { needRoot } from "./options.js";
import { isAlive } from "./owner.js";
import { isRecorded } from "./records.js";
import {
  type Content,
  type Directory,
  type Place,
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
  const recoverRoot = async (directory: Directory): Promise<Recovery> => {
    await journals.removeEnded(directory);
    return recoverIn(directory);
  };
  return withRoot(root, options, recoverRoot, (conflict) => ({ state: "refused", kept: [], conflict }));
}

/** `recover` in an open root, which stays open. */
export async function recoverIn(root: Directory): Promise<Recovery> {
  await journals.removeDrafts(root);
  const found = await readSettled(root);
  if (found === null) return { state: "clean", kept: [] };
  const { journal, state, hash } = found;
  if (journal === null) return refuseJournal("cannot be read");
  if (isAlive(journal.owner, journal.id)) return { state: "refused", kept: [], conflict: busy(journal) };
  if (!(await isRecorded(root, journal.id, hash)))
    return refuseJournal("came with the folder or is another user's: this user has no record of it");
  const isPending = state === "pending";
  const kept = await withTree(root, (tree) => (isPending ? rollBack(tree, journal) : finish(tree, journal)));
  // Another process may have recovered the same journal meanwhile, and the present one may be a live lock.
  if (isSame(found, await readJournal(root))) await journals.closeJournal(root, journal);
  return { state: isPending ? "rolled-back" : "completed", kept };
}

function refuseJournal(why: string): Recovery {
  const message = `The root's journal (.parlance-journal) ${why}. If nothing else is applying edits, remove it.`;
  return { state: "refused", kept: [], conflict: { path: null, reason: "journal", message } };
}

/** How many times to reread a journal that changes while it is read. */
const MAX_READINGS = 100;

/** Reads until nothing changes: else a journal whose process ends meanwhile would count as crashed, and the next lock as it. */
async function readSettled(root: Directory): Promise<FoundJournal | null> {
  let found = await readJournal(root);
  for (let readings = 1; found !== null && readings < MAX_READINGS; readings++) {
    if (found.journal && isAlive(found.journal.owner, found.journal.id)) return found;
    const again = await readJournal(root);
    if (isSame(found, again)) return again;
    found = again;
  }
  return found;
}

function isSame(one: FoundJournal, other: FoundJournal | null): boolean {
  return one.journal?.id === other?.journal?.id && one.state === other?.state;
}

function busy({ owner }: Journal): PlanConflict {
  const problem = `Process ${owner.pid} on ${owner.host} is applying edits in this root.`;
  const message = `${problem} Try again when it has ended; if it is gone, remove .parlance-journal.`;
  return { path: null, reason: "busy", message };
}

/** Restores the old files. `touched` lists the replaced targets, if known. */
export async function rollBack(tree: Tree, journal: Journal, touched?: ReadonlySet<string>) {
  const { files } = tree.root;
  const kept: { path: string; old: string }[] = [];
  await eachFile(tree, journal, async ({ directory, name }, index) => {
    const { path, before, after, mode } = journal.files[index]!;
    const backup = oldName(journal, index);
    const [fresh, target] = [directory.at(newName(journal, index)), directory.at(name)];
    if (before === null) {
      await removeCreated(directory, name, newName(journal, index), after);
      return void (await orMissing(files.unlink(fresh)));
    }
    const old = await readOrNothing(directory, backup);
    // A partly copied backup is no backup; its target is untouched then.
    if (old !== null && contentHash(old.bytes) === before && (old.stat.mode & 0o7777) === mode) {
      const there = await orMissing(files.lstat(target));
      const content = await readOrNothing(directory, name);
      const hash = content && contentHash(content.bytes);
      const isReplaced = touched ? touched.has(path) : there?.ino !== old.stat.ino;
      if (isReplaced && hash === after && (there === null) === (after === null))
        await files.rename(directory.at(backup), target);
      else if (isReplaced && hash !== before) {
        kept.push({ path, old: backup });
        return void (await orMissing(files.unlink(fresh)));
      }
    }
    await orMissing(files.unlink(directory.at(backup)));
    await orMissing(files.unlink(fresh));
  });
  for (const path of [...journal.directories].reverse()) await removeEmpty(tree, path);
  return kept;
}

async function removeCreated(directory: Directory, name: string, spare: string, after: string | null): Promise<void> {
  const { files } = directory;
  const target = await readOrNothing(directory, name);
  if (target === null || contentHash(target.bytes) !== after) return;
  const source = await orMissing(files.lstat(directory.at(spare)));
  if (source === null || source.ino === target.stat.ino) await files.unlink(directory.at(name));
}

/** Removes temporary files and backups, and directories that the plan emptied. */
export async function finish(tree: Tree, journal: Journal): Promise<[]> {
  const { files } = tree.root;
  await eachFile(tree, journal, async ({ directory }, index) => {
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

async function eachFile(tree: Tree, { files }: Journal, visit: (place: Place, index: number) => Promise<void>) {
  for (const [index, { path }] of files.entries()) {
    const place = await orNothing(walk(tree, path));
    if (place?.missing === null) await visit(place, index);
  }
  await syncTree(tree);
}

async function orNothing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

function readOrNothing(directory: Directory, name: string): Promise<Content | null> {
  return orNothing(readRegular(directory, name));
}

async function removeEmpty(tree: Tree, path: string): Promise<boolean> {
  const place = await orNothing(walk(tree, path));
  if (place?.missing !== null) return false;
  try {
    await tree.root.files.rmdir(place.directory.at(place.name));
    return true;
  } catch (error) {
    // Not empty, missing, or no longer a directory: it must stay.
    if (["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return false;
    throw error;
  }
}
