import { join } from "node:path";
import { FileRefusal, type PlanConflict, toConflict } from "./conflict.js";
import {
  CREATE_FILE,
  codeOf,
  type FileStat,
  type Files,
  nodeFiles,
  OPEN_DIRECTORY,
  OPEN_FILE,
  orMissing,
} from "./files.js";
import { foldName, quote } from "./names.js";

/**
 * Directories by handle. On Linux a component is opened with O_DIRECTORY and O_NOFOLLOW from its parent's handle, and its
 * entries are named `/proc/self/fd/<n>/<name>`, so the checked directory is the used one: swapping it for a symlink in
 * between has no effect. No symlink is followed below the root, not even one that stays inside.
 * Without /proc the same checks are made by real path before each use. That is best effort: a process that swaps
 * directories at the right microsecond can win there.
 */
export interface Directory {
  /** Path below the root for messages, "" for the root. */
  readonly path: string;
  /** Real path of the directory when it was opened. */
  readonly real: string;
  readonly access: Access;
  /** A path for the next call that names `name` in this directory. */
  at(name: string): string;
  /** Checks that the directory has not moved; always true by handle. @throws `FileRefusal` if it has. */
  verify(): Promise<void>;
  /** Makes the directory's entries durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** `handles` as on Linux, or `paths` as everywhere else; by default the better one that the system has. */
export type Access = "handles" | "paths";

export interface RootOptions {
  readonly access?: Access | undefined;
  readonly files?: Files | undefined;
}

/** Calls `use` with the open root and closes it. A failure is given to `refuse`. */
export async function withRoot<T>(
  path: string,
  options: RootOptions,
  use: (root: Directory, files: Files) => Promise<T>,
  refuse: (conflict: PlanConflict) => T,
): Promise<T> {
  const files = options.files ?? nodeFiles;
  try {
    const root = await openRoot(path, files, options.access);
    try {
      return await use(root, files);
    } finally {
      await root.close();
    }
  } catch (error) {
    return refuse(toConflict(error, null));
  }
}

/** Opens the root. Its own path may contain symlinks: they are resolved first. */
async function openRoot(root: string, files: Files, wanted: Access | undefined): Promise<Directory> {
  const real = await orMissing(files.realpath(root));
  if (real === null) throw new FileRefusal("missing", "", `The root ${quote(root)} does not exist.`);
  const access = wanted ?? ((await hasHandles(files)) ? "handles" : "paths");
  return open(files, access, real, real, "");
}

async function hasHandles(files: Files): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return (await orMissing(files.lstat("/proc/self/fd"))) !== null;
}

/** Opens a directory, or returns null if the parent has no such entry. */
export async function openDirectory(files: Files, parent: Directory, name: string): Promise<Directory | null> {
  const path = parent.path === "" ? name : `${parent.path}/${name}`;
  return orMissing(open(files, parent.access, parent.at(name), join(parent.real, name), path));
}

function open(files: Files, access: Access, at: string, real: string, path: string): Promise<Directory> {
  return access === "handles" ? byHandle(files, at, real, path) : byPath(files, real, path);
}

async function byHandle(files: Files, at: string, real: string, path: string): Promise<Directory> {
  const handle = await files.open(at, OPEN_DIRECTORY).catch(async (error) => {
    // Linux also reports ENOTDIR for a symlink when both flags are given; only the message depends on which it was.
    if (codeOf(error) !== "ENOTDIR" && codeOf(error) !== "ELOOP") throw error;
    throw notDirectory(path, await orMissing(files.lstat(at)));
  });
  return {
    path,
    real,
    access: "handles",
    at: (name) => `/proc/self/fd/${handle.fd}/${name}`,
    verify: async () => {},
    sync: () => handle.sync(),
    // Nothing was written through it, so a failure loses nothing.
    close: () => handle.close().catch(() => {}),
  };
}

async function byPath(files: Files, real: string, path: string): Promise<Directory> {
  const verify = async (): Promise<void> => {
    const stat = await files.lstat(real);
    if (!stat.isDirectory()) throw notDirectory(path, stat);
    if ((await files.realpath(real)) !== real)
      throw new FileRefusal("moved", path, `The directory ${quote(path)} is now reached through a symlink.`);
  };
  await verify();
  return {
    path,
    real,
    access: "paths",
    at: (name) => join(real, name),
    verify,
    sync: () => syncDirectory(files, real),
    close: async () => {},
  };
}

/** Makes a directory's entries durable, by its path. */
export async function syncDirectory(files: Files, path: string): Promise<void> {
  // Windows cannot open a directory to sync it; the durability of its renames is up to the system.
  const handle = await files.open(path, OPEN_DIRECTORY).catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

function notDirectory(path: string, stat: FileStat | null): FileRefusal {
  return stat?.isSymbolicLink()
    ? new FileRefusal("symlink", path, `${quote(path)} is a symlink; edits do not go through symlinks.`)
    : new FileRefusal("not-directory", path, `${quote(path)} is not a directory.`);
}

/** The most bytes that Node reads into one buffer. */
export const READ_LIMIT = 2 ** 31 - 1;

/** The bytes and facts of a regular file. */
export interface Content {
  readonly bytes: Uint8Array;
  readonly stat: FileStat;
}

/** Reads a regular file of up to `limit` bytes; null where there is none. Throws `FileRefusal` for anything else. */
export async function readRegular(
  files: Files,
  directory: Directory,
  name: string,
  limit: number,
): Promise<Content | null> {
  const path = directory.path === "" ? name : `${directory.path}/${name}`;
  await directory.verify();
  // Checked before it is opened, because opening a device can have effects.
  const seen = await orMissing(files.lstat(directory.at(name)));
  if (seen === null) return null;
  refuseIrregular(path, seen);
  const handle = await orMissing(
    files.open(directory.at(name), OPEN_FILE).catch((error) => {
      if (codeOf(error) === "ELOOP") throw new FileRefusal("symlink", path, `${quote(path)} is a symlink.`);
      throw error;
    }),
  );
  if (handle === null) return null;
  try {
    const stat = await handle.stat();
    refuseIrregular(path, stat);
    if (stat.size > limit)
      throw new FileRefusal(
        "too-large",
        path,
        `${quote(path)} has ${stat.size} bytes, more than the limit of ${limit}.`,
      );
    return { bytes: await handle.readFile(), stat };
  } finally {
    await handle.close().catch(() => {});
  }
}

function refuseIrregular(path: string, stat: FileStat): void {
  if (stat.isSymbolicLink())
    throw new FileRefusal("symlink", path, `${quote(path)} is a symlink; edits do not go through symlinks.`);
  if (!stat.isFile()) throw new FileRefusal("not-regular", path, `${quote(path)} is not a regular file.`);
}

export interface NewFile {
  readonly mode: number;
  /** The requested mode: the process's umask removes bits, as for any new file. */
  readonly umask?: true | undefined;
  /** The owner of the file; kept if the system permits it. */
  readonly owner?: { readonly uid: number; readonly gid: number } | null;
}

/** Writes a new file durably and returns its actual mode. The name must be free. */
export async function writeNew(
  files: Files,
  at: string,
  bytes: Uint8Array,
  { mode, umask, owner }: NewFile,
): Promise<number> {
  const handle = await files.open(at, CREATE_FILE, umask ? mode | 0o066 : 0o600);
  try {
    await handle.writeFile(bytes);
    // Before the mode, because a change of owner clears mode bits.
    if (owner) await handle.chown(owner.uid, owner.gid).catch(() => {});
    if (!umask) await handle.chmod(mode);
    await handle.sync();
    return (await handle.stat()).mode & 0o7777;
  } finally {
    // Errors were already reported by sync.
    await handle.close().catch(() => {});
  }
}

/** Refuses a new name that is equal to an existing one on another system. */
export async function refuseCollision(files: Files, directory: Directory, name: string): Promise<void> {
  const fold = foldName(name);
  for (const other of await files.readdir(directory.at(".")))
    if (other !== name && foldName(other) === fold) {
      const path = directory.path === "" ? name : `${directory.path}/${name}`;
      throw new FileRefusal(
        "case-collision",
        path,
        `${quote(path)} differs only in case or composition from ${quote(other)}, which is there.`,
      );
    }
}

/** The open directories of one root, each opened once. */
export interface Tree {
  readonly root: Directory;
  readonly files: Files;
  readonly open: Map<string, Directory>;
}

/** How far a path's directories exist: the last existing one, and the first missing component. */
export interface Walk {
  readonly directory: Directory;
  readonly missing: string | null;
}

/** Calls `use` with a tree, and closes all of its directories but the root. */
export async function withTree<T>(root: Directory, files: Files, use: (tree: Tree) => Promise<T>): Promise<T> {
  const open = new Map([["", root]]);
  try {
    return await use({ root, files, open });
  } finally {
    open.delete("");
    for (const directory of open.values()) await directory.close();
  }
}

/** Opens the directory that holds the path's last component, component by component. Throws `FileRefusal`. */
export async function walk(tree: Tree, parts: readonly string[]): Promise<Walk> {
  let directory = tree.root;
  let path = "";
  for (const part of parts.slice(0, -1)) {
    path = path === "" ? part : `${path}/${part}`;
    let next = tree.open.get(path) ?? null;
    if (next === null) {
      next = await openDirectory(tree.files, directory, part);
      if (next === null) return { directory, missing: part };
      tree.open.set(path, next);
    }
    directory = next;
  }
  return { directory, missing: null };
}

/** Makes the entries of all open directories durable. */
export async function syncTree({ open }: Tree): Promise<void> {
  for (const directory of open.values()) await directory.sync();
}
