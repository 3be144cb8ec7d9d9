import { relative } from "node:path";
import { parseUrl } from "@parlance/wire/internal/http";
import { isObject } from "@parlance/wire/json";
import type { Finding } from "./finding.js";
import type { ContractFolder } from "./folder.js";

/** A folder's texts: path relative to the folder -> text. */
type Files = ContractFolder["files"];

/** Finds the folder that a contract extends; undefined if there is none. `from` is the contract's own folder. */
export type Open = (base: string, from: string) => Promise<{ readonly at: string; readonly files: Files } | undefined>;

/**
 * Merges a contract's folder with all that it extends: `contract.json` by JSON Merge Patch (RFC 7396); a message file replaces the
 * base's of the same name, adds one, or, being `null`, removes it. Files of the base that are no longer referenced are left out.
 * Transcripts are not inherited: they record one program.
 */
export async function follow(
  name: string,
  own: Files,
  at: string,
  open: Open,
  way: readonly string[] = [],
): Promise<ContractFolder> {
  const patch = parsed(own["contract.json"]);
  const spec = isObject(patch) ? patch.extends : undefined;
  if (spec === undefined) return { name, files: own };
  const wrong = (message: string): ContractFolder => {
    const finding: Finding = { rule: "extends", file: "contract.json", pointer: "/extends", message };
    return { name, files: own, findings: [finding] };
  };
  if (typeof spec !== "string" || spec === "")
    return wrong('must be a folder, such as "../agentsmithy", or a package\'s, such as "my-protocols/schemas/chat"');
  const found = await open(spec, at);
  if (!found) return wrong(`names ${spec}, where there is no contract.json`);
  const trail = [...way, at];
  if (trail.includes(found.at)) return wrong(`names ${spec}, which extends this contract: one of the two stands alone`);
  const base = await follow(spec, found.files, found.at, open, trail);
  if (base.findings) {
    const [first] = base.findings;
    return wrong(`names ${spec}, which cannot be read: ${first!.file}${first!.pointer} ${first!.message}`);
  }
  const below = parsed(base.files["contract.json"]);
  if (!isObject(below)) return wrong(`names ${spec}, whose contract.json is not a JSON object`);
  return {
    name,
    files: extended(base.files, own, below, patch as Tree),
    extended: { own, base, at: relative(at, found.at) },
  };
}

/** RFC 7396. Properties keep their place; new ones come last. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Tree = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else define(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, value));
  }
  return merged;
}

type Tree = Record<string, unknown>;

function extended(base: Files, own: Files, below: Tree, patch: Tree): Files {
  // The names of the base's types are its own: a program may use both contracts.
  const { type: _type, ...inherited } = below;
  const { extends: _extends, ...contract } = mergePatch(inherited, patch) as Tree;
  const files: Record<string, string> = {};
  for (const [file, text] of Object.entries({ ...schemasOf(base), ...own }))
    if (!isRemoval(file, text)) files[file] = text;
  files["contract.json"] = `${JSON.stringify(contract, null, 2)}\n`;
  const named = reachable(files, ["contract.json", ...Object.keys(own)]);
  return Object.fromEntries(Object.entries(files).filter(([file]) => named.has(file)));
}

const isRemoval = (file: string, text: string) => file.startsWith("messages/") && text.trim() === "null";

const schemasOf = (files: Files) =>
  Object.fromEntries(Object.entries(files).filter(([file]) => file.endsWith(".json") && file !== "contract.json"));

/** All files reachable from these, by path in contract.json and by `$ref` among schemas. */
function reachable(files: Files, roots: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  const visit = (file: string) => {
    if (named.has(file) || !(file in files)) return;
    named.add(file);
    if (!file.endsWith(".json")) return;
    for (const [key, text] of strings(parsed(files[file])))
      if (file === "contract.json") visit(text);
      else if (key === "$ref") visit(beside(file, text));
  };
  for (const file of roots) visit(file);
  return named;
}

/** The file that a reference in another one names: `../schemas/x.json#/$defs/y` beside `messages/z.json`. */
const beside = (file: string, reference: string) => parseUrl(reference, `parlance:/${file}`)?.pathname.slice(1) ?? "";

/** Every string of a JSON value with its key. */
function* strings(value: unknown, key = ""): Generator<[key: string, text: string]> {
  if (typeof value === "string") yield [key, value];
  else if (typeof value === "object" && value !== null)
    for (const [inner, child] of Object.entries(value)) yield* strings(child, inner);
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    // `parse` reports invalid JSON.
    return undefined;
  }
}

/** An own property, also where it is called `__proto__`. */
const define = (object: Tree, key: string, value: unknown) =>
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
