import { randomBytes } from "node:crypto";
import { Refused } from "./conflict.js";
import { codeOf, contentHash, orMissing } from "./files.js";
import { checkName, RESERVED } from "./names.js";
import { begin, currentOwner, end, isOwner, type Owner } from "./owner.js";
import { listEnded, removeRecord, writeRecord } from "./records.js";
import { type Directory, readRegular, withDirectory, writeNew } from "./root.js";
import { isRecord } from "./shape.js";

/**
 * The write-ahead journal of a plan. The directory `.parlance-journal` in the root is also the lock: it is completed under
 * another name and then renamed, which fails if one exists. It holds `pending.json`; renaming that to `committed.json` is
 * the one step that commits all the new files. Its record outside the root (`records.ts`) is what makes it trusted.
 */
export interface Journal {
  readonly version: 1;
  /** 12 hex digits; the plan's temporary files are named after it. */
  readonly id: string;
  readonly owner: Owner;
  readonly files: readonly JournalFile[];
  /** Directories that the plan creates, outer ones first. */
  readonly directories: readonly string[];
}

export interface JournalFile {
  readonly path: string;
  /** Hashes of the bytes. */
  readonly before: string | null;
  readonly after: string | null;
  /** The old file's permission bits; a backup with this hash and mode is complete. */
  readonly mode: number | null;
}

type JournalState = "pending" | "committed";

const JOURNAL = `${RESERVED}journal`;
const MAX_BYTES = 256 << 20;

/** Temporary names in the target's directory: the new content, and a second name for the old. */
export function newName({ id }: Journal, index: number): string {
  return `${RESERVED}${id}-${index}.new`;
}

export function oldName({ id }: Journal, index: number): string {
  return `${RESERVED}${id}-${index}.old`;
}

function draftName(id: string): string {
  return `${RESERVED}draft-${id}`;
}

/** Writes the journal and takes the lock; null if another journal holds it. */
export async function openJournal(root: Directory, plan: Pick<Journal, "files" | "directories">) {
  const journal: Journal = { version: 1, id: randomBytes(6).toString("hex"), owner: currentOwner(), ...plan };
  await removeEnded(root);
  begin(journal.id);
  try {
    if (await placeJournal(root, journal)) return journal;
  } catch (error) {
    end(journal.id);
    await removeEnded(root).catch(() => {});
    throw error;
  }
  end(journal.id);
  return null;
}

async function placeJournal(root: Directory, journal: Journal): Promise<boolean> {
  const { files } = root;
  const draft = draftName(journal.id);
  const bytes = new TextEncoder().encode(JSON.stringify(journal));
  await writeRecord(root, journal, bytes);
  await files.mkdir(root.at(draft));
  await inOwn(root, draft, async (directory) => {
    await writeNew(files, directory.at("pending.json"), bytes, { mode: 0o600 });
    await directory.sync();
  });
  try {
    await files.rename(root.at(draft), root.at(JOURNAL));
  } catch (error) {
    const code = codeOf(error) ?? "";
    // Windows reports EPERM where other systems report that the directory is not empty.
    if (!["ENOTEMPTY", "EEXIST"].includes(code) && !(code === "EPERM" && process.platform === "win32")) throw error;
    await removeDraft(root, journal.id);
    return false;
  }
  await root.sync();
  return true;
}

/** Commits. A crash before it restores the old files, a crash after it completes the new ones. */
export async function commitJournal(root: Directory): Promise<void> {
  await renameState(root, "pending", "committed");
}

/** Reverts a commit that failed half way, for instance in its sync. */
export async function uncommitJournal(root: Directory): Promise<void> {
  const found = await readJournal(root);
  if (found?.state === "committed") await renameState(root, "committed", "pending");
}

function renameState(root: Directory, from: JournalState, to: JournalState): Promise<void> {
  return inOwn(root, JOURNAL, async (directory) => {
    await root.files.rename(directory.at(`${from}.json`), directory.at(`${to}.json`));
    await directory.sync();
  });
}

async function inOwn(root: Directory, name: string, use: (directory: Directory) => Promise<void>): Promise<void> {
  const message = `Somebody removed ${name} while edits were applied.`;
  if ((await withDirectory(root, name, use)) === null) throw new Refused(null, "missing", message);
}

/** Releases the lock in one step, then removes its remains. */
export async function closeJournal(root: Directory, journal: Journal): Promise<void> {
  await root.files.rename(root.at(JOURNAL), root.at(draftName(journal.id)));
  await root.sync();
  await removeDraft(root, journal.id);
}

export interface FoundJournal {
  /** Null for an unreadable journal: a damaged disk's, a newer version's, or a forged one. */
  readonly journal: Journal | null;
  readonly state: JournalState;
  readonly hash: string;
}

/** Reads the root's journal, or null. Its content is validated as untrusted input, because it may be forged. */
export function readJournal(root: Directory): Promise<FoundJournal | null> {
  return withDirectory(root, JOURNAL, async (directory): Promise<FoundJournal> => {
    for (const state of ["pending", "committed"] as const) {
      const content = await readRegular(directory, `${state}.json`, MAX_BYTES);
      if (content) return { journal: parseJournal(content.bytes), state, hash: contentHash(content.bytes) };
    }
    return { journal: null, state: "pending", hash: "" };
  });
}

function parseJournal(bytes: Uint8Array): Journal | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const { version, id, owner, files, directories } = value;
  const isKnown = version === 1 && matches(id, /^[0-9a-f]{12}$/) && isOwner(owner);
  if (!isKnown || !Array.isArray(files) || !Array.isArray(directories)) return null;
  return files.every(isFile) && directories.every(isPath) ? (value as unknown as Journal) : null;
}

function isFile(file: unknown): boolean {
  if (!isRecord(file) || !isPath(file.path)) return false;
  const isHash = (hash: unknown) => hash === null || matches(hash, /^sha256:[0-9a-f]{64}$/);
  const hasMode = file.before === null ? file.mode === null : Number.isSafeInteger(file.mode);
  return isHash(file.before) && isHash(file.after) && hasMode;
}

function isPath(path: unknown): boolean {
  return typeof path === "string" && checkName(path, "posix").ok;
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

/** Removes journal drafts that this user's processes left behind; what looks like one without a record stays. */
export async function removeDrafts(root: Directory): Promise<void> {
  const names = await root.files.readdir(root.at("."));
  if (names.some((name) => name.startsWith(draftName("")))) await removeEnded(root);
}

/** Removes drafts and records of processes that have ended, but not those of the journal in place. */
export async function removeEnded(root: Directory): Promise<void> {
  for (const id of await listEnded(root)) {
    const placed = await readJournal(root);
    if (placed?.journal?.id !== id) await removeDraft(root, id);
  }
}

async function removeDraft(root: Directory, id: string): Promise<void> {
  const { files } = root;
  const draft = draftName(id);
  const removed = await withDirectory(root, draft, async (directory) => {
    for (const state of ["pending", "committed"]) await orMissing(files.unlink(directory.at(`${state}.json`)));
    return true;
  });
  if (removed) await orMissing(files.rmdir(root.at(draft)));
  await removeRecord(root, id);
}
