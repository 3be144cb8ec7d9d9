import { escapeStep, parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import type { Source } from "../source.js";
import type { Lookup } from "./identities.js";

/** A schema that may be a message, with the values that its properties are limited to. */
export interface Candidate {
  readonly pointer: string;
  readonly name: string;
  /** Property → its constant, of those that are required. */
  readonly constants: Readonly<Record<string, unknown>>;
}

/** The alternatives of a union, those of unions in it too. */
export function* alternatives(files: Lookup, pointer: string, seen = new Set<string>()): Generator<string> {
  const found = files.at(pointer);
  if (seen.has(found.pointer)) return;
  seen.add(found.pointer);
  const union = ["oneOf", "anyOf"].find((keyword) => Array.isArray(found.value[keyword]));
  if (union === undefined || "properties" in found.value) yield found.pointer;
  else
    for (const at of (found.value[union] as unknown[]).keys())
      yield* alternatives(files, `${found.pointer}/${union}/${at}`, seen);
}

/** The constants of a schema's required properties, through references and `allOf`. */
export function constantsOf(files: Lookup, pointer: string): Record<string, unknown> {
  const constants: Record<string, unknown> = {};
  const required = new Set<unknown>();
  const seen = new Set<string>();
  const visit = (place: string) => {
    const { value, pointer: at } = files.at(place);
    if (seen.has(at)) return;
    seen.add(at);
    for (const index of ((value.allOf ?? []) as unknown[]).keys()) visit(`${at}/allOf/${index}`);
    const target = typeof value.$ref === "string" ? files.resolve(value.$ref, at) : undefined;
    if (target !== undefined) visit(target);
    for (const name of Array.isArray(value.required) ? value.required : []) required.add(name);
    for (const name of Object.keys((value.properties as object | undefined) ?? {})) {
      const constant = constantOf(files.at(`${at}/properties/${escapeStep(name)}`).value);
      if (constant !== undefined) constants[name] = constant;
    }
  };
  visit(pointer);
  return Object.fromEntries(Object.entries(constants).filter(([name]) => required.has(name)));
}

const constantOf = (schema: Source): unknown =>
  "const" in schema
    ? schema.const
    : Array.isArray(schema.enum) && schema.enum.length === 1
      ? schema.enum[0]
      : undefined;

/** The property whose constants tell most candidates apart, and at least two thirds of them: a text in each, and no two alike. */
export function tagOf(candidates: readonly Candidate[]): string | undefined {
  const counts = new Map<string, Set<unknown>>();
  for (const { constants } of candidates)
    for (const [name, value] of Object.entries(constants))
      if (typeof value === "string") counts.set(name, (counts.get(name) ?? new Set()).add(value));
  const rank = (name: string) => counts.get(name)!.size + (name === "type" ? 0.5 : 0);
  const [best] = [...counts.keys()].sort((one, other) => rank(other) - rank(one));
  if (best === undefined || (candidates.length === 1 && best !== "type")) return undefined;
  return counts.get(best)!.size * 3 >= candidates.length * 2 ? best : undefined;
}

/** The definitions of a document: pointer and name. */
export function definitionsOf(document: Source): [pointer: string, name: string][] {
  return ["$defs", "definitions"].flatMap((keyword) =>
    Object.keys(isObject(document[keyword]) ? (document[keyword] as Source) : {}).map((name): [string, string] => [
      `/${keyword}/${escapeStep(name)}`,
      name,
    ]),
  );
}

/** Pointers of definitions that no other definition refers to. */
export function* unreferenced(files: Lookup): Generator<[pointer: string, name: string]> {
  const referred = new Set<string>();
  const visit = (value: unknown, pointer: string) => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, child] of Object.entries(value)) {
      if (key === "$ref" && typeof child === "string") {
        const target = files.resolve(child, pointer);
        if (target !== undefined && !pointer.startsWith(target)) referred.add(target);
      }
      visit(child, `${pointer}/${escapeStep(key)}`);
    }
  };
  visit(files.document, "");
  for (const [pointer, name] of definitionsOf(files.document))
    if (!referred.has(pointer) && valueAt(files.document, parsePointer(pointer)) !== true) yield [pointer, name];
}
