import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type Workspace } from "./workspace.js";

/** A change of a file as a peer sends it: the file that its message names, and a diff that may be for another one. */
export interface Hostile {
  readonly file: string;
  readonly diff: string;
}

/** A workspace between files that no peer may touch, with symbolic links that lead to them. */
export interface Trap {
  readonly workspace: Workspace;
  /** Everything outside the workspace, as text: it must stay what it was. */
  outside(): Promise<string>;
  /** Changes of files outside, and of names that some system resolves to such a file. */
  readonly changes: readonly Hostile[];
  remove(): Promise<void>;
}

const SAFE = "src/cart.ts";
const TEXT = "let total = 1;\n";

export async function setTrap(count: number): Promise<Trap> {
  const folder = await mkdtemp(join(tmpdir(), "parlance-trap-"));
  const root = join(folder, "project");
  const kept = join(folder, "kept");
  for (const path of ["project/src", "outside/deep", "kept"]) await mkdir(join(folder, path), { recursive: true });
  for (const path of ["victim.txt", "outside/victim.txt", "outside/deep/victim.txt", `project/${SAFE}`])
    await writeFile(join(folder, path), TEXT);
  await symlink(join(folder, "outside"), join(root, "out"));
  await symlink("../outside/deep", join(root, "src/deep"));
  await symlink("../outside/victim.txt", join(root, "linked.txt"));
  await symlink("../outside/new.txt", join(root, "dangling.txt"));
  return {
    workspace: openWorkspace(root, kept, folder),
    outside: async () => (await list(folder, "")).join("\n"),
    changes: hostileChanges(folder, count),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Every entry with its text or target. The agent's own folder, and what is in the workspace, may change. */
async function list(folder: string, below: string): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const lines = await Promise.all(
    entries.map(async (entry) => {
      const path = join(below, entry.name);
      if (path === "project" || path === "kept") return [path];
      if (entry.isDirectory()) return [path, ...(await list(folder, path))];
      const content = entry.isSymbolicLink() ? await readlink(join(folder, path)) : await readFile(join(folder, path));
      return [`${path}: ${content}`];
    }),
  );
  return lines.flat().sort();
}

/** Names that lead out of a folder by themselves, by a link, or as some system or decoder reads them. */
function hostileNames(folder: string): string[] {
  const victims = ["victim.txt", "outside/victim.txt", "outside/deep/victim.txt", "outside/made.txt"];
  const up = ["../", "./../", "src/../../", "src/./../../", "..//", "src/../src/../../", "a/b/../../../"];
  const encodings: ((path: string) => string)[] = [
    (path) => path.replaceAll("..", "%2e%2e"),
    (path) => path.replaceAll("/", "%2f"),
    (path) => path.replaceAll("..", "%252e%252e"),
    (path) => path.replaceAll("/", "\\"),
    (path) => path.replaceAll("/", "\u2215"),
    (path) => path.replaceAll("/", "\uff0f"),
    (path) => path.replaceAll("..", "\u2025"),
    (path) => path.replaceAll("..", "\uff0e\uff0e"),
    (path) => path.replaceAll("..", ".\u200b."),
    (path) => path.replaceAll("..", ".\u200d."),
    (path) => path.replaceAll("..", ".. "),
    (path) => path.replaceAll("..", "\u202e.."),
    (path) => `${path}\0`,
    (path) => `${path}\0.ts`,
    (path) => `\0${path}`,
    (path) => `${path}\n`,
    (path) => `"${path}"`,
    (path) => ` ${path}`,
    (path) => `file://${path}`,
    (path) => `a/${path}`,
    (path) => path.replaceAll("..", "\\056\\056"),
  ];
  const traversals = victims.flatMap((victim) => up.map((prefix) => prefix + victim));
  return [
    ...traversals,
    ...victims.flatMap((victim) => [
      join(folder, victim),
      `/${join(folder, victim)}`,
      `file://${join(folder, victim)}`,
    ]),
    ...encodings.flatMap((encode) => [encode("../victim.txt"), encode("src/../../outside/victim.txt")]),
    ...["out/victim.txt", "src/deep/victim.txt", "linked.txt", "dangling.txt", "out/deep/victim.txt", "out/made.txt"],
    ...["out", "src/deep", "OUT/victim.txt", "LINKED.TXT", "SRC/../../victim.txt", "src/./deep/victim.txt"],
    ...["C:\\victim.txt", "C:victim.txt", "\\\\server\\share\\victim.txt", "//server/share/victim.txt", "~/victim.txt"],
    ...["NUL", "con", "aux.txt", "COM1", "src/lpt9.ts", "src/cart.ts:stream", "src/cart.ts::$DATA", "src/cart.ts."],
    ...[".git/config", ".GIT/hooks/pre-commit", "git~1/config", ".g\u200cit/config", "..", ".", " ", "/", "../", "..."],
    ...[`${"../".repeat(400)}victim.txt`, `${"a/".repeat(3000)}x`, "a".repeat(5000), "é".repeat(2000), "\ud800/x"],
    ...[
      "$HOME/victim.txt",
      "$(touch ../made)",
      "`touch ../made`",
      "; touch ../made",
      "-rf",
      "src/cart.ts\r\n../victim.txt",
    ],
  ];
}

/** The first `count` of all names in all forms, forms first, so that each name is used. */
function hostileChanges(folder: string, count: number): Hostile[] {
  const body = "@@ -1 +1 @@\n-let total = 1;\n+OWNED\n";
  const forms: ((name: string) => Hostile)[] = [
    (name) => ({ file: name, diff: `--- a/${name}\n+++ b/${name}\n${body}` }),
    (name) => ({ file: SAFE, diff: `--- a/${name}\n+++ b/${name}\n${body}` }),
    (name) => ({ file: name, diff: `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+OWNED\n` }),
    (name) => ({ file: name, diff: body }),
    (name) => ({ file: name, diff: `--- a/${SAFE}\n+++ b/${SAFE}\n${body}` }),
    (name) => ({ file: SAFE, diff: `diff --git a/${SAFE} b/${name}\nrename from ${SAFE}\nrename to ${name}\n` }),
    (name) => ({ file: name, diff: `--- ${name}\n+++ ${name}\n${body}` }),
    (name) => ({ file: name, diff: `--- a/${name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-let total = 1;\n` }),
    (name) => ({ file: SAFE, diff: `--- a/${SAFE}\n+++ b/${SAFE}\n${body}--- a/${name}\n+++ b/${name}\n${body}` }),
  ];
  const all = hostileNames(folder).flatMap((name, index) =>
    forms.map((form, at) => ({ order: ((at + index) % forms.length) * 10_000 + index, change: form(name) })),
  );
  if (all.length < count) throw new Error(`there are only ${all.length} hostile changes`);
  return all
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ change }) => change);
}
