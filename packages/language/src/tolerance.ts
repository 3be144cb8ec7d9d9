import type { Check, Checks, Schema, SchemaObject } from "@parlance/wire";
import { isObject } from "@parlance/wire/json";
import { locate } from "./schema.js";
import { subschemas } from "./walk.js";

/** The keyword of a property or a list for the errors that its reader tolerates. Writers do not. */
export const TOLERANCE = "x-tolerance";
/** Its values: any error is read as the default, invalid items are skipped, null is absent. */
export const WAYS: readonly string[] = ["default", "skip", "null"];

export const waysOf = (schema: Schema): readonly string[] =>
  typeof schema === "object" && Array.isArray(schema[TOLERANCE]) ? (schema[TOLERANCE] as string[]) : [];

type Schemas = Readonly<Record<string, SchemaObject>>;
/** A schema, and the id that its references are relative to. */
export type Place = readonly [schema: Schema, base: string];

/** Returns a test for whether a schema, or one that it refers to, has the keyword. */
export function tolerance(schemas: Schemas): (place: Place) => boolean {
  const isUsed = Object.values(schemas).some((root) => subschemas(root).some(({ schema }) => TOLERANCE in schema));
  const reaches = ([schema, base]: Place, seen: Set<Schema>): boolean => {
    if (seen.has(schema)) return false;
    seen.add(schema);
    return subschemas(schema).some(({ schema: one }) => {
      const target = targetOf(schemas, [one, base]);
      return TOLERANCE in one || (target !== undefined && reaches(target, seen));
    });
  };
  return (place) => isUsed && reaches(place, new Set());
}

function targetOf(schemas: Schemas, [schema, base]: Place): Place | undefined {
  if (typeof schema !== "object" || typeof schema.$ref !== "string") return undefined;
  const found = locate({ schemas }, base, schema.$ref);
  return found && [found.schema, String(schemas[found.title]!.$id)];
}

/**
 * The checks by which these schemas are read, interpreted step by step: for tools that load a contract at run time. Generated code has
 * `generate/tolerating.ts`, and a test compares the two.
 */
export function tolerantly(schemas: readonly SchemaObject[], all: Schemas, fits: (place: Place) => Check): Checks {
  const known = { ...all, ...Object.fromEntries(schemas.map((one) => [one.title!, one])) };
  const reader = new Reader(known, fits);
  const isTolerant = tolerance(known);
  const entries = schemas
    .filter((schema) => isTolerant([schema, String(schema.$id)]))
    .map((schema) => {
      const place: Place = [schema, String(schema.$id)];
      const check: Check = (value) => {
        const strict = fits(place);
        if (strict(value)) return true;
        const read = reader.read(place, value);
        const isTolerated = strict(read);
        if (isTolerated) become(value as object, read as object);
        check.errors = strict.errors ?? null;
        return isTolerated;
      };
      return [schema.title!, check] as const;
    });
  return Object.fromEntries(entries);
}

/** Gives an object or a list the content of another. */
function become(value: object, other: object): void {
  if (Array.isArray(value)) value.length = 0;
  for (const key of Object.keys(value)) delete value[key as never];
  Object.assign(value, other);
}

class Reader {
  readonly #schemas: Schemas;
  readonly #fits: (place: Place) => Check;
  /** Each union as a schema of its own, which is compiled once. */
  readonly #unions = new Map<Schema[], SchemaObject>();

  constructor(schemas: Schemas, fits: (place: Place) => Check) {
    this.#schemas = schemas;
    this.#fits = fits;
  }

  /** The value as the schema tolerates it: a copy where anything changes. */
  read([schema, base]: Place, value: unknown): unknown {
    if (typeof schema === "boolean") return value;
    let read = value;
    const target = targetOf(this.#schemas, [schema, base]);
    if (target) read = this.read(target, read);
    for (const one of (schema.allOf as Schema[] | undefined) ?? []) read = this.read([one, base], read);
    for (const keyword of ["anyOf", "oneOf"]) read = this.#readUnion(schema, keyword, base, read);
    if (Array.isArray(read) && schema.items !== undefined) {
      const item: Place = [schema.items as Schema, base];
      const items = read.map((one) => this.read(item, one));
      read = waysOf(schema).includes("skip") ? items.filter(this.#fits(item)) : items;
    }
    return isObject(read) && schema.type === "object" ? this.#readProperties(schema, base, read) : read;
  }

  #readUnion(schema: SchemaObject, keyword: string, base: string, value: unknown): unknown {
    const branches = schema[keyword] as Schema[] | undefined;
    if (!branches) return value;
    const union = this.#unions.get(branches) ?? { [keyword]: branches };
    this.#unions.set(branches, union);
    if (this.#fits([union, base])(value)) return value;
    for (const branch of branches) {
      if (this.#fits([branch, base])(value)) continue;
      const read = this.read([branch, base], value);
      if (this.#fits([branch, base])(read)) return read;
    }
    return value;
  }

  #readProperties(schema: SchemaObject, base: string, value: object): object {
    const read: Record<string, unknown> = { ...value };
    const { properties = {}, additionalProperties } = schema as { properties?: Record<string, Schema> } & SchemaObject;
    for (const key of Object.keys(read)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : (additionalProperties as Schema | undefined);
      if (typeof property !== "object") continue;
      const ways = Object.hasOwn(properties, key) ? waysOf(property) : [];
      const inner = this.read([property, base], read[key]);
      read[key] = inner;
      if (!ways.includes("default") && !(inner === null && ways.includes("null"))) continue;
      const isFixed = !("default" in property) && (schema.required as string[] | undefined)?.includes(key);
      if (isFixed || this.#fits([property, base])(inner)) continue;
      if ("default" in property) read[key] = structuredClone(property.default);
      else delete read[key];
    }
    return read;
  }
}
