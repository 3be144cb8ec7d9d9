import type { Schema, SchemaObject } from "@parlance/wire";
import { locate } from "./schema.js";
import { subschemas } from "./walk.js";

/** `contract.json` as parsed. The meta-schema checks its form, so no property is assumed to be there. */
// biome-ignore lint/suspicious/noExplicitAny: this is what JSON.parse gives; the meta-schema is checked by lint
export type Source = Readonly<Record<string, any>>;

/** The formats that a contract declares itself; one without a pattern is an annotation. */
export function declaredFormats(source: Source): ReadonlyMap<string, RegExp | true> {
  const entries = Object.entries<Source>(source.formats ?? {}).map(([name, { pattern }]): [string, RegExp | true] => [
    name,
    typeof pattern === "string" ? new RegExp(pattern, "u") : true,
  ]);
  return new Map(entries);
}

/** Keywords that hold schemas for the same value, or for what is in it without a name of its own. */
const ones = [
  "items",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contentSchema",
  "if",
  "then",
  "else",
];
const lists = ["allOf", "anyOf", "oneOf", "prefixItems", "patternProperties", "dependentSchemas"];

export interface Secrets {
  /** Of properties and parameters, whose values recordings leave out. */
  readonly names: readonly string[];
  /** The marked schemas that one of these properties has. A recording cannot know the value of any other. */
  readonly schemas: ReadonlySet<Schema>;
}

/** What `x-secret` marks: parameters, and properties by their own schema, by that of their items, or by one that they refer to. */
export function secretsOf({ operations = {}, channels = {} }: Source, schemas: Iterable<SchemaObject>): Secrets {
  const names = new Set<string>();
  for (const { parameters = {} } of [operations, channels].flatMap((kind) => Object.values<Source>(kind)))
    for (const [name, parameter] of Object.entries<Source>(parameters))
      if (parameter["x-secret"] === true) names.add(name);
  const roots = [...schemas];
  const all = roots.flatMap((root) => subschemas(root).map(({ schema }) => ({ schema, base: String(root.$id) })));
  const isMarked = (schema: Schema) => typeof schema === "object" && schema["x-secret"] === true;
  if (!all.some(({ schema }) => isMarked(schema))) return { names: [...names].sort(), schemas: new Set() };

  const byId = { schemas: Object.fromEntries(roots.map((root) => [String(root.$id), root])) };
  const [inward, outward] = [new Map<Schema, Schema[]>(), new Map<Schema, Schema[]>()];
  for (const { schema, base } of all) {
    const found = typeof schema.$ref === "string" ? locate(byId, base, schema.$ref) : undefined;
    for (const one of [...innerOf(schema), ...(found ? [found.schema] : [])]) {
      listIn(inward, schema).push(one);
      listIn(outward, one).push(schema);
    }
  }
  const properties = all.flatMap(({ schema }) =>
    Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>),
  );
  // From the marks to the properties, and back, each schema once: a ring can have thousands.
  const leading = reached(outward, all.map(({ schema }) => schema).filter(isMarked));
  for (const [name, schema] of properties) if (leading.has(schema)) names.add(name);
  const known = reached(
    inward,
    properties.map(([, schema]) => schema),
  );
  return { names: [...names].sort(), schemas: new Set([...known].filter(isMarked)) };
}

function listIn(lists: Map<Schema, Schema[]>, schema: Schema): Schema[] {
  const list = lists.get(schema) ?? [];
  lists.set(schema, list);
  return list;
}

/** The schemas that these lead to, themselves first. */
function reached(edges: ReadonlyMap<Schema, readonly Schema[]>, from: readonly Schema[]): ReadonlySet<Schema> {
  const found = new Set(from);
  for (const one of found) for (const next of edges.get(one) ?? []) found.add(next);
  return found;
}

function innerOf(schema: SchemaObject): Schema[] {
  const given = schema as Readonly<Record<string, Schema | undefined>>;
  const inner = ones.map((keyword) => given[keyword]);
  const listed = lists.flatMap((keyword) => Object.values((given[keyword] ?? {}) as Record<string, Schema>));
  return [...inner, ...listed].filter((one) => one !== undefined);
}
