import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";

// In memory where there is such a file system: the tests sync some hundred thousand times.
const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const made: string[] = [];
// Records of open journals, of child processes too.
process.env.XDG_STATE_HOME = join(base, `parlance-state-${process.pid}`);
afterAll(() => {
  for (const directory of [...made, process.env.XDG_STATE_HOME!]) rmSync(directory, { recursive: true, force: true });
});

/** A new directory with these files; a text that ends in nothing special is just written. Removed after the tests. */
export function makeWorkspace(files: Readonly<Record<string, string | Uint8Array>>): string {
  const root = mkdtempSync(join(base, "parlance-edits-"));
  made.push(root);
  fill(root, files);
  return root;
}

export function fill(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o644);
  }
}

/** Everything below a directory: what it is, its mode and its content. Two equal snapshots are two equal trees. */
export function snapshot(directory: string, path = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(directory, path)).sort()) {
    const at = path === "" ? name : `${path}/${name}`;
    const stat = lstatSync(join(directory, at));
    if (stat.isDirectory()) Object.assign(found, { [`${at}/`]: "directory" }, snapshot(directory, at));
    else if (stat.isSymbolicLink()) found[at] = `symlink ${readlinkSync(join(directory, at))}`;
    else if (stat.isFile())
      found[at] = `${(stat.mode & 0o7777).toString(8)} ${readFileSync(join(directory, at), "latin1")}`;
    else found[at] = "other";
  }
  return found;
}
