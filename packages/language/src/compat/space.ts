import type { ContractDocument, Json, Schema, SchemaObject } from "@parlance/wire";
import { parseFragment, valueAt } from "@parlance/wire/internal/pointer";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { FORMATS } from "../formats.js";
import { KEYWORDS } from "../keywords.js";
import { declaredFormats } from "../source.js";
import { mapSchema } from "../walk.js";

export type Age = "old" | "now";

/** The schemas of two versions of a contract, in one space: every reference in them begins with its version's age. */
export interface Space {
  /** A version's schema without its prose. Its `$id` is the base of its references. */
  read(age: Age, schema: SchemaObject): SchemaObject;
  /** The target of a reference; undefined if it does not exist. */
  resolve(ref: string): Schema | undefined;
  /** Whether ajv accepts a value. @throws `RangeError` for a schema that consists of itself, or refers to nothing */
  valid(schema: Schema, value: Json): boolean;
  /** The expression that a format is checked by, if it is one. */
  expression(format: string): RegExp | undefined;
}

const formatsOf = (ajv: Ajv2020) => {
  for (const [name, format] of FORMATS) ajv.addFormat(name, format);
  return ajv;
};
/** The formats that every contract may use. */
const known = formatsOf(new Ajv2020()).formats;

/** Puts two versions into one space, so that their schemas can be compared. */
export function spaceOf(documents: Readonly<Record<Age, ContractDocument>>): Space {
  const own = { old: declaredFormats(documents.old.source), now: declaredFormats(documents.now.source) };
  // Where no schema has changed, one version's are both versions'.
  const isShared = equal(documents.old.schemas, documents.now.schemas) && String([...own.old]) === String([...own.now]);
  const roots = new Map<string, SchemaObject>();
  const targets = new Map<string, Schema | undefined>();
  for (const age of isShared ? (["old"] as const) : (["old", "now"] as const))
    for (const schema of Object.values(documents[age].schemas))
      roots.set(`${age}:${schema.$id}`, plain(age, own[age], schema));

  return {
    read: (age, schema) => plain(isShared ? "old" : age, own[age], schema),
    resolve(ref) {
      const shared = isShared ? ref.replace(/^now:/, "old:") : ref;
      if (!targets.has(shared)) {
        const [id, fragment = ""] = shared.split("#") as [string, string?];
        const found = valueAt(roots.get(id), parseFragment(fragment));
        targets.set(shared, typeof found === "object" || typeof found === "boolean" ? (found as Schema) : undefined);
      }
      return targets.get(shared);
    },
    valid: judge(roots),
    expression: (format) => (known[format] instanceof RegExp ? known[format] : undefined),
  };
}

/** Compiles schemas by ajv, those that are asked for. */
function judge(roots: ReadonlyMap<string, SchemaObject>): Space["valid"] {
  const checks = new WeakMap<SchemaObject, ValidateFunction>();
  let ajv: Ajv2020 | undefined;
  const compiler = () => {
    const options = { validateSchema: false, messages: false, inlineRefs: false, ownProperties: true } as const;
    const made = formatsOf(new Ajv2020({ ...options, strict: false, logger: false }));
    for (const [id, schema] of roots) made.addSchema(schema, id);
    return made;
  };
  return (schema, value) => {
    if (typeof schema === "boolean") return schema;
    try {
      ajv ??= compiler();
      if (!checks.has(schema)) checks.set(schema, ajv.compile(schema));
      return checks.get(schema)!(value) as boolean;
    } catch (cause) {
      throw new RangeError("ajv cannot judge a schema that lint refuses", { cause });
    }
  };
}

/** A schema without prose, with absolute references, and with patterns instead of the contract's own formats. */
function plain(age: Age, own: ReadonlyMap<string, RegExp | true>, { $id, ...schema }: SchemaObject): SchemaObject {
  return mapSchema(schema, (one) => {
    const kept: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(one)) {
      const row = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword]! : undefined;
      if (row && (row.checked || row.compat !== "prose")) kept[keyword] = value;
    }
    if (typeof kept.$ref === "string") kept.$ref = absolute(age, String($id), kept.$ref);
    if (typeof kept.format !== "string") return kept;
    const declared = own.get(kept.format);
    const format = declared ?? known[kept.format] ?? true;
    if (format !== true && declared === undefined) return kept;
    const { format: _, ...rest } = kept;
    if (format === true) return rest;
    const pattern = (format as RegExp).source;
    return "pattern" in rest ? { ...rest, allOf: [...((rest.allOf as []) ?? []), { pattern }] } : { ...rest, pattern };
  }) as SchemaObject;
}

const absolute = (age: Age, base: string, ref: string) => {
  const { pathname, hash } = new URL(ref, `parlance:${base}`);
  return `${age}:${pathname}${hash}`;
};

/** Splits an absolute reference into its file's `$id` and the pointer in it. */
export function splitReference(ref: string): { readonly id: string; readonly pointer: string } {
  const [id, pointer = ""] = ref.slice(ref.indexOf(":") + 1).split("#") as [string, string?];
  return { id, pointer: decodeURIComponent(pointer) };
}

const equals = new WeakMap<Space, Map<string, boolean>>();

/** Whether two schemas are equal but for prose, the order of lists without one, and the places of what they refer to. */
export function sameSchema(space: Space, one: Schema, other: Schema): boolean {
  const known = equals.get(space) ?? new Map<string, boolean>();
  equals.set(space, known);
  const pair = `${identity(one)} ${identity(other)}`;
  if (!known.has(pair)) {
    const seen = new Set<string>();
    known.set(pair, same(space, one, other, seen));
    // Assumptions about inner pairs are true if the whole is.
    if (known.get(pair)) for (const inside of seen) known.set(inside, true);
  }
  return known.get(pair)!;
}

function same(space: Space, one: Schema, other: Schema, seen: Set<string>): boolean {
  const [a, b] = [target(space, one), target(space, other)];
  if (a === b) return true;
  if (typeof a === "boolean" || typeof b === "boolean") return false;
  const pair = `${identity(a)} ${identity(b)}`;
  if (seen.has(pair) || equals.get(space)!.get(pair)) return true;
  seen.add(pair);
  const keywords = (schema: SchemaObject) => Object.keys(schema).filter((key) => KEYWORDS[key]?.checked);
  const [mine, theirs] = [keywords(a), keywords(b)];
  return mine.length === theirs.length && mine.every((key) => key in b && sameValue(space, key, a[key], b[key], seen));
}

const inner = new Set(
  "items contains additionalProperties propertyNames not if then else unevaluatedProperties unevaluatedItems".split(
    " ",
  ),
);
const sets = new Set(["type", "required", "enum"]);
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const records = new Set(["properties", "patternProperties", "dependentSchemas"]);

function sameValue(space: Space, keyword: string, a: unknown, b: unknown, seen: Set<string>): boolean {
  if (inner.has(keyword)) return same(space, a as Schema, b as Schema, seen);
  // A reference beside other keywords: each version refers to its own schema.
  if (keyword === "$ref") return same(space, { $ref: a as string }, { $ref: b as string }, seen);
  if (lists.has(keyword)) {
    const [ones, others] = [a as Schema[], b as Schema[]];
    return ones.length === others.length && ones.every((one, i) => same(space, one, others[i]!, seen));
  }
  if (records.has(keyword)) {
    const [ones, others] = [a as Record<string, Schema>, b as Record<string, Schema>];
    const names = Object.keys(ones);
    return (
      names.length === Object.keys(others).length &&
      names.every((name) => Object.hasOwn(others, name) && same(space, ones[name]!, others[name]!, seen))
    );
  }
  if (!sets.has(keyword)) return equal(a, b);
  const [ones, others] = [[a].flat(), [b].flat()];
  return ones.length === others.length && ones.every((one) => others.some((another) => equal(one, another)));
}

export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key as never], b[key as never]))
  );
}

/** The schema that a schema of a reference alone means. */
function target(space: Space, schema: Schema): Schema {
  for (let hops = 0; hops < 100; hops++) {
    if (typeof schema === "boolean" || typeof schema.$ref !== "string") return schema;
    if (Object.keys(schema).some((key) => key !== "$ref" && KEYWORDS[key]?.checked)) return schema;
    schema = space.resolve(schema.$ref) ?? true;
  }
  return schema;
}

const identities = new WeakMap<object, number>();
let count = 0;

/** A number of its own for each schema object. */
export function identity(schema: Schema): number | boolean {
  if (typeof schema === "boolean") return schema;
  if (!identities.has(schema)) identities.set(schema, ++count);
  return identities.get(schema)!;
}
