import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyPatch, parsePatch } from "@parlance/edits";

/** A folder of source files that a conversation may change. */
export interface Workspace {
  readonly root: string;
  /** Path, relative to the root, to text. */
  files(): Promise<Map<string, string>>;
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  /** Applies a unified diff of one file, or throws with the reason why it does not fit. */
  apply(diff: string): Promise<{ path: string; text: string }>;
  remove(): Promise<void>;
}

/** A copy of the demo's files in a temporary folder. */
export async function copyWorkspace(): Promise<Workspace> {
  const root = await mkdtemp(join(tmpdir(), "parlance-demo-"));
  await cp(fileURLToPath(new URL("./workspace", import.meta.url)), root, { recursive: true });
  return openWorkspace(root);
}

export function openWorkspace(root: string): Workspace {
  const read = (path: string) => readFile(join(root, path), "utf8");
  const write = (path: string, text: string) => writeFile(join(root, path), text);
  return {
    root,
    read,
    write,
    async files() {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      const paths = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
      return new Map(await Promise.all(paths.sort().map(async (path) => [path, await read(path)] as const)));
    },
    async apply(diff) {
      const path = pathOf(diff);
      const text = applyDiff(diff, await read(path));
      await write(path, text);
      return { path, text };
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/** The text after a diff of one file, or an error that says why it does not fit. */
export function applyDiff(diff: string, text: string): string {
  const read = parsePatch(diff);
  if (!read.ok) throw new Error(`not a diff: ${JSON.stringify(read)}`);
  const applied = applyPatch(read.patch, text);
  if (!applied.ok) throw new Error(`the diff does not fit: ${JSON.stringify(applied.conflicts)}`);
  return applied.text;
}

function pathOf(diff: string): string {
  const read = parsePatch(diff);
  const path = read.ok ? read.patch.files[0]?.after : undefined;
  if (!path || read.ok === false || read.patch.files.length !== 1)
    throw new Error(`the diff of one file is needed: ${diff}`);
  return path;
}
