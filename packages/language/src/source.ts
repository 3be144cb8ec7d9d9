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
  const roots = [...schemas];
  const byId = { schemas: Object.fromEntries(roots.map((root) => [String(root.$id), root])) };
  const names = new Set<string>();
  const marked = new Set<Schema>();
  for (const { parameters = {} } of [operations, channels].flatMap((kind) => Object.values<Source>(kind)))
    for (const [name, parameter] of Object.entries<Source>(parameters))
      if (parameter["x-secret"] === true) names.add(name);
  for (const root of roots)
    for (const { schema } of subschemas(root))
      for (const [name, property] of Object.entries((schema.properties ?? {}) as Record<string, Schema>))
        if (mark(property, String(root.$id), new Set())) names.add(name);
  return { names: [...names].sort(), schemas: marked };

  function mark(schema: Schema, base: string, seen: Set<Schema>): boolean {
    if (typeof schema !== "object" || schema === null || seen.has(schema)) return false;
    seen.add(schema);
    const is = schema["x-secret"] === true;
    if (is) marked.add(schema);
    const found = typeof schema.$ref === "string" ? locate(byId, base, schema.$ref) : undefined;
    const referred = found !== undefined && mark(found.schema, String(byId.schemas[found.title]?.$id), seen);
    const inner = innerOf(schema).filter((one) => mark(one, base, seen));
    return is || referred || inner.length > 0;
  }
}

function innerOf(schema: SchemaObject): Schema[] {
  const given = schema as Readonly<Record<string, Schema | undefined>>;
  const inner = ones.map((keyword) => given[keyword]);
  const listed = lists.flatMap((keyword) => Object.values((given[keyword] ?? {}) as Record<string, Schema>));
  return [...inner, ...listed].filter((one) => one !== undefined);
}
