import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
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

/** The same where the work is asynchronous. */
export async function inFolderLater<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(base, "edits-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
