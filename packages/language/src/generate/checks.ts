import type { Schema, SchemaObject } from "@parlance/wire";
import { mapSchema } from "../walk.js";
import { rules } from "./rules.js";

/** Schemas as expressions that call the functions of `checking` by name. */
export interface Expressions {
  /** The name of a schema's declaration, by absolute reference. */
  refer(reference: string): string;
  /** By name; each declaration follows those that it refers to. */
  readonly declarations: ReadonlyMap<string, Readonly<Declaration>>;
}

interface Declaration {
  readonly name: string;
  /** Undefined while the expression is written, which detects a schema that refers to itself. */
  text?: string;
  /** The number of references to it. */
  uses: number;
}

const simple: Readonly<Record<string, string>> = {
  string: "checking.string",
  boolean: "checking.boolean",
  number: "checking.number",
  integer: "checking.integer",
  null: "checking.nil",
};
const ANYTHING = "checking.anything";
const NOTHING = "checking.nothing";
const scalar = (value: unknown) => typeof value !== "object" || value === null;
const hasType = (value: unknown, type: string) =>
  type === "integer" ? Number.isInteger(value) : type === (value === null ? "null" : typeof value);
const text = (value: unknown) => JSON.stringify(value);
const record = (entries: readonly (readonly [string, string])[]) =>
  `{ ${entries.map(([key, value]) => `${text(key)}: ${value}`).join(", ")} }`;

/**
 * `find` returns the schema of an absolute reference. `compile` takes the keywords without a function in `checking`, and returns the name
 * of an ajv function for them.
 */
export function expressions(
  find: (reference: string) => Schema,
  formats: ReadonlyMap<string, RegExp | true>,
  compile: (keywords: SchemaObject) => string,
): Expressions {
  const started = new Map<string, Declaration>();
  const declarations = new Map<string, Declaration>();

  function refer(reference: string): string {
    const known = started.get(reference);
    if (known) {
      known.uses++;
      return known.text === undefined ? `checking.later(() => ${known.name})` : known.name;
    }
    const schema = find(reference);
    const title = (typeof schema === "object" && schema.title) || reference.replace(/.*\//, "");
    const name = freeName(title, started.values());
    const declaration: Declaration = { name, uses: 1 };
    started.set(reference, declaration);
    declaration.text = of(rules(schema), reference.split("#")[0]!);
    declarations.set(name, declaration);
    return name;
  }

  function of(schema: Schema, base: string): string {
    if (typeof schema === "boolean") return schema ? ANYTHING : NOTHING;
    const { $id, $defs, definitions, ...left } = schema;
    // These depend on the results of all keywords beside them.
    if ("unevaluatedProperties" in left || "unevaluatedItems" in left)
      return `checking.compiled(${compile(elsewhere(left, base))})`;
    const tests: string[] = [];
    const inner = (value: unknown) => of(value as Schema, base);
    /** Takes a keyword, so that ajv does not compile it. */
    const take = (keyword: string): unknown => {
      const value = left[keyword];
      delete (left as Record<string, unknown>)[keyword];
      return value;
    };
    const add = (keyword: string, expression: (value: unknown) => string) => {
      if (keyword in left) tests.push(expression(take(keyword)));
    };

    const { type } = left;
    if (type === "object" && !("patternProperties" in left)) {
      take("type");
      tests.push(...objectOf(take("properties"), take("required"), take("additionalProperties"), inner));
    } else if (type === "array" && !("prefixItems" in left)) {
      take("type");
      tests.push(`checking.array(${inner(take("items") ?? true)})`);
    } else if (typeof type === "string" && type in simple) {
      take("type");
      const listed = "const" in left ? [left.const] : (left.enum as unknown[] | undefined);
      if (!listed?.every((value) => hasType(value, type))) tests.push(simple[type]!);
    } else if (Array.isArray(type) && type.every((one) => one in simple)) {
      take("type");
      tests.push(`checking.types(${record(type.map((one) => [one, simple[one]!]))})`);
    }
    if (scalar(left.const)) add("const", (value) => `checking.constant(${text(value)})`);
    if ((left.enum as unknown[] | undefined)?.every(scalar))
      add("enum", (value) => `checking.values(${(value as unknown[]).map(text).join(", ")})`);
    if (type === "number" || type === "integer")
      for (const keyword of ["minimum", "maximum"]) add(keyword, (value) => `checking.${keyword}(${value})`);
    if (type === "string") {
      for (const keyword of ["minLength", "pattern"]) add(keyword, (value) => `checking.${keyword}(${text(value)})`);
      const known = formats.get(left.format as string);
      if (known === true) take("format");
      else if (known) add("format", (value) => `checking.format(${text(value)}, ${known})`);
    }
    add("$ref", (value) => refer(absolute(value as string, base)));
    if ("allOf" in left) tests.push(...(take("allOf") as Schema[]).map(inner));
    add("anyOf", (value) => `checking.any(${(value as Schema[]).map(inner).join(", ")})`);
    add("not", (value) => `checking.not(${inner(value)})`);
    if (Object.keys(left).length > 0) tests.push(`checking.compiled(${compile(elsewhere(left, base))})`);
    if (tests.length === 0) return ANYTHING;
    return tests.length === 1 ? tests[0]! : `checking.all(${tests.join(", ")})`;
  }

  return { refer, declarations };
}

function freeName(title: string, taken: Iterable<Declaration>): string {
  const names = new Set([...taken].map(({ name }) => name));
  let name = `$${title.replace(/\W/g, "")}`;
  while (names.has(name)) name += "_";
  return name;
}

function objectOf(properties: unknown, names: unknown, others: unknown, inner: (schema: unknown) => string): string[] {
  // ajv, by which lint checks the examples, never reports an empty name as missing.
  const needed = new Set(((names ?? []) as string[]).filter(Boolean));
  const known = Object.entries((properties ?? {}) as Record<string, Schema>).map(
    ([key, schema]) => [key, inner(schema)] as const,
  );
  const tests = new Map(known);
  const isInherited = (key: string) => key in Object.prototype;
  const optional = known.filter(([key, test]) => !needed.has(key) && test !== ANYTHING);
  const required = [...needed].map((key) => [key, tests.get(key) ?? ANYTHING] as const);
  const parts = [record(required.filter(([key]) => !isInherited(key)))];
  const plain = optional.filter(([key]) => !isInherited(key));
  if (plain.length > 0) parts.push(record(plain));
  const inherited = [...required, ...optional].filter(([key]) => isInherited(key));
  const own = inherited.map(([key, test]) => `checking.own(${text(key)}, ${test}, ${needed.has(key)})`);
  const rest = others === undefined ? ANYTHING : inner(others);
  const object = `checking.object(${parts.join(", ")})`;
  if (rest === ANYTHING) return [object, ...own];
  const keys = known.map(([key]) => text(key));
  return [
    object,
    ...own,
    rest === NOTHING ? `checking.only(${keys.join(", ")})` : `checking.others(${[rest, ...keys].join(", ")})`,
  ];
}

const absolute = (reference: string, base: string) =>
  new URL(reference, `parlance:${base}`).href.slice("parlance:".length);

/** A schema that means the same in any place. */
function elsewhere(schema: SchemaObject, base: string): SchemaObject {
  return mapSchema(schema, (one) =>
    typeof one.$ref === "string" ? { ...one, $ref: absolute(one.$ref, base) } : one,
  ) as SchemaObject;
}
