import type { Stats } from "node:fs";
import { join } from "node:path";
import { type PlanConflict, Refused, toConflict } from "./conflict.js";
import { CREATE_FILE, codeOf, type Files, nodeFiles, OPEN_DIRECTORY, OPEN_FILE, orMissing } from "./files.js";
import { foldName, quote } from "./names.js";

/**
 * Directories by handle. On Linux a component is opened with O_DIRECTORY and O_NOFOLLOW from its parent's handle, and its
 * entries are named `/proc/self/fd/<n>/<name>`, so the checked directory is the used one: swapping it for a symlink in
 * between has no effect. No symlink is followed below the root, not even one that stays inside.
 * Without /proc the same checks are made by real path before each use. That is best effort: a process that swaps
 * directories at the right microsecond can win there.
 */
export interface Directory {
  readonly files: Files;
  /** Path below the root for messages, "" for the root. */
  readonly path: string;
  /** Real path of the directory when it was opened. */
  readonly real: string;
  readonly access: Access;
  /** A path for the next call that names `name` in this directory. */
  at(name: string): string;
  /** Checks that the directory has not moved; always true by handle. @throws `Refused` if it has. */
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
  { files = nodeFiles, access }: RootOptions,
  use: (root: Directory) => Promise<T>,
  refuse: (conflict: PlanConflict) => T,
): Promise<T> {
  try {
    // The root's own path may contain symlinks.
    const real = await orMissing(files.realpath(path));
    if (real === null) throw new Refused(null, "missing", `The root ${quote(path)} does not exist.`);
    const hasHandles = process.platform === "linux" && (await orMissing(files.lstat("/proc/self/fd"))) !== null;
    const root = await open(files, access ?? (hasHandles ? "handles" : "paths"), real, real, "");
    return await use(root).finally(() => root.close());
  } catch (error) {
    return refuse(toConflict(error, null));
  }
}

/** Calls `use` with a directory and closes it; null if the parent has no such entry. */
export async function withDirectory<T>(parent: Directory, name: string, use: (directory: Directory) => Promise<T>) {
  const directory = await openDirectory(parent, name);
  return directory && (await use(directory).finally(() => directory.close()));
}

function openDirectory(parent: Directory, name: string): Promise<Directory | null> {
  const { files, access, real } = parent;
  return orMissing(open(files, access, parent.at(name), join(real, name), pathOf(parent, name)));
}

function pathOf({ path }: Directory, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

async function open(files: Files, access: Access, at: string, real: string, path: string): Promise<Directory> {
  if (access === "handles") {
    const handle = await files.open(at, OPEN_DIRECTORY).catch(async (error) => {
      // Linux also reports ENOTDIR for a symlink when both flags are given; only the message depends on which it was.
      if (codeOf(error) !== "ENOTDIR" && codeOf(error) !== "ELOOP") throw error;
      throw notDirectory(path, await orMissing(files.lstat(at)));
    });
    const nameOf = (name: string) => `/proc/self/fd/${handle.fd}/${name}`;
    // Nothing was written through it, so a failure of its end loses nothing.
    const close = () => handle.close().catch(() => {});
    return { files, path, real, access, at: nameOf, verify: async () => {}, sync: () => handle.sync(), close };
  }
  const verify = async (): Promise<void> => {
    const stat = await files.lstat(real);
    if (!stat.isDirectory()) throw notDirectory(path, stat);
    if ((await files.realpath(real)) !== real)
      throw new Refused(null, "moved", `The directory ${quote(path)} is now reached through a symlink.`);
  };
  await verify();
  const sync = () => syncDirectory(files, real);
  return { files, path, real, access, at: (name) => join(real, name), verify, sync, close: async () => {} };
}

/** Makes a directory's entries durable, by its path. */
export async function syncDirectory(files: Files, path: string): Promise<void> {
  // Windows cannot open a directory to sync it; the durability of its renames is up to the system.
  const handle = await files.open(path, OPEN_DIRECTORY).catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

function notDirectory(path: string, stat: Stats | null): Refused {
  if (stat?.isSymbolicLink()) return symlink(path);
  return new Refused(null, "not-directory", `${quote(path)} is not a directory.`);
}

function symlink(path: string): Refused {
  return new Refused(null, "symlink", `${quote(path)} is a symlink; edits do not go through symlinks.`);
}

/** The most bytes that Node reads into one buffer. */
export const READ_LIMIT = 2 ** 31 - 1;

export interface Content {
  readonly bytes: Uint8Array;
  readonly stat: Stats;
}

/** Reads a regular file of up to `limit` bytes; null where there is none. @throws `Refused` for anything else. */
export async function readRegular(directory: Directory, name: string, limit = READ_LIMIT): Promise<Content | null> {
  const { files } = directory;
  const path = pathOf(directory, name);
  const check = (stat: Stats): Stats => {
    if (stat.isSymbolicLink()) throw symlink(path);
    if (!stat.isFile()) throw new Refused(null, "not-regular", `${quote(path)} is not a regular file.`);
    return stat;
  };
  await directory.verify();
  // Checked before it is opened, because opening a device can have effects.
  const seen = await orMissing(files.lstat(directory.at(name)));
  if (seen === null) return null;
  check(seen);
  const opening = files.open(directory.at(name), OPEN_FILE).catch((error) => {
    throw codeOf(error) === "ELOOP" ? symlink(path) : error;
  });
  const handle = await orMissing(opening);
  if (handle === null) return null;
  try {
    const stat = check(await handle.stat());
    const message = `${quote(path)} has ${stat.size} bytes, more than the limit of ${limit}.`;
    if (stat.size > limit) throw new Refused(null, "too-large", message);
    return { bytes: await handle.readFile(), stat };
  } finally {
    await handle.close().catch(() => {});
  }
}

export interface NewFile {
  readonly mode: number;
  /** The requested mode: the process's umask removes bits, as for any new file. */
  readonly umask?: true | undefined;
  /** The owner of the file; kept if the system permits it. */
  readonly owner?: { readonly uid: number; readonly gid: number } | null;
}

/** Writes a new file durably and returns its actual mode. The name must be free. */
export async function writeNew(files: Files, at: string, bytes: Uint8Array, how: NewFile): Promise<number> {
  const { mode, umask, owner } = how;
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

/** The open directories of one root, each opened once. */
export interface Tree {
  readonly root: Directory;
  readonly open: Map<string, Directory>;
}

/** How far a path exists: its last existing directory, the first missing one in it, and the name of the path's end. */
export interface Place {
  readonly directory: Directory;
  readonly missing: string | null;
  readonly name: string;
}

/** Calls `use` with a tree, and closes all of its directories but the root. */
export async function withTree<T>(root: Directory, use: (tree: Tree) => Promise<T>): Promise<T> {
  const open = new Map([["", root]]);
  try {
    return await use({ root, open });
  } finally {
    open.delete("");
    for (const directory of open.values()) await directory.close();
  }
}

/** Opens the directories of a path one by one. @throws `Refused` */
export async function walk({ root, open }: Tree, path: string): Promise<Place> {
  const parts = path.split("/");
  const name = parts.pop()!;
  let directory = root;
  for (const part of parts) {
    const inner = pathOf(directory, part);
    const next = open.get(inner) ?? (await openDirectory(directory, part));
    if (next === null) return { directory, missing: part, name };
    open.set(inner, next);
    directory = next;
  }
  return { directory, missing: null, name };
}

/** Refuses a new name that is equal to an existing one on another system. */
export async function refuseCollision({ directory, missing, name }: Place): Promise<void> {
  const made = missing ?? name;
  for (const other of await directory.files.readdir(directory.at("."))) {
    if (other === made || foldName(other) !== foldName(made)) continue;
    const what = `${quote(pathOf(directory, made))} differs only in case or composition from ${quote(other)}`;
    throw new Refused(null, "case-collision", `${what}, which is there.`);
  }
}

/** Makes the entries of all open directories durable. */
export async function syncTree({ open }: Tree): Promise<void> {
  for (const directory of open.values()) await directory.sync();
}
