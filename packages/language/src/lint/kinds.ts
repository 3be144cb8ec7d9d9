import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { isObject } from "@parlance/wire/json";
import type { Finding } from "../finding.js";
import { locate } from "../schema.js";
import { idOf, type Subject } from "./subject.js";

const ALL = ["object", "array", "string", "number", "boolean", "null"] as const;
type Kind = (typeof ALL)[number];

const kindOf = (value: Json): Kind =>
  value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as Exclude<Kind, "array" | "null">);

/** The kinds of values that a file's schema names by types and constants, through references; every kind where it names none. */
export function kindsOf({ schemas, identified }: Subject, file: string): ReadonlySet<Kind> {
  const seen = new Set<Schema>();
  const of = (schema: Schema, base: string): ReadonlySet<Kind> => {
    if (!isObject(schema) || seen.has(schema)) return new Set(schema === false ? [] : ALL);
    seen.add(schema);
    const sets = [...named(schema as SchemaObject)];
    const found = typeof schema.$ref === "string" ? locate(identified, base, schema.$ref) : undefined;
    if (found) sets.push(of(found.schema, idOf(found.title)));
    const parts = (keyword: string) => ((schema[keyword] ?? []) as Schema[]).map((one) => of(one, base));
    sets.push(...parts("allOf"));
    for (const keyword of ["anyOf", "oneOf"])
      if (schema[keyword]) sets.push(new Set(parts(keyword).flatMap((kinds) => [...kinds])));
    seen.delete(schema);
    return new Set(ALL.filter((kind) => sets.every((set) => set.has(kind))));
  };
  return of(schemas[file]!, idOf(file));
}

function* named(schema: SchemaObject): Generator<ReadonlySet<Kind>> {
  if (schema.type !== undefined)
    yield new Set(([schema.type].flat() as (Kind | "integer")[]).map((type) => (type === "integer" ? "number" : type)));
  if ("const" in schema) yield new Set([kindOf(schema.const as Json)]);
  if (Array.isArray(schema.enum)) yield new Set((schema.enum as Json[]).map(kindOf));
}

/** The kinds other than objects that a file's schema allows, as words; undefined for one of objects, and for one that names no kind. */
export function otherKinds(subject: Subject, file: string): string | undefined {
  if (subject.broken.has(file) || !subject.schemas[file]) return undefined;
  const kinds = [...kindsOf(subject, file)];
  if (kinds.length === ALL.length) return undefined;
  const others = kinds.filter((kind) => kind !== "object");
  if (kinds.length === 0) return "no value";
  return others.length === 0 ? undefined : others.join(" or ");
}

/** Whether the schema of a file allows objects only. */
export const namesObject = (subject: Subject, file: string): boolean => {
  const kinds = kindsOf(subject, file);
  return kinds.size === 1 && kinds.has("object");
};

/** A message and the body of a refusal are objects: `type` is among their properties in memory. */
export function* kinds(subject: Subject): Generator<Finding> {
  const { contract } = subject;
  const files = new Set([...Object.values(contract.messages).map(({ schema }) => schema), contract.fault.schema]);
  for (const file of files) {
    const others = otherKinds(subject, file);
    if (others === undefined) continue;
    const message = `describes ${others}, and a message is an object; put the value into a property`;
    yield { rule: "kind", file, pointer: "type" in subject.schemas[file]! ? "/type" : "", message };
  }
}
