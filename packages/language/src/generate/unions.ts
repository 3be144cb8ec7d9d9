import type { Schema } from "@parlance/wire";

export interface Context {
  /** The schema of an absolute or relative reference, and the file that its own references are relative to. */
  readonly resolve: (reference: string, base: string) => { readonly schema: Schema; readonly base: string };
  /** Shapes that are known, because many unions can refer to one schema. */
  readonly shapes: Map<Schema, Shape>;
}

/** The known constants of the objects that a schema allows. They may allow more than the schema does. */
interface Shape {
  readonly objects: "only" | "never" | "maybe";
  /** Values of properties that have only constants. */
  readonly tags: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
}

/** The dispatch of a union: each branch by its place in the union. */
interface Dispatch {
  readonly property: string;
  /** For each value, the branches that allow it; other tagged branches refuse such an object. */
  readonly rows: readonly { readonly values: readonly unknown[]; readonly branches: readonly number[] }[];
  /** Branches that allow an object without the property. */
  readonly absent: readonly number[];
  /** Branches that allow no objects. */
  readonly others: readonly number[];
  /** Branches without a constant of their own. */
  readonly left: readonly number[];
}

const isScalar = (value: unknown) => typeof value !== "object" || value === null;

interface Options {
  /** Whether exactly one branch may fit. */
  readonly isExclusive: boolean;
  /** Whether the union is about objects only. */
  readonly isObject: boolean;
  /** The property of `discriminator`. */
  readonly preferred: string | undefined;
  /** Whether a reader tolerates anything in a schema. */
  readonly isTolerant: (place: readonly [schema: Schema, base: string]) => boolean;
}

/** The expression of a union from those of its branches. */
export function union(
  branches: readonly Schema[],
  tests: readonly string[],
  base: string,
  context: Context,
  options: Options,
): string {
  const isTolerant = branches.some((one) => options.isTolerant([one, base]));
  const several = (places: readonly number[], more: readonly string[] = []) => {
    const all = [...more, ...places.map((at) => tests[at]!)];
    if (all.length === 1) return all[0]!;
    const kind = `checking.${options.isExclusive ? "one" : "any"}`;
    return isTolerant ? `tolerating.either(${kind}, ${all.join(", ")})` : `${kind}(${all.join(", ")})`;
  };
  const dispatch = dispatchOf(branches, base, context, options);
  if (!dispatch) return several([...tests.keys()]);
  const { property, rows, absent, others, left } = dispatch;
  const text = (value: unknown) => JSON.stringify(value);
  const listed = rows.map(({ values, branches }) => {
    const test = values.length === 1 ? withoutTag(several(branches), property, values[0]) : several(branches);
    return `[${[test, ...values.map(text)].join(", ")}]`;
  });
  const parts = [text(property), `[${listed.join(", ")}]`];
  if (absent.length > 0 || others.length > 0) parts.push(absent.length > 0 ? several(absent) : "false");
  if (others.length > 0) parts.push(several(others));
  const tagged = `checking.tagged(${parts.join(", ")})`;
  return left.length === 0 ? tagged : several(left, [tagged]);
}

/** A branch without the check of its constant, which the dispatch has made. */
function withoutTag(test: string, property: string, value: unknown): string {
  const tag = `checking.object({ ${JSON.stringify(property)}: checking.constant(${JSON.stringify(value)}) }), `;
  const begin = "checking.all(";
  return test.startsWith(begin + tag) ? begin + test.slice(begin.length + tag.length) : test;
}

/**
 * Finds the property by whose constants the branches of `anyOf` or `oneOf` are told apart; undefined where none does. `preferred` is the
 * `discriminator`. `isObject` is whether the union allows objects only. The verdict is that of the union on every value.
 */
function dispatchOf(
  branches: readonly Schema[],
  base: string,
  context: Context,
  { isExclusive, isObject, preferred }: Options,
): Dispatch | undefined {
  const shapes = branches.map((branch) => shapeOf(branch, base, context, []));
  const all = [...branches.keys()];
  const others = all.filter((at) => shapes[at]!.objects === "never");
  const objects = all.filter((at) => shapes[at]!.objects === "only" || (isObject && shapes[at]!.objects === "maybe"));
  const names = new Set([preferred, ...objects.flatMap((at) => [...shapes[at]!.tags.keys()])]);
  const plans = [...names].flatMap((property) => {
    // Such a property is not read from an object, but from its prototype.
    if (property === undefined || property in Object.prototype) return [];
    const tagged = objects.filter((at) => shapes[at]!.tags.has(property));
    const left = all.filter((at) => !tagged.includes(at) && !others.includes(at));
    const rows = rowsOf(tagged.map((at) => ({ at, values: shapes[at]!.tags.get(property)! })));
    const absent = tagged.filter((at) => !shapes[at]!.required.has(property));
    const isShared = absent.length > 1 || rows.some((row) => row.branches.length > 1);
    // Of two that fit, `oneOf` allows neither, which a third that is judged apart would not know.
    if (tagged.length < 2 || rows.length < 2 || (isExclusive && isShared && left.length > 0)) return [];
    return [{ property, rows, absent, others, left }];
  });
  const most = Math.max(...plans.map(({ rows }) => rows.length));
  return plans.find(({ property }) => property === preferred) ?? plans.find(({ rows }) => rows.length === most);
}

/** Groups values by the branches that allow them. */
function rowsOf(tagged: readonly { readonly at: number; readonly values: readonly unknown[] }[]): Dispatch["rows"] {
  const byValue = new Map<unknown, number[]>();
  for (const { at, values } of tagged)
    for (const value of new Set(values)) byValue.set(value, [...(byValue.get(value) ?? []), at]);
  const rows = new Map<string, { values: unknown[]; branches: readonly number[] }>();
  for (const [value, branches] of byValue) {
    const row = rows.get(branches.join()) ?? { values: [], branches };
    row.values.push(value);
    rows.set(branches.join(), row);
  }
  return [...rows.values()];
}

const anything: Shape = { objects: "maybe", tags: new Map(), required: new Set() };
const nothing: Shape = { ...anything, objects: "never" };

function shapeOf(schema: Schema, base: string, context: Context, trail: readonly Schema[]): Shape {
  const { resolve, shapes } = context;
  if (schema === false) return nothing;
  if (schema === true || trail.includes(schema)) return anything;
  const known = shapes.get(schema);
  if (known) return known;
  const inner = (one: Schema, at = base) => shapeOf(one, at, context, [...trail, schema]);
  const parts: Shape[] = [own(schema, (one) => valuesOf(one, base, context, []))];
  if (typeof schema.$ref === "string") {
    const target = resolve(schema.$ref, base);
    parts.push(inner(target.schema, target.base));
  }
  parts.push(...((schema.allOf as Schema[] | undefined) ?? []).map((one) => inner(one)));
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = schema[keyword] as Schema[] | undefined;
    if (branches?.length) parts.push(any(branches.map((one) => inner(one))));
  }
  const shape = parts.reduce(both);
  shapes.set(schema, shape);
  return shape;
}

function own(schema: Exclude<Schema, boolean>, values: (schema: Schema) => readonly unknown[] | undefined): Shape {
  const required = new Set(schema.required as string[] | undefined);
  const tags = Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}).flatMap(
    ([name, one]) => {
      const known = values(one);
      return known ? [[name, known] as const] : [];
    },
  );
  return { objects: objectsOf(schema), tags: new Map(tags), required };
}

function objectsOf({ type, const: constant, enum: listed }: Exclude<Schema, boolean>): Shape["objects"] {
  if (type === "object") return "only";
  if (type !== undefined && ![type].flat().includes("object")) return "never";
  const values = listed === undefined ? [constant] : (listed as unknown[]);
  return values.every((value) => value !== undefined && isScalar(value)) ? "never" : "maybe";
}

/** The values that a property can have, where it has only constants. */
function valuesOf(
  schema: Schema,
  base: string,
  context: Context,
  trail: readonly Schema[],
): readonly unknown[] | undefined {
  if (typeof schema === "boolean" || trail.includes(schema)) return undefined;
  if ("const" in schema) return isScalar(schema.const) ? [schema.const] : undefined;
  const listed = schema.enum as unknown[] | undefined;
  if (listed) return listed.every(isScalar) ? listed : undefined;
  const on = [...trail, schema];
  const parts = ((schema.allOf as Schema[] | undefined) ?? []).map((one) => valuesOf(one, base, context, on));
  if (typeof schema.$ref === "string") {
    const target = context.resolve(schema.$ref, base);
    parts.push(valuesOf(target.schema, target.base, context, on));
  }
  return parts.find((values) => values !== undefined);
}

/** The constants that both allow. */
function both(one: Shape, other: Shape): Shape {
  const objects = [one.objects, other.objects];
  return {
    objects: objects.find((word) => word === "never") ?? objects.find((word) => word === "only") ?? "maybe",
    tags: new Map([...other.tags, ...one.tags]),
    required: new Set([...one.required, ...other.required]),
  };
}

/** The constants that either allows. */
function any(shapes: readonly Shape[]): Shape {
  const able = shapes.filter(({ objects }) => objects !== "never");
  const [first] = able;
  if (!first) return nothing;
  const common = [...first.tags.keys()].filter((name) => able.every(({ tags }) => tags.has(name)));
  const tags = common.map((name) => [name, [...new Set(able.flatMap((shape) => shape.tags.get(name)!))]] as const);
  return {
    objects: shapes.every(({ objects }) => objects === "only") ? "only" : "maybe",
    tags: new Map(tags),
    required: new Set([...first.required].filter((name) => able.every(({ required }) => required.has(name)))),
  };
}
