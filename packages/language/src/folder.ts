import type { ContractDocument, SchemaObject, TranscriptLine } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import { ContractError, type Finding } from "./finding.js";
import { syntaxFault } from "./json.js";
import { expandMethods } from "./methods.js";
import { withoutProse } from "./prose.js";
import type { Source } from "./source.js";
import { mapSchema, subschemas } from "./walk.js";

/** A contract's folder, wherever it was read from: path relative to the folder -> text. */
export interface ContractFolder {
  /** The folder's name, for messages. */
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** For a contract that extends another: its own files, and the base folder; `at` is the path from one to the other. */
  readonly extended?: {
    readonly own: Readonly<Record<string, string>>;
    readonly base: ContractFolder;
    readonly at: string;
  };
  /** Problems found while the folder was read. */
  readonly findings?: readonly Finding[] | undefined;
}

/** The parsed files of a folder, and those that did not parse. */
export interface ParsedFolder {
  readonly source?: Source | undefined;
  /** File -> schema, in the order of the files. */
  readonly schemas: Readonly<Record<string, SchemaObject>>;
  readonly transcripts: Readonly<Record<string, readonly TranscriptLine[]>>;
  readonly findings: readonly Finding[];
}

/** Objects and lists within each other in a file: whatever walks a schema calls itself for each. A message may have 64 levels. */
const MAX_NESTED = 256;

/** Goes level by level, because it may be deeper than functions can call themselves. */
function isDeeperThan(limit: number, value: object): boolean {
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    level = level.flatMap((one) => Object.values(one).filter((child) => typeof child === "object" && child !== null));
  }
  return false;
}

/** Parses every file of a folder; broken ones are left out and reported. */
export function parse(folder: ContractFolder): ParsedFolder {
  const findings: Finding[] = [...(folder.findings ?? [])];
  const json = (file: string, text: string, pointer = "", first = 1): Source | undefined => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      const { line, column, message } = syntaxFault(text);
      const at = { line: line + first - 1, column };
      const words = `is not JSON: line ${at.line}, column ${column}: ${message}`;
      findings.push({ rule: "json", file, pointer, message: words, at });
      return undefined;
    }
    if (isObject(value) && !isDeeperThan(MAX_NESTED, value)) return value;
    const message = isObject(value) ? `is nested deeper than ${MAX_NESTED} levels` : "must be a JSON object";
    findings.push({ rule: "json", file, pointer, message });
    return undefined;
  };
  const files = Object.keys(folder.files).sort();
  const within = (directory: string, extension: string) =>
    files.filter((file) => file.startsWith(directory) && file.endsWith(extension));

  const text = folder.files["contract.json"];
  const source = text === undefined ? undefined : json("contract.json", text);
  if (text === undefined) {
    const message = "is missing: a contract is a folder with contract.json and messages/*.json";
    findings.push({ rule: "missing", file: "contract.json", pointer: "", message });
  }
  const schemas: Record<string, SchemaObject> = {};
  for (const file of files.filter((one) => one.endsWith(".json") && one !== "contract.json")) {
    const schema = json(file, folder.files[file]!);
    if (schema) schemas[file] = schema;
  }
  const transcripts: Record<string, TranscriptLine[]> = {};
  for (const file of within("transcripts/", ".jsonl")) {
    transcripts[file.slice("transcripts/".length, -".jsonl".length)] = folder.files[file]!.split("\n").flatMap(
      (line, index) => (line ? ((json(file, line, `/${index}`, index + 1) ?? []) as TranscriptLine) : []),
    );
  }
  return { source, schemas: withoutAnchors(schemas), transcripts, findings };
}

/** Replaces references by `$anchor` with JSON Pointers, which all other code expects. */
function withoutAnchors(schemas: Readonly<Record<string, SchemaObject>>): Record<string, SchemaObject> {
  const places = new Map<string, string>();
  for (const [file, root] of Object.entries(schemas))
    for (const { schema, pointer } of subschemas(root))
      if (typeof schema.$anchor === "string")
        places.set(`${file}#${schema.$anchor}`, pointer.split("/").map(encodeURIComponent).join("/"));
  if (places.size === 0) return { ...schemas };
  const change = (file: string) => (schema: SchemaObject) => {
    const { $anchor, ...rest } = schema;
    if (typeof rest.$ref !== "string") return rest;
    const [path, name] = rest.$ref.split("#") as [string, string?];
    const place = places.get(`${fileOf(path, file) ?? ""}#${name}`);
    return place === undefined ? rest : { ...rest, $ref: `${path}#${place}` };
  };
  return Object.fromEntries(
    Object.entries(schemas).map(([file, schema]) => [file, mapSchema(schema, change(file)) as SchemaObject]),
  );
}

/** Resolves a reference's path, relative to the contract's folder; undefined if it leaves the folder of contracts. */
export function fileOf(path: string, from: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return undefined;
  if (path === "") return from;
  const steps = from.split("/").slice(0, -1);
  for (const step of path.split("/")) {
    if (step === "..") {
      if (steps.length > 0 && steps.at(-1) !== "..") steps.pop();
      else steps.push(step);
    } else if (step !== ".") steps.push(step);
  }
  return steps.filter((step) => step === "..").length > 1 ? undefined : steps.join("/");
}

/** The files outside a folder that its schemas refer to, within the folder of contracts. */
export function referred(files: ContractFolder["files"]): string[] {
  const found = new Set<string>();
  for (const [from, text] of Object.entries(files))
    if (from.endsWith(".json") && from !== "contract.json")
      for (const [, path] of text.matchAll(/"\$ref"\s*:\s*"([^"#]*\.json)(?:#[^"]*)?"/g)) {
        const file = fileOf(path!, from);
        if (file !== undefined && !(file in files)) found.add(file);
      }
  return [...found].sort();
}

/**
 * Puts a folder together as one document: schemas by title, each with `$id` = `/<contract name>/<file>`.
 * Throws `ContractError` when a file is missing or is not JSON, or a schema has no title of its own; lint finds all other problems.
 */
export function assemble(folder: ContractFolder): ContractDocument {
  const { source, schemas, transcripts, findings } = expandMethods(parse(folder));
  const problems = [...findings];
  const files: Record<string, string> = {};
  const byTitle: Record<string, SchemaObject> = {};
  for (const [file, schema] of Object.entries(schemas)) {
    const { title } = schema;
    if (typeof title !== "string" || title in files) {
      const message =
        typeof title === "string"
          ? `has the title ${title}, and so has ${files[title]}: a title names one schema`
          : 'needs a "title", the name of its type';
      problems.push({ rule: "title", file, pointer: "/title", message });
      continue;
    }
    files[title] = file;
    byTitle[title] = { $id: new URL(file, `parlance:/${source?.name}/`).pathname, ...schema };
  }
  const refer = (file: string) => {
    const title = schemas[file]?.title;
    if (title !== undefined) return title;
    if (!(file in folder.files)) {
      const message = `names ${file}, which does not exist`;
      problems.push({ rule: "missing", file: "contract.json", pointer: placeOf(source, file), message });
    }
    return file;
  };
  if (!source) throw new ContractError(folder.name, problems);
  let contract: ContractDocument["contract"];
  try {
    contract = withoutProse(source, refer, Object.values(byTitle));
  } catch (cause) {
    const message = `does not have the form of a contract (${(cause as Error).message}); parlance lint says where`;
    throw new ContractError(folder.name, [...problems, { rule: "form", file: "contract.json", pointer: "", message }]);
  }
  if (problems.length > 0) throw new ContractError(folder.name, problems);
  return { contract, source, schemas: byTitle, files, transcripts };
}

/** Finds the first place of a string in a JSON value. */
export function placeOf(value: unknown, text: string): string {
  if (typeof value !== "object" || value === null) return "";
  for (const [key, child] of Object.entries(value)) {
    const step = `/${escapeStep(key)}`;
    if (child === text) return step;
    const rest = placeOf(child, text);
    if (rest) return step + rest;
  }
  return "";
}
