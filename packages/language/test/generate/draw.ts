import type { Json, SchemaObject } from "@parlance/wire";

/** A number below another, the same ones for the same seed. */
export type Random = (below: number) => number;

/** Mulberry32. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 4294967296) * below);
  };
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!;

/** Titles that hide something, end in a digit, or are ours. */
export const titles = (
  "OAuth2 Base64 Range Request Promise AsyncIterable Record Omit Object Array String Map Error Response Symbol Call Channel ServerChannel Checks " +
  "CallOptions ReopenOptions MessageStream ContractValue Session Sha256 X Text Readonly Function Date"
).split(" ");

const formats = (
  "date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uuid " +
  "uri-template json-pointer relative-json-pointer regex int32 int64 float double byte binary password moon-phase ticket"
).split(" ");
const names = ["a", "b", "kind", "two words", "x-y", "1st", "constructor", "toString", "é", 'q"q', "class", "$x", ""];
const values: readonly Json[] = [null, true, false, 0, -1, 1.5, 1e21, "", "a", "*/", "b\n", [], [1, "a"], {}, { a: 1 }];
const refs = [
  "part.json",
  "part.json#/$defs/leaf",
  "../shared/common.json",
  "#/$defs/own",
  "#/definitions/old",
  "#named",
];
refs.push("part.json#/$defs/tree", "part.json#mark", "#/$defs/own/properties/a", "../../common/far.json#/$defs/deep");

/** A schema of the vocabulary, and now and then of none. */
export function draw(random: Random, depth = 0): SchemaObject | boolean {
  const inner = () => draw(random, depth + 1);
  const some = (most: number) => Array.from({ length: 1 + random(most) }, inner);
  const kinds: (() => SchemaObject | boolean)[] = [
    () => ({ type: "string", ...maybe(random, { minLength: 1, maxLength: 3, pattern: "^[a-z*/]*$", default: "*/" }) }),
    () => ({ type: "string", format: pick(random, formats), description: "Ends */ here.\n@tag" }),
    () => ({
      type: pick(random, ["integer", "number"]),
      ...maybe(random, { minimum: -1, maximum: 2, multipleOf: 0.5 }),
    }),
    () => ({ type: "integer", format: "int64", exclusiveMinimum: -1 }),
    () => ({ enum: Array.from({ length: 1 + random(3) }, () => pick(random, values)).filter(distinct) }),
    () => ({ const: pick(random, values) }),
    () => ({ type: ["string", "null"], title: "Some Title", deprecated: true }),
    () => ({}),
    () => ({ type: "object" }),
    () => ({ $ref: pick(random, refs) }),
    () => ({
      $ref: pick(random, refs),
      description: "With a sibling.",
      ...maybe(random, { type: "object", minProperties: 1 }),
    }),
  ];
  const deep: (() => SchemaObject | boolean)[] = [
    () => object(random, inner),
    () => object(random, inner),
    () => ({ type: "array", items: inner(), ...maybe(random, { minItems: 1, maxItems: 3, uniqueItems: true }) }),
    () => ({ type: "array", prefixItems: some(3), ...maybe(random, { minItems: 1, items: false }) }),
    () => ({ prefixItems: some(2), items: inner() }),
    () => ({ type: "array", contains: inner(), ...maybe(random, { minContains: 1, maxContains: 2 }) }),
    () => ({ anyOf: some(3), ...maybe(random, { description: "One of them." }) }),
    () => ({ oneOf: some(3), discriminator: { propertyName: "kind" } }),
    () => ({ allOf: some(3), ...maybe(random, { unevaluatedProperties: false }) }),
    () => ({ anyOf: [{ enum: ["read", "write"] }, { type: "string" }] }),
    () => ({ not: inner(), "x-note": { any: ["thing"] } }),
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    () => ({ if: inner(), then: inner(), ...maybe(random, { else: inner() }) }),
    () => ({
      type: "object",
      properties: { a: inner() },
      dependentRequired: { a: ["b"] },
      propertyNames: { maxLength: 9 },
    }),
    () => ({ type: "object", dependentSchemas: { a: inner() }, minProperties: 1 }),
    () => ({
      type: "object",
      patternProperties: { "^x-": inner(), "[0-9]": inner() },
      ...maybe(random, { additionalProperties: false }),
    }),
    () => ({ type: "object", additionalProperties: inner() }),
    () => ({ type: "array", prefixItems: some(2), unevaluatedItems: false }),
    () => ({ title: pick(random, titles), ...object(random, inner) }),
    () => random(2) === 0,
    () => mistake(random),
  ];
  return pick(random, depth > 2 ? kinds : [...kinds, ...deep, ...deep])();
}

const distinct = (value: Json, index: number, all: readonly Json[]) =>
  all.findIndex((one) => JSON.stringify(one) === JSON.stringify(value)) === index;

function object(random: Random, inner: () => SchemaObject | boolean): SchemaObject {
  const own = Array.from({ length: 1 + random(3) }, () => pick(random, names));
  const properties = Object.fromEntries(own.map((name) => [name, inner()]));
  return {
    type: "object",
    properties,
    ...maybe(random, { required: [own[0]!], additionalProperties: random(2) === 0, unevaluatedProperties: false }),
  };
}

/** Some of the keywords. */
function maybe(random: Random, keywords: Readonly<Record<string, unknown>>): SchemaObject {
  return Object.fromEntries(Object.entries(keywords).filter(() => random(2) === 0));
}

/** What people write and a contract does not have. */
function mistake(random: Random): SchemaObject {
  return pick<SchemaObject>(random, [
    { type: "string", minimum: 1 },
    { type: "strin" },
    { nullable: true, type: "string" },
    { type: "string", format: "moonphase" },
    { type: "string", pattern: "(" },
    { type: "array", items: [{ type: "string" }] },
    { $ref: "nothing.json" },
    { $ref: "#/$defs/none" },
    { allOf: [{ $ref: "#" }] },
    { enum: [] },
    { type: "object", properties: { a: true }, required: ["b"] },
    { $ref: "drawn.json" },
    { title: "Drawn", type: "object", properties: {} },
    { minLength: "1" },
    { tsType: "any" },
  ]);
}

/** The other schemas that a drawn one refers to. */
export const others: Readonly<Record<string, SchemaObject>> = {
  "messages/part.json": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Part",
    type: "object",
    properties: { leaf: { $ref: "#/$defs/leaf" }, mark: { $ref: "#mark" } },
    $defs: {
      leaf: { type: ["string", "integer"], "x-leaf": true },
      tree: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/tree" } } } },
      marked: { $anchor: "mark", title: "Marked", enum: ["one", "two"] },
    },
  },
  "shared/common.json": {
    title: "Common",
    type: "object",
    properties: { id: { type: "string" }, far: { $ref: "../../common/far.json" }, near: { $ref: "near.json" } },
  },
  "shared/near.json": { title: "Near", type: "integer" },
  "../common/far.json": {
    title: "Far",
    type: "object",
    properties: { deep: { $ref: "#/$defs/deep" }, again: { $ref: "far.json" } },
    $defs: { deep: { type: "array", items: { type: "number" } } },
  },
};

/** Definitions that a drawn schema may refer to in its own file. */
export const definitions = {
  $defs: { own: { type: "object", properties: { a: { type: "string" }, self: { $ref: "#/$defs/own" } } } },
  definitions: { old: { type: "integer" } },
} as const;
