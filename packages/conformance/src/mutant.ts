import {
  type ContractDocument,
  isObject,
  type Json,
  type Schema,
  type SchemaObject,
  type Side,
  Violation,
} from "@parlance/wire";
import { escapeStep, parseFragment, valueAt } from "@parlance/wire/internal/pointer";
import { Samples, type ValueOf } from "./samples.js";

/** A value that breaks its schema in one keyword. */
export interface Mutant {
  readonly value: Json;
  readonly keyword: string;
  /** The keyword's place: a file and a JSON Pointer. */
  readonly at: string;
  /** Unique among the mutants of one form. */
  readonly name: string;
}

/** The keywords that a mutant may break. */
export const KEYWORDS = [
  ..."type required enum const minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum".split(
    " ",
  ),
  ..."multipleOf minItems maxItems uniqueItems additionalProperties propertyNames minProperties maxProperties".split(
    " ",
  ),
  ..."dependentRequired not anyOf oneOf contains".split(" "),
];

/** Values of other types, and those that seldom fit. */
const OTHERS: readonly Json[] = [0, "parlance", true, null, [], {}, -1, 1.5, "", 2 ** 40];

/** A schema at a place of the contract's folder. */
interface Here {
  readonly schema: SchemaObject;
  readonly file: string;
  readonly pointer: string;
}

/** Changes a form in ways that may break its schema, keyword by keyword. */
export function* candidates(document: ContractDocument, title: string, value: Json): Generator<Mutant> {
  const file = document.files[title]!;
  yield* walk(document, { schema: document.schemas[title]!, file, pointer: "" }, value, (changed) => changed, []);
}

function* walk(
  document: ContractDocument,
  here: Here,
  value: Json | undefined,
  put: (changed: Json | undefined) => Json | undefined,
  trail: readonly string[],
): Generator<Mutant> {
  const { schema, file, pointer } = here;
  const key = `${file}#${pointer}`;
  if (trail.includes(key)) return;
  const within = [...trail, key];
  const inner = function* (
    child: Schema | undefined,
    step: string,
    at: Json | undefined,
    set: typeof put,
    base = here,
  ) {
    if (typeof child === "object" && child !== null)
      yield* walk(document, { schema: child, file: base.file, pointer: `${base.pointer}${step}` }, at, set, within);
  };
  if (typeof schema.$ref === "string") {
    const target = follow(document, here, schema.$ref);
    if (target) yield* walk(document, target, value, put, within);
  }
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const)
    for (const [index, part] of ((schema[keyword] as Schema[] | undefined) ?? []).entries())
      yield* inner(part, `/${keyword}/${index}`, value, put);
  for (const keyword of ["then", "else"] as const) yield* inner(schema[keyword] as Schema, `/${keyword}`, value, put);

  for (const [keyword, changed, of] of changes(schema, value)) {
    const whole = put(changed);
    const name = `${file.replace(/^messages\/|\.json$/g, "")}${pointer}/${keyword}${of}`;
    if (whole !== undefined) yield { value: whole, keyword, at: `${key}/${keyword}`, name };
  }
  if (Array.isArray(value)) {
    const items = schema.items as Schema | undefined;
    if (value.length > 0)
      yield* inner(items, "/items", value[0] as Json, (changed) =>
        put(changed === undefined ? undefined : [changed, ...(value.slice(1) as Json[])]),
      );
    return;
  }
  if (value !== undefined && !isObject(value)) return;
  const object = (value ?? {}) as Readonly<Record<string, Json>>;
  // What is absent may be put in, but not into what is absent itself.
  if (value === undefined) return;
  for (const [name, child] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}))
    yield* inner(child, `/properties/${escapeStep(name)}`, object[name], (changed) =>
      changed === undefined ? undefined : put({ ...object, [name]: changed }),
    );
}

/** Values that may break one keyword of a schema: the keyword, the changed value, and what tells several of one keyword apart. */
function* changes(schema: SchemaObject, value: Json | undefined): Generator<[string, Json, string]> {
  const has = (keyword: string) => schema[keyword] !== undefined;
  const text = typeof value === "string" ? value : "text";
  const object = isObject(value) ? (value as Readonly<Record<string, Json>>) : undefined;
  const list = Array.isArray(value) ? (value as readonly Json[]) : undefined;
  for (const keyword of ["type", "enum", "const", "not", "anyOf", "oneOf"])
    if (has(keyword)) for (const other of [...OTHERS, `${text} mutated`]) yield [keyword, other, ""];
  if (object)
    for (const name of (schema.required as string[] | undefined) ?? []) {
      const { [name]: _, ...rest } = object;
      if (name in object) yield ["required", rest, `/${name}`];
    }
  if (has("minLength")) {
    const least = Number(schema.minLength);
    for (const short of [text.slice(0, least - 1), "".padEnd(least - 1, "a")]) yield ["minLength", short, ""];
  }
  if (has("maxLength")) yield ["maxLength", text.padEnd(Number(schema.maxLength) + 1, "a"), ""];
  for (const keyword of ["pattern", "format"])
    if (has(keyword))
      for (const bad of ["not this!", `${text}!`, `!${text}`, `${text}\n`, "-", ""]) yield [keyword, bad, ""];
  for (const [keyword, off] of Object.entries({
    minimum: -1,
    exclusiveMinimum: 0,
    maximum: 1,
    exclusiveMaximum: 0,
    multipleOf: 0.5,
  }))
    if (has(keyword)) yield [keyword, Number(schema[keyword]) + off, ""];
  if (has("minItems"))
    yield ["minItems", (list ?? []).slice(0, Math.max(0, Number(schema.minItems) - 1)) as Json[], ""];
  if (list && has("maxItems") && list.length > 0)
    yield ["maxItems", Array.from({ length: Number(schema.maxItems) + 1 }, () => list[0]!), ""];
  if (list && has("uniqueItems") && list.length > 0) yield ["uniqueItems", [list[0]!, ...list], ""];
  if (list && has("contains")) yield ["contains", [], ""];
  if (object)
    for (const keyword of ["additionalProperties", "unevaluatedProperties", "propertyNames", "maxProperties"])
      if (has(keyword))
        for (const other of OTHERS) {
          const many = keyword === "maxProperties" ? Number(schema.maxProperties) + 1 : 1;
          const more = Array.from({ length: many }, (_, at) => [`parlance mutated ${at}`, other] as const);
          yield [keyword, { ...object, ...Object.fromEntries(more) }, ""];
        }
  if (object && has("minProperties")) yield ["minProperties", {}, ""];
  if (object && has("dependentRequired"))
    for (const needed of Object.values(schema.dependentRequired as Record<string, string[]>).flat()) {
      const { [needed]: _, ...rest } = object;
      yield ["dependentRequired", rest, `/${needed}`];
    }
}

function follow(document: ContractDocument, { schema, file }: Here, ref: string): Here | undefined {
  const [path, fragment = ""] = ref.split("#") as [string, string?];
  const base = (Object.values(document.schemas).find((one) => String(one.$id).endsWith(`/${file}`))?.$id ??
    schema.$id) as string;
  const id = path === "" ? base : new URL(path, `parlance:${base}`).pathname;
  const found = Object.entries(document.schemas).find(([, one]) => one.$id === id);
  if (!found) return undefined;
  const target = valueAt(found[1], parseFragment(fragment));
  if (!isObject(target)) return undefined;
  return { schema: target as SchemaObject, file: document.files[found[0]]!, pointer: fragment };
}

/**
 * The mutants of a form: for each keyword place the first change that the contract refuses, and would accept without the keyword. Where two
 * keywords refuse the same value, neither is proved by it, so it is left out.
 */
export async function mutantsOf(
  samples: Samples,
  title: string,
  examples: readonly Json[],
  lenient: Lenient,
  refused: (samples: Samples, value: Json) => boolean,
): Promise<Mutant[]> {
  const found = new Map<string, Mutant>();
  for (const example of examples)
    for (const candidate of candidates(samples.document, title, example)) {
      if (found.has(candidate.name) || !refused(samples, candidate.value)) continue;
      const other = await lenient(candidate.keyword);
      if (!refused(other, candidate.value)) found.set(candidate.name, candidate);
    }
  return [...found.values()];
}

/** The mutants of the messages that one side sends on a stream or channel, with the names of the messages. */
export async function messageMutants(
  samples: Samples,
  lenient: Lenient,
  call: string,
  side: Side,
): Promise<(Mutant & { readonly type: string })[]> {
  const found: (Mutant & { readonly type: string })[] = [];
  for (const type of samples.names(call, side)) {
    const title = samples.contract.messages[type]!.schema;
    const examples = samples.examples(title).map(({ value }) => value);
    const refused = (one: Samples, value: Json) => isFlawed(one, call, side, type, value);
    for (const mutant of await mutantsOf(samples, title, examples, lenient, refused)) found.push({ ...mutant, type });
  }
  return found;
}

/** The mutants of a method's params. What breaks the frame around them has cases of its own. */
export async function paramsMutants(
  samples: Samples,
  lenient: Lenient,
  call: string,
  side: Side,
  method: string,
): Promise<Mutant[]> {
  const { params } = samples.contract.methods![method]!;
  if (params === undefined) return [];
  const frame = samples.examples(samples.contract.messages[method]!.schema)[0]!.value as Readonly<Record<string, Json>>;
  const examples = samples.examples(params).map(({ value }) => value);
  const found = await mutantsOf(samples, params, examples, lenient, (one, value) =>
    isFlawed(one, call, side, method, { ...frame, params: value }),
  );
  return found.map((mutant) => ({ ...mutant, value: { ...frame, params: mutant.value } }));
}

/** Whether a message breaks its schema; one that is another message, or unknown, does not. */
function isFlawed(samples: Samples, call: string, side: Side, type: string, value: Json): boolean {
  // A frame of a channel has no event name.
  const event = samples.contract.channels[call] ? undefined : type;
  try {
    samples.codec(call, side).decode({ event, data: JSON.stringify(value) });
    return false;
  } catch (error) {
    if (error instanceof Violation) return error.code === "schema";
    throw error;
  }
}

/** The contract without a keyword: what a peer that does not check it goes by. */
export type Lenient = (keyword: string) => Promise<Samples>;

export function lenientSamples(document: ContractDocument, read: ValueOf): Lenient {
  const known = new Map<string, Promise<Samples>>();
  return (keyword) => {
    const made = known.get(keyword) ?? Samples.of(withoutKeyword(document, keyword), read);
    known.set(keyword, made);
    return made;
  };
}

/** The document as one reads it that does not know a keyword of JSON Schema. */
export function withoutKeyword(document: ContractDocument, keyword: string): ContractDocument {
  const strip = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(strip);
    if (!isObject(schema)) return schema;
    // A condition without one of its keywords would hold for more: a peer that does not know the keyword has no such rule.
    const isOpen = "if" in schema && JSON.stringify(strip(schema.if)) !== JSON.stringify(schema.if);
    const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
      if (isOpen && CONDITION.has(key)) return [];
      if (key === keyword || (key === "not" && keyword !== "not")) return [];
      if (key === "oneOf") return [["anyOf", strip(value)]];
      if (VALUES.has(key)) return [[key, value]];
      if (NAMED.has(key) && isObject(value)) return [[key, mapped(value, strip)]];
      return [[key, strip(value)]];
    });
    return Object.fromEntries(entries);
  };
  const schemas = mapped(document.schemas, strip) as Record<string, SchemaObject>;
  return { ...document, source: { ...document.source, ...stripParameters(document.source, keyword) }, schemas };
}

const CONDITION = new Set(["if", "then", "else"]);
/** Keywords whose value holds objects that are no schemas. */
const VALUES = new Set(["const", "enum", "examples", "default", "dependentRequired"]);
const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Parameters are schemas too, and beside their keywords say where they are. */
function stripParameters(source: ContractDocument["source"], keyword: string): Record<string, unknown> {
  const without = ({ [keyword]: _, ...rest }: Readonly<Record<string, unknown>>) => rest;
  const stripped = (call: { readonly parameters?: Readonly<Record<string, Readonly<Record<string, unknown>>>> }) =>
    call.parameters ? { ...call, parameters: mapped(call.parameters, without) } : call;
  const calls = (kind: "operations" | "channels") => mapped(source[kind] as Record<string, object>, stripped);
  return { operations: calls("operations"), channels: calls("channels") };
}

function mapped<T, U>(object: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
