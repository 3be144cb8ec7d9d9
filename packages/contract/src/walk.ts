import type { Schema, SchemaObject } from "./model.js";

/** One step of a JSON Pointer (RFC 6901, section 3). */
export const escapePointer = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12, sections 10 and 11). */
const one = [
  ..."items contains additionalProperties propertyNames not if then else unevaluatedProperties unevaluatedItems".split(
    " ",
  ),
  "contentSchema",
];
const many = ["allOf", "anyOf", "oneOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/** Every schema in a schema, itself first, with its JSON Pointer. What has no form of a schema is passed over. */
export function* subschemas(schema: Schema, pointer = ""): Generator<{ schema: SchemaObject; pointer: string }> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  yield { schema, pointer };
  for (const [keyword, value] of Object.entries(schema)) {
    const here = `${pointer}/${escapePointer(keyword)}`;
    if (one.includes(keyword)) yield* subschemas(value as Schema, here);
    else if ((many.includes(keyword) || named.includes(keyword)) && typeof value === "object" && value !== null)
      for (const [name, child] of Object.entries(value)) yield* subschemas(child, `${here}/${escapePointer(name)}`);
  }
}

/** Rewrites a schema and every schema inside it, the inner ones first. Values such as `const` and `examples` are left alone. */
export function mapSchema(schema: Schema, change: (schema: SchemaObject) => SchemaObject): Schema {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const inner = (value: unknown) => mapSchema(value as Schema, change);
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (one.includes(keyword)) return [keyword, inner(value)];
    if (many.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inner)];
    if (!named.includes(keyword) || typeof value !== "object" || value === null) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, child]) => [name, inner(child)]))];
  });
  return change(Object.fromEntries(entries));
}
