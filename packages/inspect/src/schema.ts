import type { SchemaObject } from "@parlance/wire";
import { parseFragment, parsePointer, valueAt } from "@parlance/wire/internal/pointer";

type Schemas = Readonly<Record<string, SchemaObject>>;
export type Node = SchemaObject | boolean | undefined;

/** A schema by reference, with what stands beside it: contracts have relative files and pointers. */
export function resolve(schemas: Schemas, schema: Node, base?: SchemaObject, depth = 0): SchemaObject {
  if (typeof schema !== "object" || depth > 16) return {};
  const { $ref, allOf, ...own } = schema;
  let merged: SchemaObject = own;
  const parts = [...(typeof $ref === "string" ? [{ $ref }] : []), ...((allOf as SchemaObject[]) ?? [])];
  for (const part of parts) {
    const target = part.$ref === undefined ? [part, base] : follow(schemas, String(part.$ref), base);
    merged = merge(resolve(schemas, target[0] as Node, target[1] as SchemaObject, depth + 1), merged);
  }
  return merged;
}

function merge(one: SchemaObject, other: SchemaObject): SchemaObject {
  const required = [...((one.required as string[]) ?? []), ...((other.required as string[]) ?? [])];
  const properties = { ...(one.properties as object), ...(other.properties as object) };
  return {
    ...one,
    ...other,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}

/** The file whose pointers a node's own schema has. */
export function baseOf(schemas: Schemas, node: Node, base: SchemaObject | undefined): SchemaObject | undefined {
  if (typeof node !== "object") return base;
  if (typeof node.$ref === "string") return follow(schemas, node.$ref, base)[1] ?? base;
  return node.$id === undefined ? base : node;
}

/** The schema that a reference names, and the file that holds it. */
function follow(schemas: Schemas, reference: string, base: SchemaObject | undefined): [Node, SchemaObject | undefined] {
  const [file = "", pointer = ""] = reference.split("#");
  const name = file.split("/").at(-1)!;
  const found =
    file === ""
      ? base
      : Object.values(schemas).find(({ $id }) => typeof $id === "string" && ($id === file || $id.endsWith(`/${name}`)));
  return [valueAt(found, parseFragment(pointer)) as Node, found];
}

/** The kinds of value that a schema allows, for the form. */
export function typesOf(schema: SchemaObject): readonly string[] {
  if (Array.isArray(schema.type)) return schema.type as string[];
  if (typeof schema.type === "string") return [schema.type];
  if (schema.properties !== undefined) return ["object"];
  if (schema.items !== undefined) return ["array"];
  return [];
}

export function branchesOf(schema: SchemaObject): readonly SchemaObject[] {
  return (schema.oneOf ?? schema.anyOf ?? []) as readonly SchemaObject[];
}

/** The values that a property may have, where the schema lists them. */
export function choicesOf(schema: SchemaObject): readonly unknown[] | undefined {
  if (schema.const !== undefined) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

/** Makes the value that a form begins with. */
export type Begin = (schemas: Schemas, node: Node, base?: SchemaObject, depth?: number) => unknown;

/** A value to begin with: the default, an example, or the least that the schema asks for. */
export const initial: Begin = (schemas, node, base, depth = 0) => {
  const { default: own, examples } = resolve(schemas, node, base);
  if (own !== undefined) return own;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  return least(initial, schemas, node, base, depth);
};

/** The least that the schema asks for, where a person fills in the rest: an example is of another conversation. */
export const blank: Begin = (schemas, node, base, depth = 0) => least(blank, schemas, node, base, depth);

function least(begin: Begin, schemas: Schemas, node: Node, base: SchemaObject | undefined, depth: number): unknown {
  const schema = resolve(schemas, node, base);
  const file = baseOf(schemas, node, base);
  const [choice] = choicesOf(schema) ?? [];
  if (choice !== undefined) return choice;
  const [branch] = branchesOf(schema);
  if (branch && depth < 8) return begin(schemas, branch, file, depth + 1);
  const [type] = typesOf(schema);
  if (type === "object") {
    const { required = [], properties = {} } = schema as {
      readonly required?: readonly string[];
      readonly properties?: Readonly<Record<string, Node>>;
    };
    if (depth > 8) return {};
    return Object.fromEntries(required.map((name) => [name, begin(schemas, properties[name], file, depth + 1)]));
  }
  if (begin === blank && (type === "integer" || type === "number")) return "";
  return { string: "", integer: 0, number: 0, boolean: false, array: [], null: null }[type ?? "null"] ?? null;
}

/** The branch of a union that a value is of: of its type, or with whose constants it agrees. */
export function branchOf(
  schemas: Schemas,
  branches: readonly SchemaObject[],
  value: unknown,
  base?: SchemaObject,
): number {
  const fits = branches.findIndex((branch) => {
    const schema = resolve(schemas, branch, base);
    const choices = choicesOf(schema);
    if (choices) return choices.some((one) => JSON.stringify(one) === JSON.stringify(value));
    const types = typesOf(schema);
    const name = nameOf(value);
    const isTyped = types.includes(name) || (name === "integer" && types.includes("number"));
    if (typeof value !== "object" || value === null || (types.length > 0 && !isTyped)) return isTyped;
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Node>);
    const constants = properties.map(([name, one]) => [name, resolve(schemas, one, base).const] as const);
    const named = constants.filter(([, constant]) => constant !== undefined);
    const required = (schema.required ?? []) as readonly string[];
    return named.length > 0
      ? named.every(([name, constant]) => (value as Record<string, unknown>)[name] === constant)
      : required.every((name) => name in value);
  });
  return Math.max(fits, 0);
}

export function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** The sentence that the schema has about the value at a JSON Pointer, or about the nearest value around it. */
export function sentenceAt(schemas: Schemas, title: string, pointer: string): string | undefined {
  let base = schemas[title];
  let schema = resolve(schemas, base, base);
  let sentence = schema.description;
  for (const name of parsePointer(pointer)) {
    const { properties, items } = schema as { properties?: Record<string, Node>; items?: Node };
    const next = properties?.[name] ?? (/^\d+$/.test(name) ? items : undefined);
    if (typeof next !== "object") break;
    const [, file] = typeof next.$ref === "string" ? follow(schemas, next.$ref, base) : [next, base];
    schema = resolve(schemas, next, base);
    base = file ?? base;
    sentence = schema.description ?? sentence;
  }
  return sentence;
}
