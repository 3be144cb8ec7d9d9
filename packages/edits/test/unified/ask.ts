import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatPatch, parsePatch } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import { expect } from "vitest";
import { gitInEach, inFolder, inFolderLater } from "../git.js";

/** A patch, and the text and mode of the file `f` in a folder of its own. */
interface Asked {
  readonly patch: string;
  readonly text: string;
  readonly mode: number;
}

/** What `git apply` does with a patch in a folder with `f` of this text and mode; null where it refuses. */
export function askGit(patch: string, text: string, mode: number, ...args: string[]) {
  return askGitOfEach([{ patch, text, mode }], ...args)[0]!;
}

/** What `askGit` gives, for many patches in little more time than one takes. */
export function askGitOfEach(asked: readonly Asked[], ...args: string[]) {
  return inFolder((outer) => {
    const folders = asked.map((_, i) => join(outer, `${i}`));
    asked.forEach(({ patch, text, mode }, i) => {
      mkdirSync(folders[i]!);
      fill(folders[i]!, text, mode);
      writeFileSync(`${folders[i]}.in`, patch);
    });
    return gitInEach(folders, "apply", ...args, "-").map(({ ok }, i) => (ok ? look(folders[i]!) : null));
  });
}

function fill(folder: string, text: string, mode: number): void {
  writeFileSync(join(folder, "f"), text);
  chmodSync(join(folder, "f"), mode);
}

function look(folder: string) {
  const name = ["f", "g"].find((each) => existsSync(join(folder, each)));
  if (name === undefined) return { gone: true };
  return { name, text: readFileSync(join(folder, name), "utf8"), x: (statSync(join(folder, name)).mode & 0o100) > 0 };
}

/** The same by strict reading and a plan. */
export async function askUs(patch: string, text: string, mode: number) {
  const reading = parsePatch(patch, { strict: true });
  if (!reading.ok) return null;
  expect(parsePatch(formatPatch(reading.patch), { strict: true })).toEqual(reading);
  return inFolderLater(async (folder) => {
    fill(folder, text, mode);
    const plan = await planEdits(reading.patch, { root: folder });
    const written = await applyPlan(plan, { root: folder });
    return written.ok ? look(folder) : null;
  });
}
