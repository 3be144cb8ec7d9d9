import type { Json, Schema } from "@parlance/wire";
import { pick, type Random } from "../generate/draw.js";

// Schemas of the language, and changes of them such as people make. Every draw is the same for the same seed.

/** A schema that a test builds and changes. */
// biome-ignore lint/suspicious/noExplicitAny: the changes reach into every form of schema
export type Loose = any;

const names = ["a", "b", "c", "x-d", "kind"];
const patterns = ["^[a-z]+$", "^[a-z]{1,3}$", "^a", "b$", "^[0-9]+$", "^T-[0-9]+$", "^T-[0-9]{3}$", "^(a|b)+$", ""];
const formats = ["date", "date-time", "uuid", "email", "ipv4", "uri", "ticket", "phase"];
const scalars: readonly Json[] = ["a", "b", "abc", "T-123", "", 0, 1, 2, 5, -1, 1.5, true, false, null];

const some = (random: Random, keywords: Loose): Loose =>
  Object.fromEntries(Object.entries(keywords).filter(() => random(3) === 0));

const string = (random: Random): Loose => ({
  type: "string",
  ...some(random, { minLength: random(3), maxLength: 2 + random(4), pattern: pick(random, patterns) }),
  ...(random(6) === 0 && { format: pick(random, formats) }),
});

const number = (random: Random): Loose => ({
  type: pick(random, ["integer", "number"]),
  ...some(random, { minimum: random(4) - 2, maximum: 3 + random(9), multipleOf: pick(random, [1, 2, 3, 5, 10, 0.5]) }),
  ...some(random, { exclusiveMinimum: -random(5), exclusiveMaximum: 5 + random(9) }),
});

const listed = (random: Random): Loose => ({ enum: [...new Set([0, 1, 2].map(() => pick(random, scalars)))] });

function array(random: Random, depth: number): Loose {
  const tuple = random(4) === 0;
  return {
    type: "array",
    ...(tuple && { prefixItems: [schemaOf(random, depth + 1), schemaOf(random, depth + 1)] }),
    ...((!tuple || random(2) === 0) && { items: random(5) === 0 ? random(2) === 0 : schemaOf(random, depth + 1) }),
    ...some(random, { minItems: random(3), maxItems: 1 + random(4) }),
    ...(random(8) === 0 && { uniqueItems: true }),
    ...(random(10) === 0 && { contains: schemaOf(random, depth + 2) }),
  };
}

function object(random: Random, depth: number, kind?: string): Loose {
  const own = names.filter((name) => random(2) === 0 && name !== "kind");
  const properties = Object.fromEntries(own.map((name) => [name, schemaOf(random, depth + 1)]));
  return {
    type: "object",
    ...(random(12) > 0 || kind ? { properties: { ...(kind && { kind: { const: kind } }), ...properties } } : {}),
    required: [...(kind ? ["kind"] : []), ...own.filter(() => random(2) === 0)],
    ...(random(4) === 0 && { additionalProperties: random(2) === 0 ? false : schemaOf(random, depth + 2) }),
    ...(random(12) === 0 && { patternProperties: { "^x-": schemaOf(random, depth + 2) } }),
    ...(random(16) === 0 && { minProperties: random(3) }),
    ...(random(16) === 0 && { maxProperties: 1 + random(3) }),
    ...(random(20) === 0 && { propertyNames: { maxLength: 3 } }),
    ...(random(16) === 0 && { dependentRequired: { a: ["b"] } }),
    ...(random(20) === 0 && { dependentSchemas: { a: schemaOf(random, depth + 2) } }),
  };
}

function union(random: Random, depth: number): Loose {
  const word = pick(random, ["anyOf", "oneOf"]);
  if (random(2) === 0) return { [word]: ["one", "two", "three"].map((kind) => object(random, depth + 1, kind)) };
  return { [word]: Array.from({ length: 2 + random(2) }, () => schemaOf(random, depth + 1)) };
}

export function schemaOf(random: Random, depth = 0): Schema {
  const leaves: (() => Schema)[] = [
    () => string(random),
    () => string(random),
    () => number(random),
    () => number(random),
    () => listed(random),
    () => ({ const: pick(random, scalars) }),
    () => ({ type: "boolean" }),
    () => ({ type: ["string", "null"] }),
    () => ({ $ref: `#/$defs/${pick(random, ["leaf", "tree", "thing"])}` }),
  ];
  const deep: (() => Schema)[] = [
    () => object(random, depth),
    () => object(random, depth),
    () => object(random, depth),
    () => array(random, depth),
    () => union(random, depth),
    () => ({ allOf: [object(random, depth + 1), object(random, depth + 1)] }),
    () => ({
      ...object(random, depth),
      allOf: [{ $ref: "#/$defs/thing" }],
      ...(random(3) === 0 && { unevaluatedProperties: false }),
    }),
    () => ({ ...object(random, depth), not: { required: [pick(random, names)] } }),
    () => ({ ...string(random), not: { const: "a" } }),
    () => ({
      ...object(random, depth, pick(random, ["one", "two"])),
      if: { properties: { a: { const: 1 } } },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: { required: ["b"] },
    }),
  ];
  return pick(random, depth >= 3 ? leaves : depth === 0 ? deep : [...leaves, ...deep])();
}

/** A whole schema, with definitions. */
export function rootOf(random: Random): Loose {
  const tree = {
    type: "object",
    properties: { a: { $ref: "#/$defs/leaf" }, b: { type: "array", items: { $ref: "#/$defs/tree" } } },
  };
  return structuredClone({
    title: "Drawn",
    ...(schemaOf(random) as object),
    $defs: { leaf: pick(random, [string, number, listed])(random), tree, thing: object(random, 2) },
  });
}

type Edit = (schema: Loose, random: Random) => boolean;

const bound =
  (word: string, step: number): Edit =>
  (schema) => {
    if (typeof schema[word] !== "number") return false;
    schema[word] = Math.max(schema[word] + step, /Len|Items|Prop/.test(word) ? 0 : Number.NEGATIVE_INFINITY);
    return true;
  };
const set =
  (word: string, value: (random: Random, schema: Loose) => Loose, fits: (schema: Loose) => boolean): Edit =>
  (schema, random) => {
    if (!fits(schema)) return false;
    schema[word] = value(random, schema);
    return true;
  };
const drop =
  (word: string): Edit =>
  (schema) =>
    word in schema && delete schema[word];
const is = (type: string) => (schema: Loose) => schema.type === type;
const isNumber = (schema: Loose) => ["number", "integer"].includes(schema.type);
const listOf = (schema: Loose): Loose[] | undefined => schema.anyOf ?? schema.oneOf;
const bounds =
  "minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties maxProperties".split(
    " ",
  );
const droppable = [
  ...bounds,
  ..."pattern format multipleOf uniqueItems contains additionalProperties patternProperties propertyNames dependentRequired".split(
    " ",
  ),
  ..."dependentSchemas unevaluatedProperties not if items prefixItems type enum const allOf required".split(" "),
];

/** Every kind of change that the language permits, by name. Each changes a schema in place, and says whether it could. */
export const CHANGES: Readonly<Record<string, Edit>> = {
  ...Object.fromEntries(
    bounds.flatMap((word) => [
      [`raise ${word}`, bound(word, 1)],
      [`lower ${word}`, bound(word, -1)],
    ]),
  ),
  ...Object.fromEntries(droppable.map((word) => [`drop ${word}`, drop(word)])),
  "add minLength": set("minLength", () => 1, is("string")),
  "add maxLength": set("maxLength", () => 4, is("string")),
  "set pattern": set("pattern", (random) => pick(random, patterns), is("string")),
  "set format": set("format", (random) => pick(random, formats), is("string")),
  "add minimum": set("minimum", (random) => random(5), isNumber),
  "add exclusiveMaximum": set("exclusiveMaximum", (random) => 5 + random(5), isNumber),
  "set multipleOf": set("multipleOf", (random) => pick(random, [1, 2, 4, 6, 10, 0.1, 0.5]), isNumber),
  "integer to number": set("type", () => "number", is("integer")),
  "number to integer": set("type", () => "integer", is("number")),
  "add null": set(
    "type",
    (_, schema) => [schema.type, "null"],
    (schema) => typeof schema.type === "string" && schema.type !== "null",
  ),
  "drop null": set(
    "type",
    () => "string",
    (schema) => Array.isArray(schema.type),
  ),
  "add a value": set(
    "enum",
    (random, { enum: list }) => [...new Set([...list, pick(random, scalars)])],
    (schema) => schema.enum,
  ),
  "drop a value": set(
    "enum",
    (_, { enum: list }) => list.slice(1),
    (schema) => schema.enum?.length > 1,
  ),
  "reorder values": set(
    "enum",
    (_, { enum: list }) => [...list].reverse(),
    (schema) => schema.enum,
  ),
  "set const": set(
    "const",
    (random) => pick(random, scalars),
    (schema) => "const" in schema,
  ),
  "add enum": set("enum", () => ["a", "b"], is("string")),
  "add a property": (schema, random) => {
    if (!schema.properties) return false;
    schema.properties[pick(random, ["d", "a", "x-e"])] = schemaOf(random, 3);
    return true;
  },
  "add a required property": (schema, random) => {
    if (!schema.properties) return false;
    schema.properties.e = schemaOf(random, 3);
    schema.required = [...(schema.required ?? []), "e"];
    return true;
  },
  "drop a property": (schema, random) => {
    const own = Object.keys(schema.properties ?? {});
    if (own.length === 0) return false;
    const name = pick(random, own);
    delete schema.properties[name];
    if (schema.required) schema.required = schema.required.filter((one: string) => one !== name);
    return true;
  },
  "require a property": (schema, random) => {
    const free = Object.keys(schema.properties ?? {}).filter((name) => !schema.required?.includes(name));
    if (free.length === 0) return false;
    schema.required = [...(schema.required ?? []), pick(random, free)];
    return true;
  },
  "free a property": set(
    "required",
    (_, { required }) => required.slice(1),
    (schema) => schema.required?.length > 0,
  ),
  "close an object": set("additionalProperties", () => false, is("object")),
  "open an object": set("additionalProperties", () => true, is("object")),
  "type other properties": set("additionalProperties", (random) => schemaOf(random, 3), is("object")),
  "add patternProperties": set("patternProperties", (random) => ({ "^x-": schemaOf(random, 3) }), is("object")),
  "add propertyNames": set("propertyNames", () => ({ pattern: "^[a-z-]+$" }), is("object")),
  "add dependentRequired": set("dependentRequired", () => ({ a: ["c"] }), is("object")),
  "add dependentSchemas": set("dependentSchemas", () => ({ b: { required: ["c"] } }), is("object")),
  "add minProperties": set("minProperties", () => 1, is("object")),
  "set items": set("items", (random) => schemaOf(random, 3), is("array")),
  "close a tuple": set("items", () => false, is("array")),
  "grow a tuple": set(
    "prefixItems",
    (_, { prefixItems, items }) => [...(prefixItems ?? []), items ?? true],
    is("array"),
  ),
  "cut a tuple": set(
    "prefixItems",
    (_, { prefixItems }) => prefixItems.slice(0, 1),
    (schema) => schema.prefixItems?.length > 1,
  ),
  "add uniqueItems": set("uniqueItems", () => true, is("array")),
  "add contains": set("contains", () => ({ type: "string" }), is("array")),
  "add minItems": set("minItems", () => 1, is("array")),
  "add an alternative": (schema, random) => {
    const list = listOf(schema);
    list?.splice(random(list.length + 1), 0, random(2) === 0 ? object(random, 3, "four") : schemaOf(random, 3));
    return list !== undefined;
  },
  "drop an alternative": (schema, random) => {
    const list = listOf(schema);
    if (!list || list.length < 2) return false;
    list.splice(random(list.length), 1);
    return true;
  },
  "reorder alternatives": (schema) => listOf(schema)?.reverse() !== undefined,
  "anyOf to oneOf": (schema) => rename(schema, "anyOf", "oneOf"),
  "oneOf to anyOf": (schema) => rename(schema, "oneOf", "anyOf"),
  "wrap in anyOf with null": (schema) => wrap(schema, (inner) => ({ anyOf: [inner, { type: "null" }] })),
  "wrap in oneOf alone": (schema) => wrap(schema, (inner) => ({ oneOf: [inner] })),
  "wrap in allOf": (schema) => wrap(schema, (inner) => ({ allOf: [inner] })),
  "wrap in a union with another": (schema, random) => {
    const word = pick(random, ["anyOf", "oneOf"]);
    return wrap(schema, (inner) => ({ [word]: [schemaOf(random, 3), inner] }));
  },
  "allOf adds a bound": set(
    "allOf",
    (_, { allOf = [] }) => [...allOf, { properties: { a: { maximum: 3 } } }],
    is("object"),
  ),
  "add not": set(
    "not",
    (random) => ({ const: pick(random, scalars) }),
    () => true,
  ),
  "add if": (schema) => {
    if (schema.type !== "object" || "if" in schema) return false;
    schema.if = { required: ["a"] };
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    schema.then = { properties: { b: { type: "integer" } } };
    return true;
  },
  "replace it": (schema, random) => {
    for (const key of Object.keys(schema)) if (key !== "$defs" && key !== "title") delete schema[key];
    Object.assign(schema, schemaOf(random, 3));
    return true;
  },
  "allow anything": (schema) => wrap(schema, () => ({})),
  "change prose": (schema) => Object.assign(schema, { description: "Other words.", $comment: "c" }) !== undefined,
};

function rename(schema: Loose, from: string, to: string): boolean {
  if (!(from in schema) || to in schema) return false;
  schema[to] = schema[from];
  return delete schema[from];
}

function wrap(schema: Loose, around: (inner: Loose) => Loose): boolean {
  const { $defs, title, ...inner } = schema;
  for (const key of Object.keys(inner)) delete schema[key];
  Object.assign(schema, around(inner));
  return true;
}

/** Changes of a whole schema: names and places of its definitions. */
export const MOVES: Readonly<Record<string, (root: Loose) => Loose>> = {
  "rename definitions": (root) =>
    JSON.parse(JSON.stringify(root).replaceAll("#/$defs/leaf", "#/$defs/renamed").replace('"leaf":', '"renamed":')),
  "move $defs to definitions": (root) => JSON.parse(JSON.stringify(root).replaceAll("$defs", "definitions")),
  "write a reference out": (root) => {
    const inline = (value: Loose): Loose => {
      if (typeof value !== "object" || value === null) return value;
      if (value.$ref === "#/$defs/leaf") return root.$defs.leaf;
      if (Array.isArray(value)) return value.map(inline);
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inline(one)]));
    };
    return inline(root);
  },
};

/** Every schema in a schema that a change can be made to. */
export function placesOf(schema: Loose): Loose[] {
  if (typeof schema !== "object" || schema === null) return [];
  const lists = ["allOf", "anyOf", "oneOf", "prefixItems"].flatMap((word) => schema[word] ?? []);
  const ones = ["items", "additionalProperties", "contains"].flatMap((word) => schema[word] ?? []);
  const records = ["properties", "patternProperties", "$defs"].flatMap((word) => Object.values(schema[word] ?? {}));
  return [schema, ...[...lists, ...ones, ...records].flatMap(placesOf)];
}

/** Whether a definition consists of itself; or `contains` is beside `prefixItems`, where ajv accepts an empty array. */
const isUnusable = (root: Loose) =>
  isEndless(root) || placesOf(root).some((schema) => "contains" in schema && "prefixItems" in schema);

function isEndless(root: Loose): boolean {
  const beside = (schema: Loose): string[] =>
    typeof schema !== "object"
      ? []
      : [
          schema.$ref ?? [],
          ...["allOf", "anyOf", "oneOf"].flatMap((word) => schema[word] ?? []).map(beside),
          ...Object.values(schema.dependentSchemas ?? {}),
          schema.not,
          schema.then,
        ]
          .flatMap((one) => (typeof one === "object" && !Array.isArray(one) ? beside(one) : (one ?? [])))
          .flat(9);
  const reaches = (name: string, seen: string[]): boolean =>
    seen.includes(name) || beside(root.$defs[name]).some((ref) => reaches(ref.split("/").at(-1)!, [...seen, name]));
  return Object.keys(root.$defs).some((name) => reaches(name, []));
}

export interface Pair {
  readonly change: string;
  readonly old: Loose;
  readonly now: Loose;
}

/** A schema, and the same with a change of a kind. */
export function pairOf(random: Random, change: string): Pair {
  for (;;) {
    const old = rootOf(random);
    if (isUnusable(old)) continue;
    if (change in MOVES) return { change, old, now: MOVES[change]!(structuredClone(old)) };
    const now = structuredClone(old);
    const used = JSON.stringify({ ...old, $defs: {} });
    for (const name of ["leaf", "thing", "tree"])
      if (!used.includes(`$defs/${name}"`) && !(name === "leaf" && used.includes("$defs/tree"))) delete now.$defs[name];
    const places = placesOf(now);
    now.$defs = { ...structuredClone(old.$defs), ...now.$defs };
    for (let tries = 0; tries < 10; tries++)
      if (CHANGES[change]!(pick(random, places), random) && !isUnusable(now)) return { change, old, now };
  }
}
