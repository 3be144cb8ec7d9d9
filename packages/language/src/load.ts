import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { ContractDocument } from "@parlance/wire";
import { follow, type Open } from "./dialect.js";
import { ContractError } from "./finding.js";
import { assemble, type ContractFolder, referred } from "./folder.js";

export { follow, type Open } from "./dialect.js";
export { ContractError, type Finding } from "./finding.js";
export { assemble, type ContractFolder } from "./folder.js";

/**
 * Reads a contract's folder as text, with what it extends: contract.json, messages/*.json and transcripts/*.jsonl.
 * Throws `ContractError` if there is no such folder.
 */
export async function read(path: string): Promise<ContractFolder> {
  const name = basename(resolve(path));
  const files = await texts(path).catch(() => {
    throw new ContractError(name, [{ rule: "missing", file: "", pointer: "", message: `${path} is not a folder` }]);
  });
  return follow(name, files, resolve(path), openOnDisk);
}

/** The folder that a contract on the disk extends: relative to its own, or in a package that its folder can import. */
export const openOnDisk: Open = async (base, from) => {
  const at = isAbsolute(base) || base.startsWith(".") ? resolve(from, base) : packaged(base, from);
  const files = at === undefined ? undefined : await texts(at).catch(() => undefined);
  return at !== undefined && files && "contract.json" in files ? { at, files } : undefined;
};

function packaged(base: string, from: string): string | undefined {
  try {
    return dirname(createRequire(join(from, "contract.json")).resolve(`${base}/contract.json`));
  } catch {
    return undefined;
  }
}

async function texts(path: string): Promise<ContractFolder["files"]> {
  const names = await readdir(path);
  const inside = async (directory: string, extension: string) =>
    names.includes(directory)
      ? (await readdir(join(path, directory)))
          .filter((file) => file.endsWith(extension))
          .map((f) => `${directory}/${f}`)
      : [];
  const files = [
    ...names.filter((file) => file === "contract.json"),
    ...(await inside("messages", ".json")),
    ...(await inside("transcripts", ".jsonl")),
  ].sort();
  const read = await Promise.all(files.map((file) => textAt(join(path, file))));
  const own = Object.fromEntries(files.map((file, index) => [file, read[index]!]));
  return withReferred(own, (file) => textAt(join(path, file)));
}

/** Some editors begin a file with a byte order mark. */
const textAt = async (file: string) => (await readFile(file, "utf8")).replace(/^\uFEFF/, "");

/** Adds the files beside `messages/` that a folder's schemas refer to. Lint reports missing ones. */
export async function withReferred(
  files: ContractFolder["files"],
  text: (file: string) => Promise<string>,
): Promise<ContractFolder["files"]> {
  const asked = referred(files);
  const found = await Promise.all(asked.map((file) => text(file).catch(() => undefined)));
  const more = asked.flatMap((file, index) => (found[index] === undefined ? [] : [[file, found[index]] as const]));
  return more.length === 0 ? files : withReferred({ ...files, ...Object.fromEntries(more) }, text);
}

/**
 * Loads a contract from its folder. Throws `ContractError`, naming file and pointer, when a file is missing or is not JSON.
 * A contract that loads may still have faults: see lint.
 */
export const load = async (path: string): Promise<ContractDocument> => assemble(await read(path));
