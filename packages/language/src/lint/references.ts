import type { Schema, SchemaObject } from "@parlance/wire";
import { parseFragment } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { fileOf } from "../folder.js";
import { didYouMean } from "../nearest.js";
import { locate } from "../schema.js";
import { leadsToSchema, subschemas } from "../walk.js";
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
  for (const one of inPlace(schemas, start, base, seen)) if (one === start) return seen;
  return undefined;
}

/** The schemas that a schema applies to its own value, through references; `seen` has those that were visited. */
function* inPlace(
  schemas: Readonly<Record<string, SchemaObject>>,
  schema: SchemaObject,
  base: string,
  seen: Set<Schema>,
): Generator<SchemaObject> {
  const stack = [{ schema, base }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (seen.has(next.schema)) continue;
    seen.add(next.schema);
    const inner = appliedBy(schemas, next.schema, next.base);
    for (const one of inner) yield one.schema;
    stack.push(...inner.reverse());
  }
}

/** The schemas that one applies itself to its own value, each with the id that its references count from. */
function appliedBy(schemas: Readonly<Record<string, SchemaObject>>, schema: SchemaObject, base: string) {
  const inner: { schema: Schema | undefined; base: string }[] = [
    ...inPlaceLists.flatMap((keyword) => (Array.isArray(schema[keyword]) ? (schema[keyword] as Schema[]) : [])),
    ...inPlaceOnes.map((keyword) => schema[keyword] as Schema | undefined),
    ...Object.values((schema.dependentSchemas as Record<string, Schema> | undefined) ?? {}),
  ].map((one) => ({ schema: one, base }));
  const found = typeof schema.$ref === "string" ? locate({ schemas }, base, schema.$ref) : undefined;
  if (found !== undefined) inner.push({ schema: found.schema, base: String(schemas[found.title]!.$id) });
  return inner.filter((one): one is { schema: SchemaObject; base: string } => Object(one.schema) === one.schema);
}

/** Each `unevaluatedItems` beside a `contains`, in the same schema or in one for the same value: its validator does not count what `contains` finds. */
export function* uncounted({ schemas }: Schemas): Generator<Finding> {
  const byId = identified(schemas);
  for (const file of Object.keys(schemas))
    for (const { schema, pointer } of subschemas(byId[file]!)) {
      if (!("unevaluatedItems" in schema)) continue;
      const all = [schema, ...inPlace(byId, schema, idOf(file), new Set())];
      if (!all.some((one) => "contains" in one)) continue;
      const message =
        'stands with "contains", and the items that it finds would count as unevaluated or not by chance; write "items" or "prefixItems" instead of one of them';
      yield { rule: "keyword", file, pointer: `${pointer}/unevaluatedItems`, message };
    }
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
export const identified = (schemas: Readonly<Record<string, SchemaObject>>): Record<string, SchemaObject> =>
  Object.fromEntries(Object.entries(schemas).map(([file, schema]) => [file, { ...schema, $id: idOf(file) }]));
