import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { withoutConditions } from "./conditions.js";
import { linesOf } from "./jsdoc.js";
import { comment, property, width } from "./literal.js";

/** A TypeScript type as its alternatives, each of which can precede `[]` without parentheses. */
export type Type = readonly string[];

const unknown: Type = ["unknown"];

/** Where a schema stands while its type is written. */
export interface Context {
  /** The type of a `$ref`: the name of its target. */
  refer(ref: string): Type;
  /** The target of a `$ref`, and where it stands: its own references count from there. */
  find(ref: string): { readonly schema: Schema; readonly context: Context } | undefined;
  /** The type of a schema that is declared elsewhere: its name, or the error codes. */
  declared(schema: Schema): Type | undefined;
  /** The type of any object. */
  readonly bare: string;
  /** The indentation of the current line. */
  readonly indent: string;
}

/** Keywords that imply the type if `type` is absent. */
const ofObjects = ["properties", "patternProperties", "additionalProperties"];
const ofArrays = ["items", "prefixItems"];

/**
 * The type of a schema. It covers every value that the schema allows; keywords without a type (`not`, bounds) widen it.
 * Objects are closed for the compiler though their schemas are open.
 */
export function expression(schema: Schema, context: Context): Type {
  if (typeof schema === "boolean") return schema ? unknown : [];
  const { $ref, allOf, anyOf, oneOf, ...rest } = withoutConditions(schema, (ref) => context.find(ref)?.schema);
  const parts = [own(rest, context)];
  if (typeof $ref === "string") parts.push(context.refer($ref));
  for (const one of (allOf as Schema[] | undefined) ?? []) parts.push(inside(one, context));
  for (const one of [anyOf, oneOf]) if (one !== undefined) parts.push(alternatives(one as Schema[], context));
  return intersection(parts);
}

/** A type as text. */
export const print = (type: Type) => (type.length === 0 ? "never" : alone(type).join(" | "));

/** An intersection needs no parentheses where nothing stands beside it. */
export const alone = (type: Type): Type => (type.length === 1 ? [type[0]!.replace(/^\(([\s\S]*)\)$/, "$1")] : type);

/** The type of an inner schema: its name where it has one. */
const inside = (schema: Schema, context: Context): Type => context.declared(schema) ?? expression(schema, context);

/** The type of a schema's own keywords, without the schemas that it combines. */
function own(schema: SchemaObject, context: Context): Type {
  if (schema.const !== undefined) return [value(schema.const as Json)];
  if (schema.enum !== undefined) return unite((schema.enum as Json[]).map((one) => [value(one)]));
  const declared = schema.type as string | string[] | undefined;
  if (declared !== undefined) return unite([declared].flat().map((type) => [ofType(type, schema, context)]));
  if (ofObjects.some((keyword) => keyword in schema)) return [object(schema, context)];
  return ofArrays.some((keyword) => keyword in schema) ? [array(schema, context)] : unknown;
}

function ofType(type: string, schema: SchemaObject, context: Context): string {
  if (type === "object") return object(schema, context);
  if (type === "array") return array(schema, context);
  return type === "integer" ? "number" : type;
}

function object(schema: SchemaObject, context: Context): string {
  const properties = (schema.properties as Record<string, Schema> | undefined) ?? {};
  const required = (schema.required as string[] | undefined) ?? [];
  const deep = { ...context, indent: `${context.indent}  ` };
  const missing = required.filter((name) => !Object.hasOwn(properties, name));
  const lines = [
    ...Object.entries(properties).map(([name, child]) => member(name, child, required.includes(name), deep)),
    ...missing.map((name) => `${deep.indent}${property(name)}: unknown;\n`),
  ];
  const rest = others(schema, lines.length > 0, deep);
  if (rest !== undefined) lines.push(`${deep.indent}[k: string]: ${rest};\n`);
  return lines.length > 0 ? `{\n${lines.join("")}${context.indent}}` : context.bare;
}

/** Members that TypeScript finds in any object literal. A literal without such a property is refused unless its type allows the member. */
const INHERITED = new Set(
  "constructor toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable".split(" "),
);

function member(name: string, schema: Schema, required: boolean, context: Context): string {
  const given = inside(schema, context);
  // Under `exactOptionalPropertyTypes` a value that may be undefined is refused otherwise. JSON leaves it out.
  const inherited = required || !INHERITED.has(name) ? [] : [`{}["${name}"]`];
  const isWhole = required || given[0] === "unknown" || given.length + inherited.length === 0;
  const type = isWhole ? given : [...given, ...inherited, "undefined"];
  const prose = comment(linesOf(schema), context.indent);
  const head = `${context.indent}${property(name)}${required ? "" : "?"}:`;
  const line = `${head} ${print(type)};\n`;
  if (line.length <= width + 1 || line.indexOf("\n") < line.length - 1 || type.length < 2) return prose + line;
  return `${prose}${head}\n${type.map((one) => `${context.indent}  | ${one}`).join("\n")};\n`;
}

/** The type of properties beyond the named ones; undefined where an object has none of them, or any. */
function others(schema: SchemaObject, some: boolean, context: Context): string | undefined {
  const patterns = Object.values((schema.patternProperties as Record<string, Schema> | undefined) ?? {});
  const free = schema.additionalProperties as Schema | undefined;
  const open = free !== undefined && free !== false;
  // An index signature holds for the named properties too, so beside them it can only be this wide.
  if (some) return open || patterns.length > 0 ? "unknown" : undefined;
  const types = (open ? [...patterns, free] : patterns).map((one) => inside(one, context));
  if (types.length === 0) return free === false ? "never" : undefined;
  const type = print(unite(types));
  return type === "unknown" ? undefined : type;
}

function array(schema: SchemaObject, context: Context): string {
  const prefix = schema.prefixItems as Schema[] | undefined;
  const items = schema.items as Schema | undefined;
  if (prefix === undefined) return items === false ? "[]" : `${grouped(inside(items ?? true, context))}[]`;
  const needed = (schema.minItems as number | undefined) ?? 0;
  const places = prefix.map((one, index) => {
    const type = inside(one, context);
    return index < needed ? print(type) : `${grouped(type)}?`;
  });
  if (items !== undefined && items !== false) places.push(`...${grouped(inside(items, context))}[]`);
  return `[${places.join(", ")}]`;
}

function alternatives(branches: readonly Schema[], context: Context): Type {
  const types = branches.map((one) => inside(one, context));
  // Beside `string` alone, an editor would offer none of the known values.
  const listed = branches.some((one) => listsStrings(one, context));
  return unite(listed ? types.map((type) => type.map((one) => (one === "string" ? "(string & {})" : one))) : types);
}

function listsStrings(schema: Schema, context: Context): boolean {
  if (typeof schema !== "object") return false;
  if (typeof schema.$ref === "string") {
    const found = context.find(schema.$ref);
    return found !== undefined && listsStrings(found.schema, found.context);
  }
  const values = (schema.enum as Json[] | undefined) ?? [schema.const as Json];
  return values.every((one) => typeof one === "string");
}

/** A JSON value as a type. */
function value(one: Json): string {
  if (Array.isArray(one)) return `[${one.map(value).join(", ")}]`;
  // A number beyond what a program can write, such as 1e400, has no literal.
  if (typeof one === "number") return Number.isFinite(one) ? JSON.stringify(one) : "number";
  if (typeof one !== "object" || one === null) return JSON.stringify(one);
  const entries = Object.entries(one).map(([key, inner]) => `${property(key)}: ${value(inner)}`);
  return `{ ${entries.join("; ")} }`;
}

function unite(types: readonly Type[]): Type {
  const all = [...new Set(types.flat())];
  return all.includes("unknown") ? unknown : all;
}

function intersection(types: readonly Type[]): Type {
  const some = types.filter((type) => type !== unknown && !type.includes("unknown"));
  if (some.some((type) => type.length === 0)) return [];
  const distinct = new Map(some.map((type) => [print(type), type]));
  if (distinct.size < 2) return [...distinct.values()][0] ?? unknown;
  // A tag is read best on the line of what it tags.
  const texts = [...distinct.values()].map((type) => grouped(type).replace(/^\{\n\s+([^\n]{1,60});\n\s*\}$/, "{ $1 }"));
  return [`(${texts.join(" & ")})`];
}

/** A type in parentheses where it has alternatives. */
const grouped = (type: Type) => (type.length === 1 ? type[0]! : `(${print(type)})`);
