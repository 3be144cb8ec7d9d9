import type { PlannedFile } from "./changes.js";
import { FileRefusal } from "./conflict.js";
import { codeOf, contentHash, type FileStat, type Files } from "./files.js";
import { type Journal, newName, oldName } from "./journal.js";
import { quote } from "./names.js";
import { staleMessage } from "./plan.js";
import {
  type Directory,
  READ_LIMIT,
  readRegular,
  refuseCollision,
  syncTree,
  type Tree,
  walk,
  writeNew,
} from "./root.js";

/** A planned file with the data needed to write it. */
export interface FileWrite {
  readonly file: PlannedFile;
  readonly index: number;
  readonly name: string;
  readonly bytes: Uint8Array | null;
}

/** The missing directories of a new file, outer ones first; refuses a name that collides with an existing one. */
export async function listMissing(tree: Tree, { file }: FileWrite): Promise<string[]> {
  const parts = file.path.split("/");
  const { directory, missing } = await walk(tree, parts);
  if (!file.after || file.before) return [];
  await refuseCollision(tree.files, directory, missing ?? parts.at(-1)!);
  if (missing === null) return [];
  const depth = directory.path === "" ? 0 : directory.path.split("/").length;
  return parts.slice(depth, -1).map((_, i) => parts.slice(0, depth + i + 1).join("/"));
}

/** Checks that the file matches the plan. @throws `FileRefusal` */
export async function refuseStale(tree: Tree, { file, name }: FileWrite): Promise<void> {
  const { path, before } = file;
  const { directory, missing } = await walk(tree, path.split("/"));
  const content = missing === null ? await readRegular(tree.files, directory, name, READ_LIMIT) : null;
  const found = content && contentHash(content.bytes);
  if (found !== (before?.hash ?? null))
    throw new FileRefusal("stale", path, staleMessage(path, before?.hash ?? null, found));
  if (content && before && (content.stat.mode & 0o7777) !== before.mode)
    throw new FileRefusal("stale", path, `The mode of ${quote(path)} has changed. Plan the edit again.`);
}

/** Writes the new files beside the old ones and backs up the old ones. No existing path changes. */
export async function prepare(tree: Tree, journal: Journal, steps: readonly FileWrite[]): Promise<(number | null)[]> {
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
  await syncTree(tree);
  return modes;
}

/** Moves the new files into place. A reader sees each old file or its new one, and nothing between. */
export async function swap(
  tree: Tree,
  journal: Journal,
  steps: readonly FileWrite[],
  touched: Set<string>,
): Promise<void> {
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
  await syncTree(tree);
}

/** Gives a new file its name without ever replacing a file that appeared there meanwhile. */
async function placeNew(files: Files, fresh: string, target: string, path: string): Promise<void> {
  try {
    await files.link(fresh, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw new FileRefusal("stale", path, `${quote(path)} has been made by somebody else. Read it.`);
    if (!UNLINKABLE.has(codeOf(error))) throw error;
    await files.rename(fresh, target);
  }
}

/** Links a backup of the old file; copies it if links are not supported or not permitted. */
async function keepOld(files: Files, directory: Directory, name: string, backup: string): Promise<FileStat> {
  try {
    await files.link(directory.at(name), directory.at(backup));
  } catch (error) {
    if (!UNLINKABLE.has(codeOf(error))) throw error;
    const { bytes, stat } = (await readRegular(files, directory, name, READ_LIMIT))!;
    await writeNew(files, directory.at(backup), bytes, { mode: stat.mode & 0o7777, owner: stat });
    return stat;
  }
  return files.lstat(directory.at(backup));
}

// EPERM: the file system has no links, or protects other users' files from them (fs.protected_hardlinks).
const UNLINKABLE = new Set<string | undefined>([
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
]);

async function reach(tree: Tree, path: string): Promise<Directory> {
  const { directory, missing } = await walk(tree, path.split("/"));
  if (missing !== null) throw new FileRefusal("missing", path, `The directory of ${quote(path)} is gone.`);
  await directory.verify();
  return directory;
}
