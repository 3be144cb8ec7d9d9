import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { isObject } from "@parlance/wire/json";

type Properties = Readonly<Record<string, Schema>>;

/** `if` a property has one of some values, `then` and `else`. */
interface Condition {
  readonly property: string;
  readonly values: readonly Json[];
  /** Whether it also holds without the property. */
  readonly holdsWithout: boolean;
  readonly positive: Schema;
  readonly negative: Schema;
}

/** Values of the property, and the schema for all of them. */
interface Case {
  readonly values: Json[];
  /** Whether the property may be absent. */
  isOptional: boolean;
  readonly also: readonly SchemaObject[];
}

/**
 * Rewrites conditions on the constants of one property to a union: the properties that no condition is about, and beside them an object
 * for each case. A program can then tell the cases apart by that property. Other conditions stay; they do not narrow a type.
 */
export function withoutConditions(schema: SchemaObject, find: (ref: string) => Schema | undefined): SchemaObject {
  const parts = [schema, ...((schema.allOf ?? []) as Schema[])];
  const all = parts.map(conditionOf);
  const property = all.find((one) => one !== undefined)?.property;
  if (property === undefined) return schema;
  const properties = (schema.properties ?? {}) as Properties;
  const required = (schema.required ?? []) as readonly string[];
  const values = Object.hasOwn(properties, property) ? constantsOf(properties[property]!, find) : undefined;
  if (values === undefined) return schema;
  const conditions = all.filter((one) => one?.property === property) as Condition[];
  const cases = casesOf(conditions, values, required.includes(property));
  if (cases.length < 2) return schema;

  const touched = new Set([property, ...cases.flatMap((one) => one.also.flatMap(namesIn))]);
  const own = Object.entries(properties).filter(([name]) => !touched.has(name));
  const needed = required.filter((name) => !touched.has(name));
  const branches = cases.map((one) => branchOf(one, property, properties, required, touched));
  const left = parts.filter((part, index) => part !== schema && all[index]?.property !== property);
  const { if: _, then: __, else: ___, properties: ____, required: _____, type, ...rest } = schema;
  return {
    ...rest,
    // An object of which nothing is known adds nothing to the type.
    ...((own.length > 0 || needed.length > 0 || "additionalProperties" in rest) && {
      type,
      properties: Object.fromEntries(own),
      required: needed,
    }),
    allOf: [...left, { anyOf: branches }],
  };
}

function conditionOf(schema: Schema): Condition | undefined {
  if (typeof schema === "boolean" || !isObject(schema.if)) return undefined;
  const { properties = {}, required = [], type, ...rest } = schema.if as SchemaObject;
  const [[property, value] = [], ...others] = Object.entries(properties as Properties);
  const values = value === undefined ? undefined : constantsOf(value);
  if (values === undefined || others.length > 0 || Object.keys(rest).length > 0) return undefined;
  if ((required as string[]).some((name) => name !== property)) return undefined;
  const holdsWithout = (required as string[]).length === 0;
  const { then = true, else: otherwise = true } = schema;
  return { property: property!, values, holdsWithout, positive: then as Schema, negative: otherwise as Schema };
}

/** All values of a schema, if it lists them. */
function constantsOf(schema: Schema, find?: (ref: string) => Schema | undefined): readonly Json[] | undefined {
  if (typeof schema === "boolean") return undefined;
  const target = typeof schema.$ref === "string" ? find?.(schema.$ref) : undefined;
  if (target !== undefined) return constantsOf(target);
  const values = "const" in schema ? [schema.const as Json] : (schema.enum as Json[] | undefined);
  if (values === undefined) return schema.type === "boolean" ? [true, false] : undefined;
  return values.every((one) => typeof one !== "object" || one === null) ? values : undefined;
}

function casesOf(conditions: readonly Condition[], values: readonly Json[], isRequired: boolean): Case[] {
  const cases = new Map<string, Case>();
  for (const value of isRequired ? values : [...values, undefined]) {
    const met = conditions.map((one) => (value === undefined ? one.holdsWithout : one.values.includes(value)));
    const also = conditions.map((one, index) => (met[index] ? one.positive : one.negative));
    if (also.includes(false)) continue;
    const one = cases.get(met.join()) ?? {
      values: [],
      isOptional: false,
      also: also.filter(isObject) as SchemaObject[],
    };
    cases.set(met.join(), one);
    if (value === undefined) one.isOptional = true;
    else one.values.push(value);
  }
  return [...cases.values()];
}

const namesIn = ({ properties = {}, required = [] }: SchemaObject): string[] => [
  ...Object.keys(properties as Properties),
  ...(required as string[]),
];

/** The object of one case: of the properties that a condition is about. */
function branchOf(
  { values, isOptional, also }: Case,
  tag: string,
  properties: Properties,
  required: readonly string[],
  touched: ReadonlySet<string>,
): SchemaObject {
  const own = Object.entries(properties).filter(([name]) => touched.has(name) && name !== tag);
  const found = new Map<string, Schema>(own);
  for (const one of also)
    for (const [name, schema] of Object.entries((one.properties ?? {}) as Properties))
      if (name !== tag) found.set(name, both(found.get(name) ?? true, schema));
  const { const: _, enum: __, type, $ref, ...prose } = properties[tag] as SchemaObject;
  const only = values.length === 0 ? false : { ...prose, enum: values };
  const needed = new Set([...required, ...also.flatMap((one) => (one.required ?? []) as string[])]);
  if (isOptional) needed.delete(tag);
  else needed.add(tag);
  const more = also
    .map(({ properties, required, type, description, $comment, ...rest }) => rest)
    .filter((rest) => Object.keys(rest).length > 0);
  return {
    type: "object",
    properties: Object.fromEntries([[tag, only], ...found]),
    required: [...needed].filter((name) => touched.has(name)),
    ...(more.length > 0 && { allOf: more }),
  };
}

/** A schema whose type covers the values of both. */
function both(one: Schema, other: Schema): Schema {
  if (one === true || other === false) return other;
  if (other === true || one === false) return one;
  const narrowed = { ...one, ...other };
  const types = typesOf(other);
  for (const keyword of ["anyOf", "oneOf"]) {
    if (types === undefined || one[keyword] === undefined || keyword in other) continue;
    const left = (one[keyword] as Schema[]).filter(
      (branch) => typesOf(branch)?.some((type) => types.includes(type)) ?? true,
    );
    // The remaining branches may restrict more than the type does.
    const { type, ...rest } = narrowed;
    return { ...rest, [keyword]: left };
  }
  return narrowed;
}

const typesOf = (schema: Schema) =>
  typeof schema === "object" && schema.type !== undefined ? ([schema.type].flat() as string[]) : undefined;
