import { posix, relative, resolve } from "node:path";
import type { ContractFolder } from "@parlance/language/load";
import { parsePointer } from "@parlance/wire/internal/pointer";
import * as jsonc from "jsonc-parser";
import type { Place } from "./folders.js";
import type { Io } from "./io.js";

/** One remark about a place in a file. */
export interface Remark {
  readonly contract: string;
  readonly rule: string;
  readonly message: string;
  /** Relative to the working directory. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly pointer: string;
  /** From 1; set for text that is not JSON. */
  readonly column?: number;
  readonly severity?: "warning";
}

/** Prints remarks for people, and for GitHub where it runs the command: an annotation at the line of a pull request. */
export function print(remarks: readonly Remark[], io: Io): void {
  for (const remark of remarks) {
    io.out(`${sentence(remark)}\n`);
    if (io.env.GITHUB_ACTIONS) io.out(annotation(remark, io));
  }
}

/** A remark for people: its place, and what is wrong there. */
export function sentence({ file, line, column, pointer, message, rule, severity }: Remark): string {
  const place = `${file}:${line}${column === undefined ? "" : `:${column}`}${pointer && ` ${pointer}`}`;
  return `${place}: ${severity ? `${severity}: ` : ""}${message} [${rule}]`;
}

/** https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions: paths are relative to the repository. */
function annotation({ file, line, pointer, message, rule, severity }: Remark, io: Io): string {
  const path = relative(io.env.GITHUB_WORKSPACE ?? io.cwd, resolve(io.cwd, file)).replaceAll("\\", "/");
  const data = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (text: string) => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const words = `file=${property(path)},line=${line},title=${property(`parlance ${rule}`)}`;
  return `::${severity ?? "error"} ${words}::${data(`${pointer && `${pointer}: `}${message}`)}\n`;
}

/** Whether a JSON Pointer has a target in a file of a contract. */
export const has = (folder: ContractFolder, file: string, pointer: string): boolean =>
  find(folder.files, file, pointer).exact;

/**
 * The place of a JSON Pointer in a file of a contract: the file as shown, and the line from 1. A missing target gives its nearest parent;
 * an inherited one gives its place in the base.
 */
export function placeIn({ path, folder }: Place, file: string, pointer: string): { file: string; line: number } {
  const { extended } = folder;
  const found = find(extended?.own ?? folder.files, file, pointer);
  if (extended && !found.exact && find(extended.base.files, file, pointer).exact)
    return placeIn({ path: posix.join(path, extended.at), folder: extended.base }, file, pointer);
  return { file: fileIn(path, file), line: found.line };
}

function find(files: ContractFolder["files"], file: string, pointer: string): { line: number; exact: boolean } {
  const text = files[file];
  if (text === undefined) return { line: 1, exact: false };
  const steps = parsePointer(pointer);
  if (file.endsWith(".jsonl")) return { line: Number(steps[0] ?? 0) + 1, exact: true };
  // Without being parsed: it may be nested too deep.
  if (steps.length === 0)
    return { line: text.slice(0, Math.max(0, text.search(/\S/))).split("\n").length, exact: true };
  let node = jsonc.parseTree(text);
  let exact = true;
  for (const step of steps) {
    const next = node && jsonc.findNodeAtLocation(node, [node.type === "array" ? Number(step) : step]);
    exact = next !== undefined;
    if (!next) break;
    node = next;
  }
  // A property's own line is that of its name, not of a value that may begin on the next.
  const offset = node?.parent?.type === "property" ? node.parent.offset : (node?.offset ?? 0);
  return { line: text.slice(0, offset).split("\n").length, exact };
}

export const fileIn = (path: string, file: string) => posix.join(path.replaceAll("\\", "/"), file);
