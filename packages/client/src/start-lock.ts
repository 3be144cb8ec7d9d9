import { lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { disconnected } from "@parlance/wire/errors";

/** Milliseconds that a lock without a readable owner may exist: its owner is about to write it. */
const UNWRITTEN = 2000;

/** The owner of a lock: the process that starts a server, and until when it may. */
interface Owner {
  readonly pid: number;
  /** The server's process, once there is one. It may outlive its starter. */
  readonly server?: number | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** The right to start the server of one port, among all processes of this user. */
export interface StartLock {
  /** Notes the server's process, so that the lock outlives a starter that crashes. */
  started(server: number | undefined): Promise<void>;
  release(): Promise<void>;
}

/** The user's own folder for locks and logs, created where it is missing. */
export async function startFolder(): Promise<string> {
  const uid = process.getuid?.();
  const folder = join(tmpdir(), `parlance-${uid ?? "user"}`);
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  const found = await lstat(folder);
  // Anybody can create a folder of this name in a shared one, and link it to files of this user.
  if (!found.isDirectory() || (uid !== undefined && found.uid !== uid))
    throw disconnected(`${folder} belongs to another user: set TMPDIR to a folder of your own`, "unreachable", false);
  return folder;
}

/** Takes the lock for some milliseconds. Returns undefined while another process has it. */
export async function takeLock(path: string, within: number): Promise<StartLock | undefined> {
  const owner = { pid: process.pid, until: Date.now() + within };
  if (!(await create(path, owner))) {
    if (await isHeld(path)) return undefined;
    // Only one of several processes that find a stale lock can rename it.
    const stale = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    if (!(await rename(path, stale).then(isDone, isFailed))) return undefined;
    // Another process may have replaced the stale lock by its own before the rename.
    const isStolen = await isHeld(stale);
    if (isStolen) await rename(stale, path);
    else await rm(stale, { force: true });
    if (isStolen || !(await create(path, owner))) return undefined;
  }
  return {
    started: (server) => writeFile(path, JSON.stringify({ ...owner, server })),
    release: () => rm(path, { force: true }),
  };
}

/** Whether a live process holds the lock, and its time is not over. */
export async function isHeld(path: string): Promise<boolean> {
  const owner = await readFile(path, "utf8").then(parse, isFailed);
  if (owner) return Date.now() <= owner.until && (isAlive(owner.pid) || isAlive(owner.server));
  const age = await stat(path).then(({ mtimeMs }) => Date.now() - mtimeMs, isFailed);
  return age !== false && age < UNWRITTEN;
}

async function create(path: string, owner: Owner): Promise<boolean> {
  const file = await open(path, "wx", 0o600).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (!file) return false;
  try {
    await file.writeFile(JSON.stringify(owner));
  } finally {
    await file.close();
  }
  return true;
}

function parse(text: string): Owner | false {
  try {
    const { pid, server, until } = JSON.parse(text);
    return Number.isInteger(pid) && typeof until === "number" && { pid, server, until };
  } catch {
    return false;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return (error as { code?: string }).code === "EPERM";
  }
}

const isDone = () => true;
const isFailed = () => false as const;
