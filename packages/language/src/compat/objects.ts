import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { has, type Literal, lacks } from "./literal.js";
import { type Accept, firstOf, type Outcome, type Search } from "./search.js";

/** Expressions for names that are combined: each doubles the kinds of names. */
const MAX_PATTERNS = 5;
const MAX_BUILT = 1000;

interface Form {
  readonly low: number;
  readonly high: number;
  readonly required: ReadonlySet<string>;
  readonly absent: ReadonlySet<string>;
  /** The schemas of properties: `properties`, `patternProperties` and `additionalProperties`. */
  readonly shapes: readonly Literal[];
  /** The schema of names. */
  readonly names: readonly Literal[];
  /** Shapes and names that are not to hold, of which each is a choice of a property. */
  readonly broken: readonly Literal[];
  /** Every name in any of them. */
  readonly named: readonly string[];
  /**
   * The names and patterns that a writer sends; undefined where its schema allows any. Else it sends others too,
   * but none that the reader gives a meaning.
   */
  readonly written: { readonly names: ReadonlySet<string>; readonly patterns: readonly string[] } | undefined;
}

/** An object that fits keywords about objects. */
export function objectOf(search: Search, atoms: readonly Literal[], accept: Accept): Outcome {
  const form = formOf(atoms);
  if (form.low > form.high || [...form.required].some((name) => form.absent.has(name))) return "none";
  return choose(search, form, form.broken, new Map(), accept);
}

function formOf(atoms: readonly Literal[]): Form {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  const [required, absent] = [new Set<string>(), new Set<string>()];
  const lists = { shapes: [] as Literal[], names: [] as Literal[], broken: [] as Literal[] };
  const least = (count: number) => (low = Math.max(low, count));
  const most = (count: number) => (high = Math.min(high, count));
  for (const atom of atoms) {
    const { schema, positive } = atom as { schema: SchemaObject; positive: boolean };
    const { minProperties, maxProperties } = schema as { minProperties?: number; maxProperties?: number };
    if (minProperties !== undefined) positive ? least(minProperties) : most(minProperties - 1);
    if (maxProperties !== undefined) positive ? most(maxProperties) : least(maxProperties + 1);
    for (const name of (schema.required as string[]) ?? []) (positive ? required : absent).add(name);
    if (isShape(schema)) lists[positive ? "shapes" : "broken"].push(atom);
    if ("propertyNames" in schema) {
      if (positive) lists.names.push({ ...atom, schema: schema.propertyNames as Schema });
      else lists.broken.push(atom);
    }
  }
  const declared = [...lists.shapes, ...lists.broken].flatMap(({ schema }) =>
    Object.keys(record(schema, "properties")),
  );
  const named = [...new Set([...declared, ...required, ...absent])];
  return { low, high, required, absent, ...lists, named, written: writtenBy(atoms) };
}

const isShape = (schema: SchemaObject) =>
  "properties" in schema || "patternProperties" in schema || "additionalProperties" in schema;

const record = (schema: Schema, word: string) =>
  ((schema as SchemaObject)[word] ?? {}) as Readonly<Record<string, Schema>>;

function writtenBy(atoms: readonly Literal[]): Form["written"] {
  const own = atoms.filter(({ writer, positive }) => writer && positive).map(({ schema }) => schema as SchemaObject);
  const shapes = own.filter(isShape);
  if (!shapes.some((shape) => "properties" in shape)) return undefined;
  if (shapes.some((shape) => "additionalProperties" in shape)) return undefined;
  return {
    names: new Set([
      ...shapes.flatMap((shape) => Object.keys(record(shape, "properties"))),
      ...own.flatMap((schema) => (schema.required as string[]) ?? []),
    ]),
    patterns: shapes.flatMap((shape) => Object.keys(record(shape, "patternProperties"))),
  };
}

/** The schemas that a shape has for a property. */
function schemasFor({ schema }: Literal, name: string): Schema[] {
  const [properties, patterns] = [record(schema, "properties"), record(schema, "patternProperties")];
  const found = Object.keys(patterns).flatMap((pattern) =>
    new RegExp(pattern, "u").test(name) ? [patterns[pattern]!] : [],
  );
  if (Object.hasOwn(properties, name)) found.push(properties[name]!);
  const { additionalProperties = true } = schema as { additionalProperties?: Schema };
  return found.length > 0 ? found : [additionalProperties];
}

const about = ({ shapes }: Form, name: string): Literal[] =>
  shapes.flatMap((literal) => schemasFor(literal, name).map((schema) => ({ ...literal, schema })));

function isAllowed(search: Search, form: Form, name: string): boolean {
  if (form.absent.has(name)) return false;
  const { written } = form;
  const isNews = written && form.named.includes(name) && !written.names.has(name);
  if (isNews && !written.patterns.some((one) => new RegExp(one, "u").test(name))) return false;
  return form.names.every(({ schema }) => search.space.valid(schema, name));
}

type Wanted = ReadonlyMap<string, readonly Literal[]>;

/** Chooses a property by which each statement is broken, then builds the object. */
function choose(search: Search, form: Form, broken: readonly Literal[], wanted: Wanted, accept: Accept): Outcome {
  const [first, ...rest] = broken;
  if (!first) return build(search, form, wanted, accept);
  const { propertyNames } = first.schema as { propertyNames?: Schema };
  const known = [...new Set([...form.named, ...wanted.keys()])];
  const through = (name: string, literals: readonly Literal[]): Outcome => {
    if (!isAllowed(search, form, name)) return "none";
    const all = [...about(form, name), ...(wanted.get(name) ?? []), ...literals];
    if (search.find(all) === "none") return "none";
    return choose(search, form, rest, new Map(wanted).set(name, [...(wanted.get(name) ?? []), ...literals]), accept);
  };
  const wrong = (name: string) =>
    propertyNames === undefined
      ? schemasFor(first, name).map((schema) => [{ ...first, schema }])
      : search.space.valid(propertyNames, name)
        ? []
        : [[]];
  const each = firstOf(known, (name) => firstOf(wrong(name), (literals) => through(name, literals)));
  if (typeof each === "object") return each;
  const not = propertyNames === undefined ? [] : [{ ...first, schema: propertyNames }];
  const others = firstOf(kindsOf(form), (kind) => {
    const name = fresh(search, form, known, [...kind, ...not]);
    // A name that isn't found may still be there.
    return typeof name === "object"
      ? firstOf(wrong(name.value as string), (one) => through(name.value as string, one))
      : name;
  });
  return others !== "none" ? others : patternsOf(form).length > MAX_PATTERNS ? "unclear" : each;
}

const patternsOf = ({ shapes, broken }: Form): string[] => [
  ...new Set([...shapes, ...broken].flatMap(({ schema }) => Object.keys(record(schema, "patternProperties")))),
];

/** The kinds of names that the patterns distinguish. */
function kindsOf(form: Form): Literal[][] {
  const patterns = patternsOf(form).slice(0, MAX_PATTERNS);
  return patterns.reduce<Literal[][]>(
    (kinds, pattern) =>
      kinds.flatMap((kind) => [
        [...kind, lacks({ pattern })],
        [...kind, has({ pattern })],
      ]),
    [[]],
  );
}

/** A name of a kind that isn't taken. */
function fresh(search: Search, form: Form, taken: readonly string[], kind: readonly Literal[]): Outcome {
  const wanted = [has({ type: "string" }), ...kind, ...form.names];
  const plain = ["extra", "other", "x-extra", "x-other"].filter((name) => !taken.includes(name));
  const value = plain.find((name) =>
    wanted.every(({ schema, positive }) => search.space.valid(schema, name) === positive),
  );
  if (value !== undefined) return { value };
  return search.find(taken.length > 0 ? [...wanted, lacks({ enum: [...taken] })] : wanted);
}

function build(search: Search, form: Form, wanted: Wanted, accept: Accept): Outcome {
  const value: Record<string, Json> = {};
  const add = (name: string): Outcome => {
    if (!isAllowed(search, form, name)) return "none";
    const found = search.find([...about(form, name), ...(wanted.get(name) ?? [])]);
    if (typeof found === "object")
      Object.defineProperty(value, name, { value: found.value, enumerable: true, configurable: true, writable: true });
    return found;
  };
  for (const name of new Set([...form.required, ...wanted.keys()])) {
    const found = add(name);
    if (typeof found !== "object") return found;
  }
  const size = () => Object.keys(value).length;
  if (size() > form.high) return "none";
  let unclear = false;
  for (const name of form.named) {
    if (size() >= form.low) break;
    if (!Object.hasOwn(value, name)) unclear = add(name) === "unclear" || unclear;
  }
  for (const kind of kindsOf(form))
    while (size() < form.low && size() < MAX_BUILT) {
      const name = fresh(search, form, [...new Set([...form.named, ...Object.keys(value)])], kind);
      const found = typeof name === "object" ? add(name.value as string) : name;
      if (found === "unclear") unclear = true;
      if (typeof found !== "object") break;
    }
  const isSure = !unclear && form.low <= MAX_BUILT && patternsOf(form).length <= MAX_PATTERNS;
  if (size() < form.low) return isSure ? "none" : "unclear";
  return accept(value) ? { value } : "unclear";
}
