import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as jsdiff from "diff";
import type { SpoiltCase } from "./spoil.js";
import type { Program } from "./spoilt.js";

/** jsdiff reads a patch of one file and applies it; what it throws at is refused. */
export function jsdiffWith(fuzzFactor: number): Program {
  return ({ text, input }) => {
    try {
      const made = jsdiff.applyPatch(text, input, { fuzzFactor });
      return made === false ? null : made;
    } catch {
      return null;
    }
  };
}

/** A program that changes the file in a folder of its own; a failure leaves it refused, whatever it wrote. */
function inFile(folder: string, command: string, ...args: string[]): Program {
  return ({ path, text, input }: SpoiltCase) => {
    const file = join(folder, path);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const run = spawnSync(command, args, {
      cwd: folder,
      input,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(folder) },
    });
    return run.status === 0 ? readFileSync(file, "utf8") : null;
  };
}

export function gitApply(folder: string): Program {
  return inFile(folder, "git", "apply", "--recount", "--whitespace=nowarn", "-");
}

export function gnuPatch(folder: string): Program {
  return inFile(folder, "patch", "-p1", "--force", "--silent", "--no-backup-if-mismatch", "--reject-file=-");
}

/** What most tools that take SEARCH/REPLACE or str_replace do first: the old string, once, as it is. */
export const exactOnce: Program = ({ text, input }) => {
  const parts = /<<<<<<< SEARCH\n([\s\S]*?)\n=======\n([\s\S]*?)\n?>>>>>>> REPLACE/.exec(input);
  const call = parts ? { old_str: parts[1]!, new_str: parts[2]! } : JSON.parse(input);
  const at = text.indexOf(call.old_str);
  if (at < 0 || text.indexOf(call.old_str, at + 1) >= 0) return null;
  return text.slice(0, at) + call.new_str + text.slice(at + call.old_str.length);
};
