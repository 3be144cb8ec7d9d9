import type { Json } from "@parlance/wire";
import { pick, type Random } from "../generate/draw.js";
import type { Loose } from "./pairs.js";

const texts = [
  "",
  "a",
  "b",
  "ab",
  "abc",
  "aaaa",
  "abcdef",
  "0",
  "12",
  "T-1",
  "T-123",
  "T-1234",
  "é",
  "2026-01-31",
  "a b",
  "x-d",
  "kind",
  "one",
];
const more = ["2026-01-31T10:20:30Z", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "a@b.co", "127.0.0.1", "https://a.b/c"];
const numbers = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, -1, -2, -3, -5, 0.5, 1.5, 2.5, 0.1, 0.3, 4.5, 100, 9.75, -0.5,
];
const names = ["a", "b", "c", "d", "e", "x-d", "x-e", "kind", "other", "long-name", "A"];

/** A value that often has the form of a schema, and seldom not. */
export function drawValue(random: Random, schema: Loose, root: Loose, depth = 0): Json {
  if (typeof schema === "boolean" || depth > 6) return junk(random, depth);
  if (schema.$ref)
    return drawValue(
      random,
      schema.$ref
        .split("/")
        .slice(1)
        .reduce((at: Loose, step: string) => at[step], root),
      root,
      depth + 1,
    );
  if (random(60) === 0) return junk(random, depth);
  const inner = (one: Loose) => drawValue(random, one, root, depth + 1);
  const union = schema.anyOf ?? schema.oneOf;
  const parts = [
    ...(schema.allOf ?? []),
    ...(union ? [pick(random, union as Loose[])] : []),
    ...(schema.then ? [schema.then] : []),
  ];
  const beside = parts.map((one) => drawValue(random, one, root, depth));
  if (parts.length > 0 && !schema.properties && !(schema.type && !parts.length)) return merged(beside);
  if ("const" in schema) return schema.const;
  if (schema.enum) return pick(random, schema.enum as Json[]);
  const type = pick(random, [schema.type ?? guess(random, schema)].flat() as string[]);
  if (type === "object") return merged([...beside, objectOf(random, schema, inner)]);
  if (type === "array") return arrayOf(random, schema, inner);
  if (type === "string") return textOf(random, schema);
  if (type === "integer" || type === "number") return numberOf(random, schema, type);
  return type === "boolean" ? random(2) === 0 : null;
}

const guess = (random: Random, schema: Loose) =>
  schema.properties || schema.required
    ? "object"
    : schema.items
      ? "array"
      : pick(random, ["string", "integer", "null", "object", "array", "boolean", "number"]);

const isObject = (value: Json) => typeof value === "object" && value !== null && !Array.isArray(value);
const merged = (values: Json[]): Json =>
  values.every(isObject) ? Object.assign({}, ...(values as object[])) : values[0]!;

function junk(random: Random, depth: number): Json {
  return pick<() => Json>(random, [
    () => null,
    () => random(2) === 0,
    () => pick(random, numbers),
    () => pick(random, texts),
    () => (depth > 4 ? [] : Array.from({ length: random(3) }, () => junk(random, depth + 2))),
    () =>
      depth > 4
        ? {}
        : Object.fromEntries(Array.from({ length: random(3) }, () => [pick(random, names), junk(random, depth + 2)])),
  ])();
}

function objectOf(random: Random, schema: Loose, inner: (one: Loose) => Json): Json {
  const value: Record<string, Json> = {};
  for (const [name, one] of Object.entries(schema.properties ?? {}))
    if (schema.required?.includes(name) ? random(30) > 0 : random(2) === 0) value[name] = inner(one);
  for (const name of schema.required ?? []) if (!(name in value) && random(30) > 0) value[name] = inner(true);
  for (const one of Object.values(schema.patternProperties ?? {}))
    if (random(3) === 0) value[pick(random, ["x-d", "x-e"])] = inner(one);
  const others = schema.additionalProperties;
  if (others !== false && random(others === undefined && schema.properties ? 8 : 2) === 0)
    value[pick(random, names)] = inner(others ?? true);
  return value;
}

function arrayOf(random: Random, schema: Loose, inner: (one: Loose) => Json): Json {
  const length = (schema.minItems ?? 0) + random(4);
  const value = Array.from({ length }, (_, index) => inner(schema.prefixItems?.[index] ?? schema.items ?? true));
  if (schema.contains !== undefined && random(2) === 0) value[random(value.length + 1)] = inner(schema.contains);
  if (random(6) === 0 && value.length > 1) value[1] = value[0]!;
  return value;
}

function textOf(random: Random, { minLength: min, maxLength: max }: Loose): string {
  const length = pick(random, [min, max, (max ?? 0) + 1, Math.max((min ?? 1) - 1, 0), random(5)]) ?? random(5);
  const made = () => Array.from({ length }, () => pick(random, ["a", "b", "c", "0", "1", "T", "-"])).join("");
  return pick(random, [
    () => pick(random, texts),
    made,
    () => "abc".repeat(3).slice(0, length),
    () => pick(random, more),
  ])();
}

function numberOf(random: Random, schema: Loose, type: string): number {
  const ends = [schema.minimum, schema.maximum, schema.exclusiveMinimum, schema.exclusiveMaximum].filter(
    (end) => end !== undefined,
  );
  const value =
    ends.length > 0 && random(2) === 0
      ? pick(random, ends) + pick(random, [0, 1, -1, 0.5, 0.25])
      : pick(random, numbers);
  const stepped =
    schema.multipleOf && random(4) > 0 ? Math.round(value / schema.multipleOf) * schema.multipleOf : value;
  return type === "integer" && random(20) > 0 ? Math.round(stepped) : stepped;
}
