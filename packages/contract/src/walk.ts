import { escapePointer } from "./folder.js";
import type { Schema, SchemaObject } from "./model.js";

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12, sections 10 and 11). */
const one = ["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"];
const many = ["allOf", "anyOf", "oneOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "dependentSchemas"];

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
