import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { run } from "../src/run.js";

/** A temporary folder, outside the repository, that goes when the test ends. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parlance-cli-"));
  onTestFinished(() => rm(path, { recursive: true }));
  await write(path, files);
  return path;
}

export async function write(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
}

/** Runs a command in a folder as a terminal would, and returns what came of it. */
export async function parlance(cwd: string, words: string, env: Record<string, string> = {}) {
  let out = "";
  let err = "";
  const stdin = (async function* () {})();
  const code = await run(words.split(" ").filter(Boolean), {
    cwd,
    env,
    stdin,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}
