import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { KEYWORDS } from "../keywords.js";
import type { Literal } from "./literal.js";
import type { Space } from "./space.js";

/** A bit for each type that values have. */
export const bits: Readonly<Record<string, number>> = {
  null: 1,
  boolean: 2,
  integer: 4,
  fraction: 8,
  number: 12,
  string: 16,
  array: 32,
  object: 64,
};
const ANY = 127;

/** The values that a schema lists. */
export const valuesOf = (schema: SchemaObject): readonly Json[] | undefined =>
  "const" in schema ? [schema.const as Json] : (schema.enum as Json[] | undefined);

export function typeOf(value: Json): number {
  if (value === null) return bits.null!;
  if (Array.isArray(value)) return bits.array!;
  if (typeof value === "number") return Number.isInteger(value) ? bits.integer! : bits.fraction!;
  return bits[typeof value]!;
}

/** Facts about all values of a schema that are cheap to find; two schemas with different ones share no value. */
interface Traits {
  readonly types: number;
  /** Properties that must be there. */
  readonly required: ReadonlySet<string>;
  /** Properties with few values, as JSON. */
  readonly tags: ReadonlyMap<string, ReadonlySet<string>>;
}

export const anything: Traits = { types: ANY, required: new Set(), tags: new Map() };

export function both(one: Traits, other: Traits): Traits {
  const tags = new Map(one.tags);
  for (const [name, values] of other.tags)
    tags.set(name, new Set([...values].filter((value) => tags.get(name)?.has(value) ?? true)));
  return { types: one.types & other.types, required: new Set([...one.required, ...other.required]), tags };
}

export function clash(one: Traits, other: Traits): boolean {
  if ((one.types & other.types) === 0) return true;
  // Only objects have tags.
  if ((one.types & other.types) !== bits.object) return false;
  for (const [name, values] of one.tags) {
    const others = other.tags.get(name);
    if (
      others &&
      (one.required.has(name) || other.required.has(name)) &&
      ![...values].some((value) => others.has(value))
    )
      return true;
  }
  return false;
}

const found = new WeakMap<SchemaObject, Traits>();

export function traits(space: Space, schema: Schema, depth = 0): Traits {
  if (schema === true || depth > 8) return anything;
  if (schema === false) return { ...anything, types: 0 };
  const known = found.get(schema);
  if (known) return known;
  const listed = valuesOf(schema);
  let sum: Traits = {
    types:
      (listed ? listed.reduce<number>((all, value) => all | typeOf(value), 0) : ANY) &
      (schema.type === undefined
        ? ANY
        : ([schema.type].flat() as string[]).reduce((all, type) => all | bits[type]!, 0)),
    required: new Set(schema.required as string[] | undefined),
    tags: new Map(
      Object.entries((schema.properties as Record<string, Schema>) ?? {}).flatMap(([name, one]) => {
        const values = typeof one === "object" ? valuesOf(one) : undefined;
        return values ? [[name, new Set(values.map((value) => JSON.stringify(value)))] as const] : [];
      }),
    ),
  };
  if (typeof schema.$ref === "string") sum = both(sum, traits(space, space.resolve(schema.$ref) ?? true, depth + 1));
  for (const one of (schema.allOf as Schema[]) ?? []) sum = both(sum, traits(space, one, depth + 1));
  for (const word of ["anyOf", "oneOf"]) {
    const alternatives = schema[word] as Schema[] | undefined;
    const types = alternatives?.reduce((all, one) => all | traits(space, one, depth + 1).types, 0) ?? ANY;
    sum = { ...sum, types: sum.types & types };
  }
  if (depth === 0) found.set(schema, sum);
  return sum;
}

export function factsOf(space: Space, { schema, positive }: Literal): Traits {
  if (positive) return traits(space, schema);
  const part = schema as SchemaObject;
  if (part.type !== undefined) return { ...anything, types: ANY & ~traits(space, part).types };
  const about = Object.keys(part).map((key) => KEYWORDS[key]!.about)[0];
  return about === undefined ? anything : { ...anything, types: bits[about]! };
}

export const refuted = (space: Space, { schema, positive }: Literal, facts: Traits) =>
  positive && clash(traits(space, schema), facts);

export const implied = (space: Space, { schema, positive }: Literal, facts: Traits, atoms: readonly Literal[]) =>
  positive
    ? schema === true || atoms.some((atom) => atom.positive && atom.schema === schema)
    : clash(traits(space, schema), facts);
