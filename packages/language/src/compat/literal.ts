import type { Schema, SchemaObject } from "@parlance/wire";
import { KEYWORDS } from "../keywords.js";
import { identity, type Space } from "./space.js";

/** A statement about one value: it has the form of a schema, or it hasn't. */
export interface Literal {
  readonly schema: Schema;
  readonly positive: boolean;
  /** Whether the schema describes what a peer writes. A writer sends no properties that its schema doesn't name, unless the schema says so. */
  readonly writer: boolean;
}

export const keyOf = ({ schema, positive, writer }: Literal) =>
  `${positive ? "+" : "-"}${writer ? "w" : "r"}${identity(schema)}`;

export const has = (schema: Schema): Literal => ({ schema: shared(schema), positive: true, writer: false });
export const lacks = (schema: Schema): Literal => ({ schema: shared(schema), positive: false, writer: false });

const made = new Map<string, Schema>();

/** One object for equal schemas that are made here, so that a search recognizes what it has seen. */
function shared(schema: Schema): Schema {
  if (typeof schema === "boolean" || made.size > 100_000) return schema;
  const text = JSON.stringify(schema);
  if (!made.has(text)) made.set(text, schema);
  return made.get(text)!;
}

/** Keywords that are judged together. */
const groups = [
  ["properties", "patternProperties", "additionalProperties"],
  ["prefixItems", "items"],
  ["contains", "minContains", "maxContains"],
  ["if", "then", "else"],
] as const;

const split = new WeakMap<SchemaObject, readonly SchemaObject[]>();

/** Enough items of a kind, and not too many. */
function counted({ contains, minContains = 1, maxContains }: SchemaObject): SchemaObject[] {
  const found: SchemaObject[] = minContains === 0 ? [] : [{ contains, minContains }];
  return maxContains === undefined ? found : [...found, { contains, minContains: 0, maxContains }];
}

/** A schema as parts that all have to hold, with one keyword or group each. */
function parts(schema: SchemaObject): readonly SchemaObject[] {
  const known = split.get(schema);
  if (known) return known;
  const found: SchemaObject[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEYWORDS[keyword]?.checked || keyword.startsWith("unevaluated")) continue;
    const group = groups.find((one) => (one as readonly string[]).includes(keyword));
    if (keyword === "required") for (const name of value as string[]) found.push({ required: [name] });
    else if (keyword === "dependentRequired" || keyword === "dependentSchemas")
      for (const [name, one] of Object.entries(value as object)) found.push({ [keyword]: { [name]: one } });
    else if (!group) found.push({ [keyword]: value });
    else if (keyword === "contains") found.push(...counted(schema));
    else if (keyword === group.find((one) => one in schema) && group[0] !== "contains")
      found.push(Object.fromEntries(group.flatMap((one) => (one in schema ? [[one, schema[one]]] : []))));
  }
  split.set(schema, found.length === 1 && sameKeys(found[0]!, schema) ? [schema] : found);
  return split.get(schema)!;
}

const sameKeys = (one: object, other: object) => Object.keys(one).length === Object.keys(other).length;

/**
 * The alternatives that a statement consists of, each a list of statements that all hold; undefined for one that has no parts. A statement
 * about what isn't known here (a reference to nothing) is left out, which can only make more values possible.
 */
export function unfold(space: Space, literal: Literal, disjoint: Disjoint): Literal[][] | undefined {
  const { schema, positive } = literal;
  if (typeof schema === "boolean") return schema === positive ? [[]] : [];
  const say = (one: Schema, holds = true): Literal => ({ ...literal, schema: one, positive: positive === holds });
  const closing = unevaluated(space, schema, positive);
  const all = [...parts(schema), ...closing];
  if (all.length !== 1) return positive ? [all.map((one) => say(one))] : all.map((one) => [say(one)]);
  const [part] = all as [SchemaObject];
  if (typeof part.$ref === "string") {
    const target = space.resolve(part.$ref);
    return [target === undefined ? [] : [say(target)]];
  }
  if (part.not !== undefined) return [[say(part.not as Schema, false)]];
  if (part.dependentRequired) return dependent(say, positive, part.dependentRequired as Record<string, string[]>);
  if (part.dependentSchemas) return dependent(say, positive, part.dependentSchemas as Record<string, Schema>);
  if ("if" in part || "then" in part || "else" in part) return conditional(space, say, literal, part);
  const listed = (part.allOf ?? part.anyOf ?? part.oneOf) as Schema[] | undefined;
  if (listed) {
    const together = listed.map((one) => say(one));
    if (part.oneOf) return oneOf(listed, say, positive, disjoint);
    if (part.anyOf && positive && literal.writer) return written(listed, say, disjoint);
    return (part.allOf !== undefined) === positive ? [together] : together.map((one) => [one]);
  }
  return part === schema ? undefined : [[say(part)]];
}

type Say = (schema: Schema, holds?: boolean) => Literal;

/** Whether no value has the form of both schemas. */
export type Disjoint = (one: Schema, other: Schema) => boolean;

/** Exactly one alternative holds. Not so: none does, or two of them do. */
function oneOf(listed: readonly Schema[], say: Say, positive: boolean, disjoint: Disjoint): Literal[][] {
  const others = (index: number) => listed.filter((one, at) => at !== index && !disjoint(one, listed[index]!));
  if (positive) return listed.map((one, index) => [say(one), ...others(index).map((other) => say(other, false))]);
  // `say` negates here: a schema must not hold.
  const pairs = listed.flatMap((one, index) =>
    listed
      .slice(index + 1)
      .filter((other) => !disjoint(one, other))
      .map((other) => [say(one, false), say(other, false)]),
  );
  return [listed.map((one) => say(one)), ...pairs];
}

/** A writer of several alternatives at a time may send the properties of all of them. */
function written(listed: readonly Schema[], say: Say, disjoint: Disjoint): Literal[][] {
  const objects = listed.filter((one) => typeof one === "object" && one.type !== "string");
  const pairs = objects.flatMap((one, index) =>
    objects.slice(index + 1).flatMap((other) => (disjoint(one, other) ? [] : [[say(one), say(other)]])),
  );
  return [...listed.map((one) => [say(one)]), ...(pairs.length > 1 ? [objects.map((one) => say(one))] : []), ...pairs];
}

function dependent(say: Say, positive: boolean, record: Readonly<Record<string, Schema | string[]>>): Literal[][] {
  const [[name, value]] = Object.entries(record) as [[string, Schema | string[]]];
  const present = has({ type: "object", required: [name] });
  const then = Array.isArray(value) ? shared({ type: "object", required: value }) : (value as Schema);
  return positive ? [[{ ...present, positive: false }], [present, say(then)]] : [[present, say(then)]];
}

function conditional(space: Space, say: Say, { positive, writer }: Literal, part: SchemaObject): Literal[][] {
  if (!("if" in part)) return positive ? [[]] : [];
  const given = part.if as Schema;
  const branch = (word: "then" | "else") => (part[word] ?? true) as Schema;
  const is = (holds: boolean) => say(given, holds === positive);
  // A writer may send what a condition names, also where it doesn't hold.
  const { properties } = (positive && writer && evaluated(space, given, true)) || { properties: {} };
  const named = Object.keys(properties).length > 0 ? [say(shared({ properties }))] : [];
  return [
    [is(true), say(branch("then"))],
    [is(false), ...named, say(branch("else"))],
  ];
}

/**
 * `unevaluatedProperties` and `unevaluatedItems` as keywords that look at their own schema alone. Where alternatives evaluate more, a
 * positive statement allows what any of them names, and a negative one only what all values have: both allow more values than there are.
 */
function unevaluated(space: Space, schema: SchemaObject, positive: boolean): SchemaObject[] {
  const found: SchemaObject[] = [];
  if ("unevaluatedProperties" in schema && schema.unevaluatedProperties !== true) {
    const { unevaluatedProperties: additionalProperties, ...rest } = schema;
    const closed = (names: Names | undefined) => (names ? { ...names, additionalProperties } : true);
    const { anyOf, oneOf = positive ? undefined : anyOf, ...base } = rest as { anyOf?: Schema[]; oneOf?: Schema[] };
    const names = evaluated(space, oneOf ? base : rest, positive);
    if (names && oneOf && !(positive && anyOf)) {
      const each = oneOf.map((one) => [one, evaluated(space, { allOf: [base, one] }, positive)] as const);
      found.push(closing(schema, { anyOf: each.map(([one, its]) => ({ allOf: [one, closed(its)] })) }));
    } else if (names && !oneOf) found.push(closing(schema, closed(names) as SchemaObject));
  }
  if ("unevaluatedItems" in schema && schema.unevaluatedItems !== true && !("items" in schema)) {
    const {
      unevaluatedItems: items,
      prefixItems = [],
      contains,
    } = schema as { prefixItems?: Schema[]; [key: string]: unknown };
    const beside = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"].some((word) => word in schema);
    if (!positive || (!beside && contains === undefined))
      found.push(closing(schema, { prefixItems: prefixItems.map(() => true), items }));
  }
  return found;
}

const closings = new WeakMap<SchemaObject, Map<string, SchemaObject>>();

function closing(owner: SchemaObject, made: SchemaObject): SchemaObject {
  const known = closings.get(owner) ?? new Map<string, SchemaObject>();
  closings.set(owner, known);
  const text = JSON.stringify(made);
  if (!known.has(text)) known.set(text, made);
  return known.get(text)!;
}

interface Names {
  readonly properties: Readonly<Record<string, true>>;
  readonly patternProperties: Readonly<Record<string, true>>;
}

/** The names of properties that a schema evaluates; undefined where it evaluates all of them. */
function evaluated(space: Space, schema: Schema, dynamic: boolean, trail: readonly Schema[] = []): Names | undefined {
  if (typeof schema === "boolean" || trail.includes(schema)) return { properties: {}, patternProperties: {} };
  const further = [...trail, schema];
  if (schema.additionalProperties !== undefined) return undefined;
  if (trail.length > 0 && schema.unevaluatedProperties !== undefined) return undefined;
  const beside = [
    typeof schema.$ref === "string" ? (space.resolve(schema.$ref) ?? true) : true,
    ...((schema.allOf as Schema[]) ?? []),
    ...(dynamic
      ? [
          ...((schema.anyOf as Schema[]) ?? []),
          ...((schema.oneOf as Schema[]) ?? []),
          ...["if", "then", "else"].map((word) => (schema[word] ?? true) as Schema),
          ...Object.values((schema.dependentSchemas as Record<string, Schema>) ?? {}),
        ]
      : []),
  ];
  const own = (word: string) =>
    Object.fromEntries(Object.keys((schema[word] as object) ?? {}).map((name) => [name, true as const]));
  let sum: Names = { properties: own("properties"), patternProperties: own("patternProperties") };
  for (const one of beside) {
    const names = evaluated(space, one, dynamic, further);
    if (!names) return undefined;
    sum = {
      properties: { ...sum.properties, ...names.properties },
      patternProperties: { ...sum.patternProperties, ...names.patternProperties },
    };
  }
  return sum;
}
