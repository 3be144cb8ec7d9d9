import { type ExecFileOptions, execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Runs a program. The error of one that fails has what it printed: a report goes to the standard output. */
export async function run(
  file: string,
  words: readonly string[],
  options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  try {
    return await execute(file, words, { ...options, encoding: "utf8" });
  } catch (error) {
    const { stdout = "" } = error as { readonly stdout?: string };
    (error as Error).message += stdout;
    throw error;
  }
}

/** Packs every package into a folder, as publishing does, and returns the tarballs. */
export async function pack(folder: string): Promise<string[]> {
  const packed = join(folder, "packed");
  await run(
    join(root, "node_modules/.bin/pnpm"),
    ["-r", "--filter", "./packages/*", "pack", "--pack-destination", packed],
    { cwd: root },
  );
  return readdirSync(packed).map((file) => join(packed, file));
}

/** Installs packages into a folder, as a user does. */
export async function install(folder: string, ...packages: string[]): Promise<void> {
  await run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: folder });
}
