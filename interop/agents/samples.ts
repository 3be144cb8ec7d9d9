import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// biome-ignore lint/suspicious/noExplicitAny: any JSON
export type Json = any;
type Schema = Readonly<Record<string, Json>>;

const file = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json");
const { $defs } = JSON.parse(readFileSync(file, "utf8")) as { readonly $defs: Readonly<Record<string, Schema>> };

/** A method of ACP's own schema, with params and results that together have every property and every alternative of it. */
export interface Method {
  readonly name: string;
  /** The side that handles it. */
  readonly on: "agent" | "client" | "both";
  readonly params: readonly Json[];
  /** Absent for a notification. */
  readonly results?: readonly Json[];
}

export function methods(): Method[] {
  const found = new Map<string, { on: Method["on"]; params?: Json[]; results?: Json[] }>();
  for (const [title, schema] of Object.entries($defs)) {
    const name = schema["x-method"];
    if (name === undefined) continue;
    const on = ["agent", "client"].includes(schema["x-side"]) ? schema["x-side"] : "both";
    const kind = title.endsWith("Response") ? "results" : "params";
    found.set(name, { on, ...found.get(name), [kind]: samples(schema) });
  }
  return [...found].map(([name, { on, params = [{}], results }]) => ({
    name,
    on,
    params,
    ...(results && { results }),
  }));
}

/** Values of a schema: as many as it needs to have each alternative in one of them. */
function samples(schema: Schema, depth = 0): Json[] {
  if (depth > 60) return [];
  const inner = (one: Schema) => samples(one, depth + 1);
  if (schema.$ref) return inner($defs[schema.$ref.replace("#/$defs/", "")]!);
  if ("const" in schema) return [schema.const];
  if (schema.enum) return schema.enum;
  const type = [schema.type].flat().find((one) => one !== "null");
  const choices = ((schema.oneOf ?? schema.anyOf ?? []) as Schema[]).filter((one) => one.type !== "null");
  const own = type === "object" || schema.properties ? objects(schema, inner) : [];
  const parts = [own, ...((schema.allOf ?? []) as Schema[]).map(inner), choices.flatMap(inner)].filter(
    (some) => some.length > 0,
  );
  if (parts.length > 0) return together(parts);
  if (type === "array") return [inner(schema.items ?? {})].map((items) => items.filter((one) => one !== undefined));
  if (type === "boolean") return [true, false];
  if (type === "integer" || type === "number") return [Math.max(1, schema.minimum ?? 1)];
  if (type === "string") return [schema.format === "uri" ? "https://example.com" : "text"];
  return [{}];
}

function objects({ properties = {} }: Schema, inner: (one: Schema) => Json[]): Json[] {
  const fields = Object.entries(properties as Record<string, Schema>)
    .map(([name, one]) => [name, inner(one)] as const)
    .filter(([, values]) => values.length > 0);
  const count = Math.max(1, ...fields.map(([, values]) => values.length));
  return Array.from({ length: count }, (_, at) =>
    Object.fromEntries(fields.map(([name, values]) => [name, values[at % values.length]])),
  );
}

/** Values that are all of these at once: objects have the properties of each. */
function together(parts: readonly Json[][]): Json[] {
  const count = Math.max(...parts.map(({ length }) => length));
  return Array.from({ length: count }, (_, at) => {
    const values = parts.map((some) => some[at % some.length]);
    return values.every((one) => typeof one === "object" && !Array.isArray(one))
      ? Object.assign({}, ...values)
      : values[0];
  });
}
