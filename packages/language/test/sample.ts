import type { ContractDocument, Json, Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";

/**
 * Values of a schema of this document (a wire schema, or what `inputSchema` and `memorySchema` return), for property tests.
 * Every value passes ajv. Strings have line ends, U+2028, astral characters and what else breaks framings; objects have no
 * properties beyond the schema's, so that a value has one form only.
 */
export function arbitrary(document: ContractDocument, schema: SchemaObject): fc.Arbitrary<Json> {
  const base = schema.$id ?? `/${document.contract.name}/messages/`;
  const check = ajvOf(document).compile({ ...schema, $id: `${base}?sample=${samples++}` } as AnySchema);
  const byId = new Map(
    Object.values(document.schemas).map((one) => [one.$id as string, absolute(one, one.$id as string)]),
  );
  const root = absolute(schema, base as string) as SchemaObject;
  const find = (ref: string): Schema => {
    const [id, fragment = ""] = ref.split("#") as [string, string?];
    let found: unknown = id === base ? root : byId.get(id);
    for (const step of fragment.split("/").slice(1))
      found = (found as Record<string, unknown>)[step.replaceAll("~1", "/").replaceAll("~0", "~")];
    if (found === undefined) throw new Error(`${base} refers to ${ref}, which does not exist`);
    return found as Schema;
  };
  return values(root, find, 0).filter((value) => check(value) === true);
}

/** The same values for the same seed. */
export function sample(
  document: ContractDocument,
  schema: SchemaObject,
  options: { readonly seed: number; readonly count: number },
): readonly Json[] {
  return fc.sample(arbitrary(document, schema), { seed: options.seed, numRuns: options.count });
}

/** Whether ajv accepts a value as this schema of the document. It reads the document, not the code that was generated from it. */
export function isValid(document: ContractDocument, title: string, value: unknown): boolean {
  return ajvOf(document).getSchema(document.schemas[title]!.$id as string)!(value) === true;
}

let samples = 0;
const validators = new WeakMap<ContractDocument, Ajv2020>();
function ajvOf(document: ContractDocument): Ajv2020 {
  const known = validators.get(document);
  if (known) return known;
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  for (const schema of Object.values(document.schemas)) ajv.addSchema(schema as AnySchema);
  validators.set(document, ajv);
  return ajv;
}

/** A schema whose references say their file, so that it means the same in any place. */
function absolute(value: unknown, base: string): Schema {
  if (Array.isArray(value)) return value.map((item) => absolute(item, base)) as never;
  if (typeof value !== "object" || value === null) return value as never;
  const entries = Object.entries(value).map(([key, child]) => {
    if (key !== "$ref" || typeof child !== "string") return [key, absolute(child, base)];
    const { pathname, hash } = new URL(child, `parlance:${base}`);
    return [key, pathname + hash];
  });
  return Object.fromEntries(entries);
}

const awkward = [
  "",
  " ",
  "\n",
  "\r\n",
  "\r",
  "a\n\nb",
  "\u2028\u2029",
  "\ufeff",
  "\0",
  "data: x",
  ":",
  "é😀𝕏",
  '"\\',
  "__proto__",
];
const text = (options: { minLength?: number; maxLength?: number }) => {
  const some = fc.string({ unit: "binary", maxLength: 40, ...options });
  const fitting = awkward.filter(
    ({ length }) => length >= (options.minLength ?? 0) && length <= (options.maxLength ?? length),
  );
  return fitting.length === 0 ? some : fc.oneof(some, fc.constantFrom(...fitting));
};
const number = (options: { min?: number; max?: number }) =>
  fc.double({ noNaN: true, noDefaultInfinity: true, ...options }).map((value) => value || 0);
const name = fc.stringMatching(/^[a-z][a-z_]{0,7}$/);
const anything: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 2 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    text({}),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(name, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).json;

const byFormat: Record<string, fc.Arbitrary<string>> = {
  "date-time": fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map((date) => date.toISOString()),
  date: fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  uri: fc.webUrl(),
  uuid: fc.uuid(),
  email: fc.emailAddress(),
};

function values(schema: Schema, find: (ref: string) => Schema, depth: number): fc.Arbitrary<Json> {
  if (typeof schema === "boolean") return anything;
  const inner = (one: Schema) => values(one, find, depth + 1);
  const { anyOf, oneOf, ...flat } = flatten(schema, find) as Keywords;
  const branches = anyOf ?? oneOf;
  if (branches) return fc.oneof(...branches.map((branch) => values({ allOf: [flat, branch] } as Schema, find, depth)));
  if (flat.const !== undefined) return fc.constant(flat.const);
  if (flat.enum) return fc.constantFrom(...flat.enum);
  if (Array.isArray(flat.type)) return fc.oneof(...flat.type.map((type) => inner({ ...flat, type } as Schema)));
  switch (flat.type ?? (flat.properties || flat.required ? "object" : undefined)) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: flat.minimum ?? (flat.exclusiveMinimum ?? -1e9 - 1) + 1, max: flat.maximum ?? 1e9 });
    case "number":
      return number({ min: flat.minimum ?? flat.exclusiveMinimum, max: flat.maximum ?? flat.exclusiveMaximum });
    case "string":
      if (flat.pattern !== undefined) return fc.stringMatching(new RegExp(flat.pattern, "u"));
      return (
        byFormat[flat.format ?? ""] ??
        text(defined({ minLength: flat.minLength, maxLength: flat.maxLength })).filter(
          (value) => flat.not?.pattern === undefined || !new RegExp(flat.not.pattern, "u").test(value),
        )
      );
    case "array": {
      const minLength = flat.minItems ?? 0;
      const maxLength = Math.max(minLength, Math.min(flat.maxItems ?? 4, depth > 6 ? 0 : 4));
      if (flat.prefixItems) return fc.tuple(...flat.prefixItems.map(inner)) as fc.Arbitrary<Json>;
      return fc.array(inner(flat.items ?? true), { minLength, maxLength });
    }
    case "object": {
      const required = flat.required ?? [];
      const known = Object.entries(flat.properties ?? {}).filter(([key]) => depth <= 6 || required.includes(key));
      const record = fc.record(Object.fromEntries(known.map(([key, value]) => [key, inner(value)])), {
        requiredKeys: required.filter((key) => flat.properties?.[key] !== undefined),
        noNullPrototype: true,
      });
      const free = flat.additionalProperties;
      if (free === undefined || free === false || depth > 6) return record as fc.Arbitrary<Json>;
      const others = fc.dictionary(name, inner(free), { maxKeys: 3, noNullPrototype: true });
      return fc.tuple(others, record).map(([some, own]) => ({ ...some, ...own }) as Json);
    }
    default:
      return anything;
  }
}

interface Keywords {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly not?: { readonly pattern?: string };
  readonly format?: string;
}

/** One schema for what `$ref` and `allOf` add up to. */
function flatten(schema: Schema, find: (ref: string) => Schema): Keywords {
  if (typeof schema === "boolean") return {};
  const { $ref, allOf = [], $id, title, description, examples, ...own } = schema as Keywords & { allOf?: Schema[] };
  const parts = [...(typeof $ref === "string" ? [find($ref)] : []), ...allOf].map((part) => flatten(part, find));
  return parts.reduceRight<Keywords>(both, own);
}

function both(one: Keywords, other: Keywords): Keywords {
  const properties: Record<string, Schema> = { ...other.properties, ...one.properties };
  for (const key of Object.keys(other.properties ?? {})) {
    const [left, right] = [one.properties?.[key], other.properties?.[key]];
    if (left !== undefined && right !== undefined) properties[key] = { allOf: [right, left] };
  }
  const required = [...new Set([...(other.required ?? []), ...(one.required ?? [])])];
  return {
    ...other,
    ...one,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

const defined = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
