import { access, constants, readdir, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type ContractFolder, read } from "@parlance/language/load";
import { type Io, UsageError } from "./io.js";

/** A contract's folder and where it is. */
export interface Place {
  /** As shown: relative to the working directory. Empty if it is not on the disk. */
  readonly path: string;
  readonly folder: ContractFolder;
}

/** The contracts at a path, by name: one, or all in that folder. `single` is true for one. */
export async function contractsAt(directory: string, io: Io): Promise<{ places: Place[]; single: boolean }> {
  const root = resolve(io.cwd, directory);
  if (!(await isDirectory(root))) throw new UsageError(`${directory} is not a folder; parlance init starts a contract`);
  const single = await isContract(root);
  const children = (await readdir(root)).sort().map((name) => join(root, name));
  const found = single ? [root] : await only(children, isContract);
  if (found.length === 0)
    throw new UsageError(
      `${directory} has no contract.json, and neither has a folder in it; parlance init starts a contract`,
    );
  const places = found.map(async (path) => ({ path: relative(io.cwd, path) || ".", folder: await read(path) }));
  return { places: await Promise.all(places), single };
}

/** A folder of messages without contract.json counts as a contract, with an error. */
const isContract = async (path: string) =>
  (await isDirectory(path)) && (await readdir(path)).some((name) => name === "contract.json" || name === "messages");

export const isDirectory = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

/** Throws where a file could not be written at the end of a long run. */
export async function meetWritable(file: string, io: Io): Promise<void> {
  const path = resolve(io.cwd, file);
  const folder = dirname(path);
  if (await isDirectory(path)) throw new UsageError(`${file} is a folder, not a file`);
  if (!(await isDirectory(folder))) throw new UsageError(`${file} cannot be written: its folder does not exist`);
  const there = await stat(path).catch(() => undefined);
  await access(there ? path : folder, constants.W_OK);
}

async function only(paths: readonly string[], test: (path: string) => Promise<boolean>): Promise<string[]> {
  const passed = await Promise.all(paths.map(test));
  return paths.filter((_, index) => passed[index]);
}
