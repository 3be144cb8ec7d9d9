import type { ChannelContract, ContractDocument, Operation, Schema, SchemaObject } from "@parlance/contract";
import { inputSchema } from "@parlance/contract/schema";

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12, sections 10 and 11). */
const one = new Set(["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"]);
const many = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "$defs", "dependentSchemas"]);

/** Rewrites a schema and every schema inside it, the inner ones first. Values such as `const` and `examples` are left alone. */
export function mapSchema(schema: Schema, change: (schema: SchemaObject) => SchemaObject): Schema {
  if (typeof schema === "boolean") return schema;
  const inner = (value: unknown) => mapSchema(value as Schema, change);
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (one.has(keyword)) return [keyword, inner(value)];
    if (many.has(keyword)) return [keyword, (value as Schema[]).map(inner)];
    if (!named.has(keyword)) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value as object).map(([name, child]) => [name, inner(child)]))];
  });
  return change(Object.fromEntries(entries));
}

/** Whether a call takes an input. A client tells in the same way whether its first argument is the input or the options. */
export function hasInput(call: Operation | ChannelContract): boolean {
  return call.parameters !== undefined || ("body" in call && call.body !== undefined);
}

/** The flat inputs of all operations and channels that take one. */
export function inputs(document: ContractDocument): SchemaObject[] {
  const { operations, channels } = document.contract;
  const calls = Object.entries({ ...operations, ...channels }).filter(([, call]) => hasInput(call));
  return calls.map(([name]) => inputSchema(document, name));
}
