import type { Schema, SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import { KEYWORDS } from "../keywords.js";
import type { Source } from "../source.js";

/** The context of a rewrite. */
export interface Rewriting {
  /** Whether keywords beside a `$ref` have no meaning, as before draft 2019-09. */
  readonly aloneRefs: boolean;
  /** Whether descriptions and examples are kept. */
  readonly prose: boolean;
  /** The new form of a reference at a pointer of the document: a file, or a schema without one. */
  refer(ref: string, pointer: string): string | boolean;
  /** Whether the schema at a pointer limits a property to a constant. */
  isTold(pointer: string, property: string): boolean;
  note(pointer: string, message: string): void;
}

const ones = new Set(
  "contains additionalProperties propertyNames not if then else unevaluatedProperties unevaluatedItems contentSchema".split(
    " ",
  ),
);
const lists = new Set("allOf anyOf oneOf prefixItems".split(" "));
const records = new Set("properties patternProperties dependentSchemas".split(" "));
const prose = new Set("description examples deprecated".split(" "));
/** Keywords about the document, of older drafts, and of OpenAPI, that are read elsewhere or mean nothing in a contract. */
const dropped = new Set(
  (
    "$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment $defs definitions title example nullable xml externalDocs " +
    "additionalItems dependencies readOnly writeOnly $dynamicRef $recursiveRef"
  ).split(" "),
);

/** What a reader tolerates, by the marks of schemars, in the words of `x-tolerance`. */
const tolerance: ReadonlyMap<string, string> = new Map([
  ["x-deserialize-default-on-error", "default"],
  ["x-deserialize-skip-invalid-items", "skip"],
  ["x-deserialize-default-on-null", "null"],
]);

/** A schema of any draft from 04, or of OpenAPI 3, as one of 2020-12, without what a contract does not take. */
export function upgraded(schema: unknown, pointer: string, rewriting: Rewriting): Schema {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) {
    rewriting.note(pointer, "is no schema, and is left out");
    return true;
  }
  const source = schema as Source;
  const ref = source.$ref ?? source.$dynamicRef ?? source.$recursiveRef;
  const made: Record<string, unknown> = {};
  if (typeof ref === "string") {
    const target = rewriting.refer(ref, pointer);
    if (target === false) made.not = {};
    if (typeof target === "string") made.$ref = target;
  }
  if (typeof ref !== "string" || !rewriting.aloneRefs)
    for (const [keyword, value] of Object.entries(source))
      Object.assign(made, ofKeyword(keyword, value, source, pointer, rewriting));
  else if (rewriting.prose && typeof source.description === "string") made.description = source.description;
  const tolerated = Object.keys(source).flatMap((keyword) => tolerance.get(keyword) ?? []);
  if (tolerated.length > 0) made["x-tolerance"] = tolerated;
  return simplified(source.nullable === true ? orNull(made) : made);
}

function ofKeyword(
  keyword: string,
  value: unknown,
  source: Source,
  pointer: string,
  rewriting: Rewriting,
): SchemaObject {
  const at = `${pointer}/${escapeStep(keyword)}`;
  const inner = (one: unknown, place: string) => upgraded(one, place, rewriting);
  if (keyword === "items" && Array.isArray(value)) {
    const rest = source.additionalItems;
    const tuple = { prefixItems: value.map((one, index) => inner(one, `${at}/${index}`)) };
    return rest === undefined ? tuple : { ...tuple, items: inner(rest, `${pointer}/additionalItems`) };
  }
  if (keyword === "items" || ones.has(keyword)) {
    // It allows what is allowed without it.
    if (keyword === "unevaluatedProperties" && value === true) return {};
    return { [keyword]: inner(value, at) };
  }
  if (lists.has(keyword) && Array.isArray(value))
    return {
      [isAmbiguous(keyword, value, source, at, rewriting) ? "anyOf" : keyword]: value.map((one, index) =>
        inner(one, `${at}/${index}`),
      ),
    };
  if (records.has(keyword) && isObject(value)) {
    const entries = Object.entries(value).filter(([name]) => name !== "__proto__");
    return {
      [keyword]: Object.fromEntries(
        entries.map(([name, one]) => [name, withDefault(inner(one, `${at}/${escapeStep(name)}`), source, name)]),
      ),
    };
  }
  if (keyword === "dependencies" && isObject(value)) return dependencies(value as Source, at, inner);
  if (keyword === "exclusiveMinimum" || keyword === "exclusiveMaximum") {
    const bound = source[keyword.replace("exclusiveM", "m")];
    if (value === true && bound !== undefined) return { [keyword]: bound };
    return typeof value === "number" ? { [keyword]: value } : {};
  }
  if (keyword === "minimum" || keyword === "maximum")
    return source[keyword.replace("m", "exclusiveM")] === true ? {} : { [keyword]: value };
  if (keyword === "format" && !/^[a-z][a-z0-9-]*$/.test(String(value))) {
    rewriting.note(at, `names the format ${value}, and is left out: a format's name is in lower case with hyphens`);
    return {};
  }
  if (keyword === "enum" && Array.isArray(value)) return listed(value, source);
  if (keyword === "required") return required(value, source);
  if (keyword === "discriminator" && isObject(value))
    return typeof value.propertyName === "string" ? { discriminator: { propertyName: value.propertyName } } : {};
  if (keyword === "$ref" || dropped.has(keyword) || value === undefined) return {};
  if (keyword === "x-secret" || keyword === "x-tolerance") return { [keyword]: value };
  if (keyword.startsWith("x-") || (prose.has(keyword) && !rewriting.prose)) return {};
  if (Object.hasOwn(KEYWORDS, keyword)) return { [keyword]: value };
  rewriting.note(at, `"${keyword}" is not a keyword of JSON Schema 2020-12, and is left out`);
  return {};
}

/** Whether only a `discriminator` tells alternatives apart: others may fit a value as well, so that `oneOf` would refuse it. */
function isAmbiguous(keyword: string, list: readonly unknown[], source: Source, at: string, { isTold }: Rewriting) {
  const { propertyName } = (isObject(source.discriminator) ? source.discriminator : {}) as Source;
  if (keyword !== "oneOf" || typeof propertyName !== "string" || "anyOf" in source) return false;
  return !list.every((_, index) => isTold(`${at}/${index}`, propertyName));
}

/** A required list is read as empty where it is tolerated, which such a schema does not say. */
function withDefault(schema: Schema, { required }: Source, name: string): Schema {
  if (typeof schema === "boolean" || !("x-tolerance" in schema) || schema.type !== "array" || "default" in schema)
    return schema;
  return Array.isArray(required) && required.includes(name) ? { ...schema, default: [] } : schema;
}

function listed(values: readonly unknown[], source: Source): SchemaObject {
  if (values.length === 0) return { not: {} };
  const all = source.nullable === true && !values.includes(null) ? [...values, null] : values;
  const distinct = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
  return distinct.length === 1 ? { const: distinct[0] } : { enum: distinct };
}

/** Names that are required are properties: lint takes any other for a misspelt one. */
function required(value: unknown, source: Source): SchemaObject {
  const names = Array.isArray(value) ? [...new Set(value.filter((one) => typeof one === "string"))] : [];
  return names.length === 0 ? {} : { required: names, ...(isObject(source.properties) && { [MISSING]: names }) };
}

/** Marks the required names for `simplified`, which sees all properties. */
const MISSING = "\0missing";

function dependencies(value: Source, at: string, inner: (one: unknown, place: string) => Schema): SchemaObject {
  const [names, schemas] = [{} as Record<string, unknown>, {} as Record<string, Schema>];
  for (const [name, one] of Object.entries(value)) {
    if (Array.isArray(one)) names[name] = one;
    else schemas[name] = inner(one, `${at}/${escapeStep(name)}`);
  }
  return {
    ...(Object.keys(names).length > 0 && { dependentRequired: names }),
    ...(Object.keys(schemas).length > 0 && { dependentSchemas: schemas }),
  };
}

/** `nullable` of OpenAPI 3.0. */
function orNull(schema: SchemaObject): SchemaObject {
  if ("enum" in schema || "const" in schema) {
    const { type, ...rest } = schema;
    return rest;
  }
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
}

/** A reference alone in `allOf`, and a part alone without a keyword beside it, are put in place of the list. */
function simplified(schema: SchemaObject): SchemaObject {
  const { [MISSING]: needed, ...rest } = schema as Source;
  const made: Record<string, unknown> = rest;
  if (needed !== undefined && !("allOf" in rest) && !("$ref" in rest)) {
    const added = (needed as string[]).filter((name) => !Object.hasOwn(rest.properties, name));
    if (added.length > 0)
      made.properties = { ...rest.properties, ...Object.fromEntries(added.map((name) => [name, true])) };
  }
  const { allOf, ...others } = made;
  const [only, ...more] = (allOf as Schema[] | undefined) ?? [];
  if (only === undefined || more.length > 0 || typeof only !== "object") return made;
  const isReference = Object.keys(only).join() === "$ref" && !("$ref" in others);
  return isReference || Object.keys(others).length === 0 ? { ...others, ...only } : made;
}
