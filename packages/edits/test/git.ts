import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// In memory where there is such a file system: thousands of small files are written and read.
const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Runs in a folder of its own that is gone afterwards. */
export function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(base, "edits-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const QUIET = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", LC_ALL: "C" };

export function git(folder: string, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, ...QUIET },
  });
}

/** `git diff --no-index` of two files; its exit code only says whether they differ. */
export function gitDiff(folder: string, before: string, after: string, ...args: string[]): string {
  const result = spawnSync("git", ["diff", "--no-index", ...args, "--", before, after], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, ...QUIET },
  });
  return result.stdout;
}

/** A folder as well, where the work is asynchronous. */
export async function inFolderLater<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(base, "edits-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * `git` once in each folder, by one shell: a process of git costs little, and many times as much where this big one starts it.
 * Returns by folder what was written and whether it went well. Its input is the file `folder.in`, or nothing.
 */
export function gitInEach(folders: readonly string[], ...args: string[]): { ok: boolean; stdout: string }[] {
  const script = `while IFS= read -r at <&3; do
    cd "$at" && export GIT_CEILING_DIRECTORIES="$at/.." && : >> "$at.in"
    if git "$@" < "$at.in" > "$at.out" 2> /dev/null; then : > "$at.ok"; fi
  done 3<&0`;
  const input = folders.map((folder) => `${folder}\n`).join("");
  const run = spawnSync("sh", ["-c", script, "sh", ...args], { input, env: { ...process.env, ...QUIET } });
  if (run.error) throw run.error;
  return folders.map((at) => ({ ok: existsSync(`${at}.ok`), stdout: readFileSync(`${at}.out`, "utf8") }));
}
