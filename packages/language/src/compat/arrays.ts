import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { has, type Literal, lacks } from "./literal.js";
import { type Accept, firstOf, type Outcome, type Search } from "./search.js";

/** No longer array is built. */
const MAX_BUILT = 2000;

interface Form {
  readonly low: number;
  readonly high: number;
  readonly unique: boolean;
  /** The schemas of items by position; the last one is also for all later items. */
  readonly items: readonly Literal[];
  /** The schema that some items must match, and how many. */
  readonly some: readonly { readonly literal: Literal; readonly count: number }[];
  /** Statements that must not hold; each is a choice of positions. */
  readonly broken: readonly Literal[];
  /** The number of positions that can differ: all later items have one schema. */
  readonly places: number;
}

/** An array that fits keywords about arrays. */
export function arrayOf(search: Search, atoms: readonly Literal[], accept: Accept): Outcome {
  const form = formOf(atoms);
  if (form.low > form.high) return "none";
  return choose(search, form, form.broken, new Map(), accept);
}

function formOf(atoms: readonly Literal[]): Form {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let unique = false;
  const items: Literal[] = [];
  const some: { literal: Literal; count: number }[] = [];
  const broken: Literal[] = [];
  const least = (count: number) => (low = Math.max(low, count));
  const most = (count: number) => (high = Math.min(high, count));
  for (const atom of atoms) {
    const { schema, positive } = atom as { schema: SchemaObject; positive: boolean };
    const part = schema as { minItems?: number; maxItems?: number; minContains?: number; maxContains?: number };
    if (part.minItems !== undefined) positive ? least(part.minItems) : most(part.minItems - 1);
    if (part.maxItems !== undefined) positive ? most(part.maxItems) : least(part.maxItems + 1);
    if (schema.uniqueItems === true && positive) unique = true;
    else if (schema.uniqueItems === true) broken.push(atom);
    if (schema.uniqueItems === false && !positive) most(-1);
    if ("items" in schema || "prefixItems" in schema) (positive ? items : broken).push(atom);
    if ("contains" in schema) {
      const { minContains: count = 1, maxContains } = part;
      const inside = { ...atom, schema: schema.contains as Schema };
      if (positive && count > 0) {
        some.push({ literal: inside, count });
        least(count);
      }
      if (!positive && count === 1) items.push(has({ items: { not: schema.contains } }));
      if (!positive && maxContains !== undefined) {
        some.push({ literal: { ...inside, positive: true }, count: maxContains + 1 });
        least(maxContains + 1);
      }
    }
  }
  const prefixes = [...items, ...broken].map(({ schema }) => prefixOf(schema).length);
  return { low, high, unique, items, some, broken, places: Math.max(0, ...prefixes) };
}

const prefixOf = (schema: Schema) => ((schema as SchemaObject).prefixItems as Schema[] | undefined) ?? [];

function itemAt({ schema }: Literal, index: number): Schema {
  const prefix = prefixOf(schema);
  return (index < prefix.length ? prefix[index]! : ((schema as SchemaObject).items ?? true)) as Schema;
}

const at = ({ items }: Form, index: number): Literal[] =>
  items.map((literal) => ({ ...literal, schema: itemAt(literal, index) }));

type Wanted = ReadonlyMap<number, readonly Literal[]>;

/** Chooses a place at which each statement is broken, then builds the array. */
function choose(search: Search, form: Form, broken: readonly Literal[], wanted: Wanted, accept: Accept): Outcome {
  const [first, ...rest] = broken;
  if (!first) return carry(search, form, form.some, wanted, accept);
  const fits = (index: number, literals: readonly Literal[]) =>
    search.find([...at(form, index), ...(wanted.get(index) ?? []), ...literals]);
  const places = Math.min(form.places + form.broken.length + 1, form.high);
  if ((first.schema as SchemaObject).uniqueItems) {
    if (form.unique) return "none";
    const pairs = Array.from({ length: places }, (_, i) => i).flatMap((j) =>
      Array.from({ length: j }, (_, i) => [i, j] as const),
    );
    return firstOf(form.high < 2 ? [] : [...pairs, [form.places, form.places + 1] as const], ([i, j]) => {
      const value = fits(i, [...at(form, j), ...(wanted.get(j) ?? [])]);
      if (typeof value !== "object") return value;
      const equal = [has({ const: value.value })];
      return choose(search, form, rest, more(more(wanted, i, equal), j, equal), accept);
    });
  }
  return firstOf(
    Array.from({ length: places }, (_, i) => i),
    (index) => {
      const literals = [{ ...first, schema: itemAt(first, index) }];
      const value = fits(index, literals);
      return value === "none" ? "none" : choose(search, form, rest, more(wanted, index, literals), accept);
    },
  );
}

/** Chooses the items that `contains` asks for. */
function carry(search: Search, form: Form, some: Form["some"], wanted: Wanted, accept: Accept): Outcome {
  const [first, ...rest] = some;
  if (!first) return build(search, form, wanted, accept);
  const places = Math.min(form.places + form.broken.length + form.some.length + first.count, form.high);
  return firstOf(
    Array.from({ length: places }, (_, i) => i),
    (index) => {
      const value = search.find([...at(form, index), ...(wanted.get(index) ?? []), first.literal]);
      if (value === "none") return "none";
      let with_ = wanted;
      for (let copy = 0; copy < first.count; copy++) with_ = more(with_, index + copy, [first.literal]);
      const outcome = carry(search, form, rest, with_, accept);
      // Several items may have to be in other places than side by side.
      return outcome === "none" && first.count > 1 ? "unclear" : outcome;
    },
  );
}

function more(wanted: Wanted, index: number, literals: readonly Literal[]): Wanted {
  return new Map(wanted).set(index, [...(wanted.get(index) ?? []), ...literals]);
}

function build(search: Search, form: Form, wanted: Wanted, accept: Accept): Outcome {
  const length = Math.max(form.low, ...[...wanted.keys()].map((index) => index + 1));
  if (length > form.high) return "none";
  const value: Json[] = [];
  for (let index = 0; index < Math.min(length, MAX_BUILT); index++) {
    const literals = [...at(form, index), ...(wanted.get(index) ?? [])];
    const found = search.find(literals);
    if (typeof found !== "object") return found;
    let one: Outcome = found;
    if (form.unique && value.length > 0) {
      one = search.find([...literals, ...value.map((earlier) => lacks({ const: earlier }))]);
      // Other items before this one may leave it a value.
      if (typeof one !== "object") return "unclear";
    }
    value.push((one as { value: Json }).value);
  }
  return length <= MAX_BUILT && accept(value) ? { value } : "unclear";
}
