import type { Schema, SchemaObject } from "@parlance/wire";
import { parseFragment } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { fileOf } from "../folder.js";
import { didYouMean } from "../nearest.js";
import { locate } from "../schema.js";
import { leadsToSchema, mapSchema, subschemas } from "../walk.js";
import { idOf, type Subject } from "./subject.js";

type Schemas = Pick<Subject, "schemas" | "unreadable">;

/** Checks that every reference leads to a schema. */
export function* references(file: string, { schemas, unreadable }: Schemas): Generator<Finding> {
  const byId = identified(schemas);
  for (const { schema, pointer } of subschemas(schemas[file]!)) {
    const { $ref } = schema;
    if (typeof $ref !== "string") continue;
    const finding = (message: string): Finding => ({ rule: "ref", file, pointer: `${pointer}/$ref`, message });
    const found = locate({ schemas: byId }, idOf(file), $ref);
    const [path, fragment = ""] = $ref.split("#") as [string, string?];
    const target = path === "" ? file : fileOf(path, file);
    if (target !== undefined && unreadable.has(target)) continue;
    if (target === undefined)
      yield finding(`refers to ${$ref}, which is outside the folder of the contracts; copy the schema to messages/`);
    else if (!(target in schemas)) {
      const files = Object.keys(schemas).map((one) => one.replace(/^messages\//, ""));
      yield finding(`refers to ${$ref}, and there is no ${target}${didYouMean(path, files)}`);
    } else if (!found || !leadsToSchema(schemas[target]!, parseFragment(fragment))) {
      const places = subschemas(schemas[target]!).map((one) => one.pointer);
      yield finding(`refers to ${$ref}, and ${target} has no schema at ${fragment}${didYouMean(fragment, places)}`);
    }
  }
}

const inPlaceLists = ["allOf", "anyOf", "oneOf"];
const inPlaceOnes = ["not", "if", "then", "else"];

/** References that lead back to their own schema for the same value: checking it would never end. Each cycle is reported once. */
export function* loops({ schemas }: Schemas): Generator<Finding> {
  const byId = identified(schemas);
  const told = new Set<Schema>();
  for (const file of Object.keys(schemas))
    for (const { schema, pointer } of subschemas(byId[file]!)) {
      if (typeof schema.$ref !== "string" || told.has(schema)) continue;
      const passed = returns(byId, schema, idOf(file));
      if (!passed) continue;
      for (const one of passed) told.add(one);
      yield {
        rule: "ref",
        file,
        pointer: `${pointer}/$ref`,
        message: `refers back to itself for the same value, so validation would never end; move ${schema.$ref} under a property or items`,
      };
    }
}

/** The schemas on a cycle through this one, if there is a cycle. */
function returns(
  schemas: Readonly<Record<string, SchemaObject>>,
  start: SchemaObject,
  base: string,
): ReadonlySet<Schema> | undefined {
  const seen = new Set<Schema>();
  const visit = (schema: Schema | undefined, base: string): boolean => {
    if (typeof schema !== "object" || schema === null) return false;
    if (schema === start && seen.size > 0) return true;
    if (seen.has(schema)) return false;
    seen.add(schema);
    const inner = [
      ...inPlaceLists.flatMap((keyword) => (Array.isArray(schema[keyword]) ? (schema[keyword] as Schema[]) : [])),
      ...inPlaceOnes.map((keyword) => schema[keyword] as Schema | undefined),
      ...Object.values((schema.dependentSchemas as Record<string, Schema> | undefined) ?? {}),
    ];
    if (inner.some((one) => visit(one, base))) return true;
    const found = typeof schema.$ref === "string" ? locate({ schemas }, base, schema.$ref) : undefined;
    return found !== undefined && visit(found.schema, String(schemas[found.title]!.$id));
  };
  return visit(start, base) ? seen : undefined;
}

/**
 * The schemas of some files, each schema inside them that a reference leads to apart, after those that it leads to itself. ajv compiles the
 * target of a reference inside its source; as they are, a chain of some hundred would be more than the call stack.
 */
export function apart(files: Readonly<Record<string, SchemaObject>>): { file: string; schema: SchemaObject }[] {
  const byId = identified(files);
  const fileOfId = new Map(Object.keys(files).map((file) => [idOf(file), file]));
  const ids = new Map<Schema, string>();
  const ordered = new Map<SchemaObject, string>();
  const find = (base: string, ref: unknown) => {
    const found = typeof ref === "string" ? locate({ schemas: byId }, base, ref) : undefined;
    return found && { schema: found.schema, base: idOf(found.title) };
  };
  const stack = Object.values(byId).map((schema) => ({ schema, base: String(schema.$id) }));
  for (let one = stack.at(-1); one !== undefined; one = stack.at(-1)) {
    const { schema, base } = one;
    if (ids.has(schema)) {
      stack.pop();
      ordered.set(schema, ordered.get(schema) ?? base);
      continue;
    }
    ids.set(schema, schema === byId[fileOfId.get(base)!] ? base : `${base}/${ids.size}`);
    for (const { schema: inner } of subschemas(schema)) {
      const target = find(base, inner.$ref);
      if (target && typeof target.schema === "object" && !ids.has(target.schema))
        stack.push({ schema: target.schema, base: target.base });
    }
  }
  return [...ordered].map(([schema, base]) => {
    const moved = mapSchema(schema, (inner) => {
      const { $ref, ...rest } = inner;
      const target = find(base, $ref);
      if (target === undefined) return inner;
      if (typeof target.schema === "object") return { ...rest, $ref: ids.get(target.schema)! };
      return target.schema ? rest : { allOf: [rest, false] };
    }) as SchemaObject;
    return { file: fileOfId.get(base)!, schema: { ...moved, $id: ids.get(schema)! } };
  });
}

/** The files given, and all that refer to them. */
export function users(files: Iterable<string>, { schemas }: Schemas): Set<string> {
  const reached = new Set(files);
  const refers = Object.entries(schemas).map(([file, schema]) => {
    const refs = [...subschemas(schema)].flatMap(({ schema: { $ref } }) => (typeof $ref === "string" ? $ref : []));
    return { file, targets: refs.map((ref) => fileOf(ref.split("#")[0]!, file) ?? "") };
  });
  for (let before = -1; before < reached.size; ) {
    before = reached.size;
    for (const { file, targets } of refers) if (targets.some((target) => reached.has(target))) reached.add(file);
  }
  return reached;
}

/** The schemas by file, with the ids that `locate` needs. */
const identified = (schemas: Readonly<Record<string, SchemaObject>>): Record<string, SchemaObject> =>
  Object.fromEntries(Object.entries(schemas).map(([file, schema]) => [file, { ...schema, $id: idOf(file) }]));
