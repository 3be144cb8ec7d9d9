import type { Patch } from "../patch.js";
import { describeChanges, invertChanges } from "./changes.js";
import { type PlanConflict, toConflict } from "./conflict.js";
import { codeOf, type FileStat, type Files, nodeFiles } from "./files.js";
import { contentHash, encodeText } from "./hash.js";
import {
  closeJournal,
  commitJournal,
  type Journal,
  newName,
  oldName,
  openJournal,
  uncommitJournal,
} from "./journal.js";
import { checkName, quote } from "./names.js";
import { end } from "./owner.js";
import { type Move, type Plan, type PlannedFile, staleMessage } from "./plan.js";
import { finish, recoverIn, rollBack } from "./recover.js";
import {
  type Directory,
  FileRefusal,
  openRoot,
  READ_LIMIT,
  type RootOptions,
  readRegular,
  refuseCollision,
  writeNew,
} from "./root.js";
import { closeTree, growTree, type Tree, walk } from "./tree.js";

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

/** A planned file with what it takes to write it. */
interface Step {
  readonly file: PlannedFile;
  readonly index: number;
  readonly name: string;
  readonly bytes: Uint8Array | null;
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

/** The directories that a new file still lacks, outer ones first; refuses a name that collides with one that is there. */
async function listMissing(tree: Tree, { file }: Step): Promise<string[]> {
  const parts = file.path.split("/");
  const { directory, missing } = await walk(tree, parts);
  if (!file.after || file.before) return [];
  await refuseCollision(tree.files, directory, missing ?? parts.at(-1)!);
  if (missing === null) return [];
  const depth = directory.path === "" ? 0 : directory.path.split("/").length;
  return parts.slice(depth, -1).map((_, i) => parts.slice(0, depth + i + 1).join("/"));
}

/** Throws `FileRefusal` unless the file is what the plan says it is. */
async function refuseStale(tree: Tree, { file, name }: Step): Promise<void> {
  const { path, before } = file;
  const { directory, missing } = await walk(tree, path.split("/"));
  const content = missing === null ? await readRegular(tree.files, directory, name, READ_LIMIT) : null;
  const found = content && contentHash(content.bytes);
  if (found !== (before?.hash ?? null))
    throw new FileRefusal("stale", path, staleMessage(path, before?.hash ?? null, found));
  if (content && before && (content.stat.mode & 0o7777) !== before.mode)
    throw new FileRefusal("stale", path, `The mode of ${quote(path)} has changed. Plan the edit again.`);
}

/** Writes the new files beside the old ones and gives the old ones a second name. Nothing that anybody reads changes. */
async function prepare(tree: Tree, journal: Journal, steps: readonly Step[]): Promise<(number | null)[]> {
  const { files } = tree;
  for (const path of journal.directories) {
    const parts = path.split("/");
    const { directory } = await walk(tree, parts);
    await files.mkdir(directory.at(parts.at(-1)!)).catch((error) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
  const modes: (number | null)[] = [];
  for (const { file, index, name, bytes } of steps) {
    const directory = await reach(tree, file.path);
    let owner: FileStat | null = null;
    if (file.before) owner = await keepOld(files, directory, name, oldName(journal, index));
    modes.push(
      bytes && (await writeNew(files, directory.at(newName(journal, index)), bytes, { ...file.after!, owner })),
    );
  }
  await syncAll(tree);
  return modes;
}

/** Puts the new files in the old ones' places. Each is one step for whoever reads it. */
async function swap(tree: Tree, journal: Journal, steps: readonly Step[], touched: Set<string>): Promise<void> {
  const { files } = tree;
  for (const step of steps) {
    const { file, index, name, bytes } = step;
    const directory = await reach(tree, file.path);
    await refuseStale(tree, step);
    touched.add(file.path);
    const target = directory.at(name);
    const fresh = directory.at(newName(journal, index));
    if (!bytes) await files.unlink(target);
    else if (file.before) await files.rename(fresh, target);
    else await placeNew(files, fresh, target, file.path);
  }
  await syncAll(tree);
}

/** Gives a new file its name without ever replacing another that came there meanwhile. */
async function placeNew(files: Files, fresh: string, target: string, path: string): Promise<void> {
  try {
    await files.link(fresh, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw new FileRefusal("stale", path, `${quote(path)} has been made by somebody else. Read it.`);
    if (!UNLINKABLE.has(codeOf(error) ?? "")) throw error;
    await files.rename(fresh, target);
  }
}

/** A second name for the old file; a copy where the file system has no links or does not let us make one. */
async function keepOld(files: Files, directory: Directory, name: string, backup: string): Promise<FileStat> {
  try {
    await files.link(directory.at(name), directory.at(backup));
  } catch (error) {
    if (!UNLINKABLE.has(codeOf(error) ?? "")) throw error;
    const { bytes, stat } = (await readRegular(files, directory, name, READ_LIMIT))!;
    await writeNew(files, directory.at(backup), bytes, { mode: stat.mode & 0o7777, owner: stat });
    return stat;
  }
  return files.lstat(directory.at(backup));
}

// EPERM: no links on this file system, or not to a file of somebody else's (fs.protected_hardlinks).
const UNLINKABLE = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

async function reach(tree: Tree, path: string): Promise<Directory> {
  const { directory, missing } = await walk(tree, path.split("/"));
  if (missing !== null) throw new FileRefusal("missing", path, `The directory of ${quote(path)} is gone.`);
  await directory.verify();
  return directory;
}

async function syncAll(tree: Tree): Promise<void> {
  for (const directory of tree.open.values()) await directory.sync();
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
