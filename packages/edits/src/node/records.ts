import { createHash } from "node:crypto";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join, sep } from "node:path";
import { Refused } from "./conflict.js";
import { codeOf, contentHash, type Files, OPEN_FILE, orMissing } from "./files.js";
import { currentOwner, isAlive, type Owner } from "./owner.js";
import { type Directory, syncDirectory, writeNew } from "./root.js";

/**
 * Records of open journals, in a directory of the user outside the root. A journal makes this library replace and delete
 * files, and a root may hold anything, for instance what came with a stranger's repository. So a journal counts only while
 * its record exists: this user wrote it, in this root, and its plan has not ended.
 */
interface JournalRecord {
  readonly hash: string;
  /** The root's real path, and its identity for a root that has been moved since. */
  readonly root: string;
  readonly device: number;
  readonly inode: number;
}

/** Records a journal durably, before it is written. @throws `Refused` without a private directory for records. */
export async function writeRecord(
  root: Directory,
  { id, owner }: { readonly id: string; readonly owner: Owner },
  journal: Uint8Array,
): Promise<void> {
  const { files } = root;
  const { dev: device, ino: inode } = await files.lstat(root.at("."));
  const record: JournalRecord = { hash: contentHash(journal), root: root.real, device, inode };
  const directory = await makePrivate(root);
  // The owner is in the name, because a crash can leave half of the content.
  const name = `${prefixOf(root)}-${owner.pid}.${owner.started}.${owner.thread}-${id}.json`;
  await writeNew(files, join(directory, name), new TextEncoder().encode(JSON.stringify(record)), { mode: 0o600 });
  await syncDirectory(files, directory);
}

/** Removes the record of a journal that is closed or was never placed. */
export async function removeRecord(root: Directory, id: string): Promise<void> {
  for (const file of await listFiles(root)) if (file.endsWith(`-${id}.json`)) await orMissing(root.files.unlink(file));
}

const RECORD = /([0-9a-f]{16})-(\d+)\.(\d+)\.(\d+)-([0-9a-f]{12})\.json$/;

/** Journals recorded for a root of this path by processes that have ended. */
export async function listEnded(root: Directory): Promise<string[]> {
  return (await listFiles(root)).flatMap((file) => {
    const [, prefix, pid, started, thread, id] = RECORD.exec(file) ?? [];
    if (id === undefined || prefix !== prefixOf(root)) return [];
    const owner = { ...currentOwner(), pid: Number(pid), started: Number(started), thread: Number(thread) };
    return isAlive(owner, id) ? [] : [id];
  });
}

/** Whether this user wrote a journal with these bytes in this root, and has not closed it. */
export async function isRecorded(root: Directory, id: string, hash: string): Promise<boolean> {
  const { dev, ino } = await root.files.lstat(root.at("."));
  for (const file of await listFiles(root)) {
    const record = file.endsWith(`-${id}.json`) ? await readRecord(root.files, file) : null;
    if (record?.hash !== hash) continue;
    // The path outlives a restart that renumbers devices, the numbers outlive a move. A copy has neither.
    if (record.root === root.real || (record.device === dev && record.inode === ino)) return true;
  }
  return false;
}

function prefixOf(root: Directory): string {
  return createHash("sha256").update(root.real).digest("hex").slice(0, 16);
}

async function readRecord(files: Files, file: string): Promise<JournalRecord | null> {
  const handle = await orMissing(files.open(file, OPEN_FILE));
  try {
    return handle && JSON.parse(new TextDecoder().decode(await handle.readFile()));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  } finally {
    await handle?.close().catch(() => {});
  }
}

async function listFiles(root: Directory): Promise<string[]> {
  const found: string[] = [];
  for (const directory of candidates()) {
    if ((await findExposure(root, directory)) !== null) continue;
    for (const name of await root.files.readdir(directory)) found.push(join(directory, name));
  }
  return found;
}

/** The user's directory for a program's state, and the one for temporary files where a home cannot be written. */
function candidates(): string[] {
  const { XDG_STATE_HOME: state = "", LOCALAPPDATA: local = join(homedir(), "AppData", "Local") } = process.env;
  const unix = isAbsolute(state) ? state : join(homedir(), ".local", "state");
  const home = process.platform === "win32" ? local : unix;
  return [join(home, "parlance"), join(tmpdir(), `parlance-${process.getuid?.() ?? "state"}`)];
}

async function makePrivate(root: Directory): Promise<string> {
  const reasons: string[] = [];
  for (const directory of candidates()) {
    const made = root.files.mkdir(directory, { recursive: true, mode: 0o700 });
    const reason =
      (await made.then(
        () => null,
        unlessUnusable((code) => `cannot be made (${code})`),
      )) ?? (await findExposure(root, directory));
    if (reason === null) return directory;
    reasons.push(`${directory} ${reason}`);
  }
  const problem = `Applying edits needs a private directory outside the root: ${reasons.join("; ")}`;
  throw new Refused(null, "journal", `${problem}. Set XDG_STATE_HOME to one.`);
}

/** What becomes of an error that says that a directory cannot be used; any other is thrown. */
function unlessUnusable<T>(make: (code: string) => T): (error: unknown) => T {
  return (error) => {
    const code = codeOf(error) ?? "";
    if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "ELOOP", "ENOENT", "EEXIST"].includes(code)) return make(code);
    throw error;
  };
}

async function findExposure({ files, real: root }: Directory, directory: string): Promise<string | null> {
  const real = await files.realpath(directory).catch(unlessUnusable(() => null));
  if (real === null) return "cannot be reached";
  if (`${real}${sep}`.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return "is inside the root";
  const stat = await files.lstat(real);
  if (!stat.isDirectory()) return "is not a directory";
  if (process.getuid === undefined) return null;
  if (stat.uid !== process.getuid()) return "belongs to another user";
  return stat.mode & 0o022 ? "can be written by others" : null;
}
