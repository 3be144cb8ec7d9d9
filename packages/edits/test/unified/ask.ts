import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatPatch, parsePatch } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import { expect } from "vitest";
import { inFolder, inFolderLater } from "../git.js";

/** What `git apply` does with it in a folder with `f` of this text and mode; null where it refuses. */
export function askGit(patch: string, text: string, mode: number, ...args: string[]) {
  return inFolder((folder) => {
    writeFileSync(join(folder, "f"), text);
    chmodSync(join(folder, "f"), mode);
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: join(folder, ".."), GIT_CONFIG_GLOBAL: "/dev/null" };
    const { status } = spawnSync("git", ["apply", ...args, "-"], { cwd: folder, input: patch, env });
    if (status !== 0) return null;
    const name = ["f", "g"].find((each) => existsSync(join(folder, each)));
    if (name === undefined) return { gone: true };
    return { name, text: readFileSync(join(folder, name), "utf8"), x: (statSync(join(folder, name)).mode & 0o100) > 0 };
  });
}

/** The same by strict reading and a plan. */
export async function askUs(patch: string, text: string, mode: number) {
  const reading = parsePatch(patch, { strict: true });
  if (!reading.ok) return null;
  expect(parsePatch(formatPatch(reading.patch), { strict: true })).toEqual(reading);
  return inFolderLater(async (folder) => {
    writeFileSync(join(folder, "f"), text);
    chmodSync(join(folder, "f"), mode);
    const plan = await planEdits(reading.patch, { root: folder });
    const written = await applyPlan(plan, { root: folder });
    if (!written.ok) return null;
    const name = ["f", "g"].find((each) => existsSync(join(folder, each)));
    if (name === undefined) return { gone: true };
    return { name, text: readFileSync(join(folder, name), "utf8"), x: (statSync(join(folder, name)).mode & 0o100) > 0 };
  });
}
