import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { applyPatch, createPatch, explainConflict, type LineRange, type Patch, parsePatch } from "@parlance/edits";
import { applyPlan, type Plan, planEdits } from "@parlance/edits/node";

export type Applied =
  | { readonly ok: true; readonly text: string }
  /** For a user: the change does not fit, is for another file, or leaves the folder. */
  | { readonly ok: false; readonly reason: string };

/** A folder of source files that a conversation may change. Nothing outside of it is read or written, whatever path a peer sends. */
export interface Workspace {
  readonly root: string;
  /** A folder beside it, for an agent's own files. */
  readonly kept: string;
  /** Path, relative to the root, to text. */
  files(): Promise<Map<string, string>>;
  read(path: string): Promise<string>;
  /** The real path of a folder below the root, or undefined for one that is elsewhere, also through a link. */
  folder(path: string): Promise<string | undefined>;
  /** Replaces a file, or makes it. */
  write(path: string, text: string): Promise<Applied>;
  /** Applies a change of the file that its message names. `at` is where the hunks are numbered from, if not from the first line. */
  apply(path: string, change: string | Patch, at?: LineRange): Promise<Applied>;
  remove(): Promise<void>;
}

/** A copy of the demo's files in a temporary folder. */
export async function copyWorkspace(): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), "parlance-demo-"));
  await cp(fileURLToPath(new URL("./workspace", import.meta.url)), join(folder, "project"), { recursive: true });
  await mkdir(join(folder, "kept"));
  return openWorkspace(join(folder, "project"), join(folder, "kept"), folder);
}

export function openWorkspace(root: string, kept = root, folder = root): Workspace {
  async function read(path: string): Promise<string> {
    const text = (await readFolder(root)).get(path);
    if (text === undefined) throw new Error(`${path} is no file of the workspace`);
    return text;
  }
  return {
    root,
    kept,
    read,
    files: () => readFolder(root),
    async folder(path) {
      const [real, base] = await Promise.all([realpath(resolve(root, path)), realpath(root)]).catch(() => []);
      return real === base || real?.startsWith(`${base}${sep}`) ? real : undefined;
    },
    write: (path, text) => writeWithin(root, path, text),
    async apply(path, change, at) {
      const read = changeOf(path, change);
      if (!read.ok) return read;
      return carryOut(await planEdits(read.patch, { root, ...(at && { at: { [path]: at } }) }), root);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The regular files below a folder. Symbolic links are left out: they may lead elsewhere. */
async function readFolder(root: string): Promise<Map<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  return new Map(
    await Promise.all(paths.sort().map(async (path) => [path, await readFile(join(root, path), "utf8")] as const)),
  );
}

/** Writes a whole file below a folder, through the same checks as an edit. */
export async function writeWithin(root: string, path: string, text: string): Promise<Applied> {
  const before = (await readFolder(root)).get(path);
  const patch = createPatch(before ?? "", text, { oldPath: before === undefined ? null : path, newPath: path });
  return carryOut(await planEdits(patch, { root }), root);
}

async function carryOut(plan: Plan, root: string): Promise<Applied> {
  const written = await applyPlan(plan, { root });
  if (written.ok) return { ok: true, text: written.files[0]?.after?.text ?? "" };
  return { ok: false, reason: written.conflicts.map(({ message }) => message).join(" ") };
}

/** Applies a diff of one file to its text in memory. */
export function applyDiff(path: string, diff: string, text: string): Applied {
  const read = changeOf(path, diff);
  if (!read.ok) return read;
  const applied = applyPatch(read.patch, text);
  if (applied.ok) return applied;
  return { ok: false, reason: explainConflict(applied.conflicts[0]!, read.patch, text) };
}

/** The change of one file. A message names its file; a change of another one is refused. */
function changeOf(path: string, change: string | Patch): { ok: true; patch: Patch } | { ok: false; reason: string } {
  const read = typeof change === "string" ? parsePatch(change, { path }) : { ok: true as const, patch: change };
  if (!read.ok) return { ok: false, reason: read.errors.map(({ message }) => message).join(" ") };
  const [file, another] = read.patch.files;
  if (!file || another) return { ok: false, reason: `${read.patch.files.length} files are changed, not one` };
  const other = [file.before, file.after].find((name) => name !== null && name !== path);
  if (other !== undefined) return { ok: false, reason: `the diff is for ${other}, and its message for ${path}` };
  return { ok: true, patch: read.patch };
}
