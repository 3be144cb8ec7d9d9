import type { Schema, SchemaObject } from "@parlance/wire";
import { MOMENTS } from "../formats.js";
import { type Place, TOLERANCE, waysOf } from "../tolerance.js";
import { absolute, elsewhere } from "../walk.js";
import { rules } from "./rules.js";
import { type Context, union } from "./unions.js";

/** Schemas as expressions that call the functions of `checking` by name. */
export interface Expressions {
  /** The name of a schema's declaration, by absolute reference. */
  refer(reference: string): string;
  /** By name; each declaration follows those that it refers to. */
  declarations(): ReadonlyMap<string, Readonly<Declaration>>;
  /** Statements that the declarations need. */
  forms(): readonly string[];
}

interface Declaration {
  readonly name: string;
  /** A name in it is between two `MARK`s, until the declarations have an order. */
  text: string;
  /** The number of references to it. */
  uses: number;
  readonly parts: Set<Declaration>;
}

const MARK = "\0";

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
  isTolerant: (place: Place) => boolean,
): Expressions {
  const all = new Declarations(find);
  const context = contextOf(find);
  /** Tests of formats, whose expressions are long, with their names. */
  const forms = new Map<string, string>();

  function of(schema: Schema, base: string): string {
    if (typeof schema === "boolean") return schema ? ANYTHING : NOTHING;
    const { $id, $defs, definitions, [TOLERANCE]: ways, ...left } = schema;
    // These depend on the results of all keywords beside them.
    if ("unevaluatedProperties" in left || "unevaluatedItems" in left)
      return `checking.compiled(${compile(elsewhere(left, base) as SchemaObject)})`;
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
    const list = "prefixItems" in left ? undefined : listOf(schema);
    if (type === "object" && !("patternProperties" in left)) {
      take("type");
      tests.push(...objectOf(take("properties"), take("required"), take("additionalProperties"), inner));
    } else if (list) {
      take("type");
      tests.push(list(inner(take("items") ?? true)));
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
      else if (known) add("format", (value) => formOf(forms, text(value), MOMENTS.get(value as string), known));
    }
    add("$ref", (value) => MARK + all.use(absolute(value as string, base)).name + MARK);
    if ("allOf" in left) tests.push(...(take("allOf") as Schema[]).map(inner));
    const preferred = (take("discriminator") as { propertyName?: string } | undefined)?.propertyName;
    for (const keyword of ["anyOf", "oneOf"])
      add(keyword, (value) => {
        const options = { isExclusive: keyword === "oneOf", isObject: type === "object", preferred, isTolerant };
        return union(value as Schema[], (value as Schema[]).map(inner), base, context, options);
      });
    add("not", (value) => `checking.not(${inner(value)})`);
    if (Object.keys(left).length > 0)
      tests.push(`checking.compiled(${compile(elsewhere(left, base) as SchemaObject)})`);
    if (tests.length === 0) return ANYTHING;
    return tests.length === 1 ? tests[0]! : `checking.all(${tests.join(", ")})`;
  }

  return {
    refer(reference) {
      const { name } = all.use(reference);
      all.write((one) => of(rules(find(one)), one.split("#")[0]!));
      return name;
    },
    declarations: () => all.ordered(),
    forms: () => [...forms].map(([test, name]) => `const ${name} = ${test};`),
  };
}

/** Writes the expression of a list from that of its items; undefined for a schema that is not about lists only. */
function listOf(schema: SchemaObject): ((item: string) => string) | undefined {
  const skips = waysOf(schema).includes("skip");
  if (schema.type === "array") return (item) => `${skips ? "tolerating.skipping" : "checking.array"}(${item})`;
  const isNullable = skips && `${schema.type}`.replace(/^null,|,null$/, "") === "array";
  if (!isNullable) return undefined;
  // In the order of the schema, which is that of the types in an error.
  const isNullFirst = (schema.type as string[])[0] === "null";
  return (item) =>
    isNullFirst
      ? `checking.any(checking.nil, tolerating.skipping(${item}))`
      : `checking.any(tolerating.skipping(${item}), checking.nil)`;
}

function contextOf(find: (reference: string) => Schema): Context {
  const resolve: Context["resolve"] = (reference, base) => {
    const place = absolute(reference, base);
    return { schema: find(place), base: place.split("#")[0]! };
  };
  return { resolve, shapes: new Map() };
}

/** The name of a format's test, which is declared once. */
function formOf(forms: Map<string, string>, format: string, moment: RegExp | undefined, known: RegExp): string {
  const test = moment ? `checking.moment(${format}, ${moment})` : `checking.format(${format}, ${known})`;
  const name = forms.get(test) ?? `form${forms.size}`;
  forms.set(test, name);
  return name;
}

class Declarations {
  readonly #find: (reference: string) => Schema;
  readonly #started = new Map<string, Declaration>();
  readonly #names = new Set<string>();
  /** References without a text yet: a list, because a chain of them can be longer than the call stack. */
  readonly #waiting: string[] = [];
  #current: Declaration | undefined;

  constructor(find: (reference: string) => Schema) {
    this.#find = find;
  }

  use(reference: string): Declaration {
    let one = this.#started.get(reference);
    if (one === undefined) {
      const schema = this.#find(reference);
      const title = (typeof schema === "object" && schema.title) || reference.replace(/.*\//, "");
      one = { name: freeName(title, this.#names), text: "", uses: 0, parts: new Set() };
      this.#started.set(reference, one);
      this.#waiting.push(reference);
    }
    one.uses++;
    this.#current?.parts.add(one);
    return one;
  }

  /** Writes the helpers in use and their own dependencies. */
  write(textOf: (reference: string) => string): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#current = this.#started.get(next)!;
      this.#current.text = textOf(next);
    }
    this.#current = undefined;
  }

  /** Declarations after those that they refer to. A schema that contains itself is looked up when a value is checked. */
  ordered(): Map<string, Declaration> {
    const done = new Map<string, Declaration>();
    const seen = new Set<Declaration>();
    for (const root of this.#started.values()) {
      const stack = [root];
      for (let one = stack.at(-1); one !== undefined; one = stack.at(-1)) {
        if (!seen.has(one)) {
          seen.add(one);
          stack.push(...[...one.parts].filter((part) => !seen.has(part)).reverse());
          continue;
        }
        stack.pop();
        if (done.has(one.name)) continue;
        const text = one.text.replace(/\0(.*?)\0/g, (_, name) =>
          done.has(name) ? name : `checking.later(() => ${name})`,
        );
        done.set(one.name, { ...one, text });
      }
    }
    return done;
  }
}

function freeName(title: string, names: Set<string>): string {
  let name = `$${title.replace(/\W/g, "")}`;
  while (names.has(name)) name += "_";
  names.add(name);
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
  const tolerated = placesOf((properties ?? {}) as Record<string, Schema>, needed, tests);
  const isStrict = ([key]: readonly [string, string]) => !Object.hasOwn(tolerated, key);
  const optional = known.filter(([key, test]) => !needed.has(key) && test !== ANYTHING).filter(isStrict);
  const required = [...needed].map((key) => [key, tests.get(key) ?? ANYTHING] as const).filter(isStrict);
  const parts = [record(required.filter(([key]) => !isInherited(key)))];
  const plain = optional.filter(([key]) => !isInherited(key));
  if (plain.length > 0) parts.push(record(plain));
  const inherited = [...required, ...optional].filter(([key]) => isInherited(key));
  const own = inherited.map(([key, test]) => `checking.own(${text(key)}, ${test}, ${needed.has(key)})`);
  const rest = others === undefined ? ANYTHING : inner(others);
  const object = `checking.object(${parts.join(", ")})`;
  const places = Object.entries(tolerated);
  const all = [...(places.length > 0 ? [`tolerating.tolerant(${record(places)})`] : []), object, ...own];
  if (rest === ANYTHING) return all;
  const keys = known.map(([key]) => text(key));
  return [
    ...all,
    rest === NOTHING ? `checking.only(${keys.join(", ")})` : `checking.others(${[rest, ...keys].join(", ")})`,
  ];
}

/** The properties of which an error or null is tolerated, as arguments of `tolerating.tolerant`. */
function placesOf(
  properties: Readonly<Record<string, Schema>>,
  needed: ReadonlySet<string>,
  tests: ReadonlyMap<string, string>,
): Record<string, string> {
  const places = Object.entries(properties).flatMap(([key, schema]) => {
    const ways = waysOf(schema).flatMap((way) => (way === "default" ? "e" : way === "null" ? "n" : []));
    if (ways.length === 0) return [];
    const fallback = (schema as SchemaObject).default;
    const given = [tests.get(key)!, text(ways.join("")), `${needed.has(key)}`];
    return [[key, `[${[...given, ...(fallback === undefined ? [] : [`() => (${text(fallback)})`])].join(", ")}]`]];
  });
  return Object.fromEntries(places);
}
