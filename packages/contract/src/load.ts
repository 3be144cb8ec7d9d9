import { readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { ContractError } from "./finding.js";
import { assemble, type ContractFolder } from "./folder.js";
import type { ContractDocument } from "./model.js";

export { ContractError, type Finding } from "./finding.js";
export { assemble, type ContractFolder } from "./folder.js";

/** Reads a contract's folder as text: contract.json, messages/*.json and transcripts/*.jsonl. Throws `ContractError` if there is no such folder. */
export async function read(path: string): Promise<ContractFolder> {
  const name = basename(resolve(path));
  const names = await readdir(path).catch(() => {
    throw new ContractError(name, [{ rule: "missing", file: "", pointer: "", message: `${path} is not a folder` }]);
  });
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
  const texts = await Promise.all(files.map((file) => readFile(join(path, file), "utf8")));
  return { name, files: Object.fromEntries(files.map((file, index) => [file, texts[index]!])) };
}

/**
 * Loads a contract from its folder. Throws `ContractError`, naming file and pointer, when a file is missing or is not JSON.
 * A contract that loads may still have faults: see lint.
 */
export const load = async (path: string): Promise<ContractDocument> => assemble(await read(path));
