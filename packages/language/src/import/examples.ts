import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { accepts } from "../compat/accepts.js";
import { type Space, spaceOf } from "../compat/space.js";
import { assemble, type ContractFolder } from "../folder.js";

/** Strings by format; a text for any other. */
const TEXTS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  time: "10:20:30Z",
  "date-time": "2026-01-31T10:20:30Z",
  duration: "P1D",
  email: "ann@example.com",
  hostname: "example.com",
  ipv4: "127.0.0.1",
  ipv6: "::1",
  uri: "https://example.com",
  "uri-reference": "/a",
  iri: "https://example.com",
  uuid: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
  "json-pointer": "/a",
};
const MAX_NESTED = 16;

/** Gives each schema without an example one that it accepts: a small one where that is simple, else one that a search finds. */
export function addExamples(folder: ContractFolder, schemas: Record<string, SchemaObject>): void {
  const missing = Object.entries(schemas).filter(([, { examples }]) => !examples?.length);
  if (missing.length === 0) return;
  let document: ReturnType<typeof assemble>;
  try {
    document = assemble(folder);
  } catch {
    // Lint says why.
    return;
  }
  const space = spaceOf({ old: document, now: document });
  for (const [file, schema] of missing) {
    const own = document.schemas[schema.title!];
    if (own === undefined) continue;
    const found = exampleOf(space, space.read("now", own));
    if (found !== undefined) schemas[file] = { ...schema, examples: [found] };
  }
}

/** The choices for a sample: the alternative of a union, and the depth of optional properties. */
interface Way {
  readonly branch: number;
  readonly optional: number;
}

const ways: readonly Way[] = [0, 3].flatMap((optional) => [0, 1].map((branch) => ({ branch, optional })));

function exampleOf(space: Space, schema: SchemaObject): Json | undefined {
  try {
    for (const way of ways) {
      const value = sample(space, schema, way, 0);
      if (value !== undefined && space.valid(schema, value)) return value;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
  const verdict = accepts(space, false, schema);
  return verdict.is === "no" ? verdict.example : undefined;
}

/** A value of the required properties, constants, and the first or second of alternatives; undefined where a schema allows none. */
function sample(space: Space, schema: Schema, way: Way, depth: number): Json | undefined {
  if (typeof schema === "boolean") return schema ? {} : undefined;
  if (depth > MAX_NESTED) return undefined;
  const inner = (one: Schema) => sample(space, one, way, depth + 1);
  if ("const" in schema) return schema.const as Json;
  if (Array.isArray(schema.enum)) return schema.enum[0] as Json;
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  const chosen = choices?.[way.branch] ?? choices?.[0];
  const parts = [
    ...(typeof schema.$ref === "string" ? [space.resolve(schema.$ref) ?? true] : []),
    ...((schema.allOf as Schema[] | undefined) ?? []),
    ...(chosen === undefined ? [] : [chosen]),
  ].map(inner);
  if (parts.includes(undefined)) return undefined;
  const own = ofType(schema, inner, depth < way.optional);
  const values = (own === undefined ? parts : [...parts, own]) as Json[];
  if (values.length === 0) return {};
  const isObjects = values.every((one) => typeof one === "object" && one !== null && !Array.isArray(one));
  return isObjects ? Object.assign({}, ...(values as object[])) : (values.find((one) => !isEmpty(one)) ?? values[0]!);
}

const isEmpty = (value: Json) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

function ofType(schema: SchemaObject, inner: (schema: Schema) => Json | undefined, isFull: boolean): Json | undefined {
  const types = [schema.type].flat() as string[];
  const type = types.find((one) => one !== "null") ?? types[0];
  if (type === "object" || "properties" in schema) {
    const properties = (schema.properties ?? {}) as Record<string, Schema>;
    const names = isFull ? Object.keys(properties) : ((schema.required ?? []) as string[]);
    const entries = names.map((name) => [name, inner(properties[name] ?? true) ?? {}]);
    return Object.fromEntries(entries);
  }
  if (type === "array")
    return Array.from({ length: Number(schema.minItems ?? 0) }, (_, at) => itemAt(schema, at, inner) ?? {});
  if (type === "string") return (TEXTS[String(schema.format)] ?? "text").padEnd(Number(schema.minLength ?? 0), "t");
  if (type === "integer" || type === "number")
    return Number(schema.minimum ?? (schema.exclusiveMinimum === undefined ? 1 : Number(schema.exclusiveMinimum) + 1));
  return type === "boolean" ? true : type === "null" ? null : undefined;
}

function itemAt(schema: SchemaObject, at: number, inner: (schema: Schema) => Json | undefined): Json | undefined {
  const tuple = (schema.prefixItems ?? []) as Schema[];
  return inner(tuple[at] ?? (schema.items as Schema | undefined) ?? true);
}
