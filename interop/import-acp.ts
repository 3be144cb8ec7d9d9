import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Node = { [key: string]: Json };

/** What ACP's schema keeps for its own tools, and what would name types twice. Its prose is its authors'. */
const DROPPED = new Set(["description", "title", "discriminator", "x-docs-ignore", "x-side", "x-method"]);

/** What a reader tolerates: the schema's marks, and their words in `x-tolerance`. */
const TOLERANCE: Readonly<Record<string, string>> = {
  "x-deserialize-default-on-error": "default",
  "x-deserialize-skip-invalid-items": "skip",
  "x-deserialize-default-on-null": "null",
};

/** The schema of ACP v1 in the installed official SDK. */
export function officialSchema(): { readonly $defs: Record<string, Node> } {
  const entry = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk");
  const root = entry.slice(0, entry.lastIndexOf("/sdk/") + "/sdk".length);
  return JSON.parse(readFileSync(join(root || dirname(entry), "schema/v1/schema.json"), "utf8"));
}

/** `SessionUpdate` → `messages/session-update.json`. */
export const fileOf = (definition: string): string =>
  `messages/${definition.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase()}.json`;

/** A method as the schema has it: its definitions, by what they are of it. */
export interface Official {
  by?: string;
  params?: string;
  result?: string;
}

/** Every method of the schema. `x-side` names the side that handles it. */
export function officialMethods({ $defs }: ReturnType<typeof officialSchema>): Record<string, Official> {
  const methods: Record<string, Official> = {};
  for (const [definition, schema] of Object.entries($defs)) {
    const name = schema["x-method"];
    if (typeof name !== "string") continue;
    methods[name] ??= {};
    const method = methods[name];
    method.by = schema["x-side"] === "agent" ? "client" : schema["x-side"] === "client" ? "server" : "both";
    if (definition.endsWith("Response")) method.result = fileOf(definition);
    else method.params = fileOf(definition);
  }
  return methods;
}

/** Converts each definition that a method needs to a file of messages/, without prose: file → schema. */
export function convert({ $defs }: ReturnType<typeof officialSchema>): Record<string, Node> {
  const needed = new Set<string>();
  const visit = (definition: string) => {
    if (needed.has(definition)) return;
    needed.add(definition);
    JSON.stringify($defs[definition], (key, value) => {
      if (key === "$ref") visit(nameOf(value));
      return value;
    });
  };
  for (const [definition, schema] of Object.entries($defs)) if ("x-method" in schema) visit(definition);
  return Object.fromEntries(
    [...needed].sort().map((definition) => [
      fileOf(definition),
      {
        title: definition,
        ...(clean($defs[definition]!) as Node),
        examples: [example($defs, { $ref: refTo(definition) })],
      },
    ]),
  );
}

const nameOf = (ref: string) => ref.replace("#/$defs/", "");
const refTo = (definition: string) => `#/$defs/${definition}`;

/** Rewrites a schema: references to files, a single `allOf` in place, and its marks of tolerance as one list. */
function clean(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(clean);
  if (typeof schema !== "object" || schema === null) return schema;
  const cleaned: Node = {};
  for (const [keyword, value] of Object.entries(schema)) {
    // True allows what is allowed without it.
    if (DROPPED.has(keyword) || (keyword === "unevaluatedProperties" && value === true)) continue;
    const only = keyword === "allOf" && Array.isArray(value) && value.length === 1 ? (value[0] as Node) : undefined;
    if (only && Object.keys(only).length === 1 && "$ref" in only) Object.assign(cleaned, clean(only) as Node);
    else if (keyword === "$ref") cleaned.$ref = fileOf(nameOf(String(value))).slice("messages/".length);
    else if (keyword in TOLERANCE)
      cleaned["x-tolerance"] = [...((cleaned["x-tolerance"] as Json[]) ?? []), TOLERANCE[keyword]!];
    else if (keyword === "properties" || keyword === "$defs")
      cleaned[keyword] = Object.fromEntries(
        Object.entries(value as Node).map(([name, one]) => [name, withDefault(clean(one), schema.required, name)]),
      );
    else cleaned[keyword] = ["const", "enum", "default", "required"].includes(keyword) ? value : clean(value);
  }
  return cleaned;
}

/** A required list is read as empty where it is tolerated, which the schema does not say. */
function withDefault(schema: Json, required: Json | undefined, name: string): Json {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const isMissing = "x-tolerance" in schema && schema.type === "array" && !("default" in schema);
  return isMissing && Array.isArray(required) && required.includes(name) ? { ...schema, default: [] } : schema;
}

/** A small example: required properties, constants and first alternatives. */
export function example($defs: Record<string, Node>, schema: Json, depth = 0): Json {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema) || depth > 16) return {};
  const inner = (one: Json) => example($defs, one, depth + 1);
  if (typeof schema.$ref === "string") return inner($defs[nameOf(schema.$ref)]!);
  if ("const" in schema) return schema.const!;
  if (Array.isArray(schema.enum)) return schema.enum[0]!;
  const choices = ((schema.oneOf ?? schema.anyOf) as Node[] | undefined)?.filter(({ type }) => type !== "null");
  const parts = [...((schema.allOf as Json[]) ?? []), ...(choices?.[0] ? [choices[0]] : [])].map(inner);
  const type = [schema.type].flat().find((one) => one !== "null");
  if (type === "object" || schema.properties) {
    const properties = (schema.properties ?? {}) as Node;
    const own = ((schema.required ?? []) as string[]).map((name) => [name, inner(properties[name] ?? {})]);
    return Object.assign({}, ...parts, Object.fromEntries(own));
  }
  if (parts.length > 0)
    return parts.every((one) => typeof one === "object" && !Array.isArray(one))
      ? Object.assign({}, ...(parts as Node[]))
      : parts[0]!;
  if (type === "string") return schema.format === "uri" ? "https://example.com" : "text";
  if (type === "integer" || type === "number") return (schema.minimum as number) ?? 1;
  if (type === "boolean") return true;
  return type === "array" ? [] : {};
}
