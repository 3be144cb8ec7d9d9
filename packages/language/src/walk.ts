import type { Schema, SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12, sections 10 and 11). */
const one = new Set(
  (
    "items contains additionalProperties propertyNames not if then else unevaluatedProperties unevaluatedItems " +
    "contentSchema"
  ).split(" "),
);
const many = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

interface Place {
  readonly schema: SchemaObject;
  readonly pointer: string;
}

/** A contract's schemas are walked once for each name in it, and never changed after they are read. */
const walked = new WeakMap<object, readonly Place[]>();

/** Every schema in a schema, itself first, with its JSON Pointer. What has no form of a schema is passed over. */
export function subschemas(schema: Schema): readonly Place[] {
  if (typeof schema !== "object" || schema === null) return [];
  const known = walked.get(schema);
  if (known) return known;
  const places: Place[] = [];
  collect(schema, "", places);
  walked.set(schema, places);
  return places;
}

function collect(schema: Schema, pointer: string, places: Place[]): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  places.push({ schema, pointer });
  for (const [keyword, value] of Object.entries(schema)) {
    if (one.has(keyword)) collect(value as Schema, `${pointer}/${keyword}`, places);
    else if ((many.has(keyword) || named.has(keyword)) && typeof value === "object" && value !== null)
      for (const [name, child] of Object.entries(value))
        collect(child, `${pointer}/${keyword}/${escapeStep(name)}`, places);
  }
}

/** Whether the steps of a pointer into a schema, which is there, lead to a schema and not to another value. */
export function leadsToSchema(schema: Schema, steps: readonly string[]): boolean {
  const [keyword, name, ...rest] = steps;
  if (keyword === undefined) return true;
  const value = typeof schema === "object" && schema !== null ? (schema[keyword] as Schema) : undefined;
  if (one.has(keyword)) return leadsToSchema(value!, steps.slice(1));
  return (many.has(keyword) || named.has(keyword)) && name !== undefined
    ? leadsToSchema((value as SchemaObject)[name] as Schema, rest)
    : false;
}

/** Rewrites a schema and every schema inside it, the inner ones first. Values such as `const` and `examples` are left alone. */
export function mapSchema(schema: Schema, change: (schema: SchemaObject) => SchemaObject): Schema {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const inner = (value: unknown) => mapSchema(value as Schema, change);
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (one.has(keyword)) return [keyword, inner(value)];
    if (many.has(keyword) && Array.isArray(value)) return [keyword, value.map(inner)];
    if (!named.has(keyword) || typeof value !== "object" || value === null) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, child]) => [name, inner(child)]))];
  });
  return change(Object.fromEntries(entries));
}

/** A reference in the schema with the id `base`, as one that means the same anywhere. */
export const absolute = (reference: string, base: string): string =>
  new URL(reference, `parlance:${base}`).href.slice("parlance:".length);

/** A schema that means the same in any place. */
export function elsewhere(schema: Schema, base: string): Schema {
  return mapSchema(schema, (one) => (typeof one.$ref === "string" ? { ...one, $ref: absolute(one.$ref, base) } : one));
}
