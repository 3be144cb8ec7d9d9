import type { Json, Schema } from "@parlance/wire";
import { expect, test } from "vitest";
import { type Context, expression, print } from "../../src/generate/expression.js";
import { union, width } from "../../src/generate/literal.js";
import { deep, inside, lacks } from "../../src/generate/reading.js";
import { rules } from "../../src/generate/rules.js";

// The types and the rules of single schemas. Those of whole contracts are in `kept.test.ts`.

const context: Context = {
  refer: (ref) => (ref === "any" ? ["unknown"] : [ref]),
  find: (ref) => ({ schema: { enum: [ref] }, context }),
  declared: () => undefined,
  bare: "object",
  indent: "",
};
const typeOf = (schema: Schema) => print(expression(schema, context));

test.each<[Schema, string]>([
  [true, "unknown"],
  [false, "never"],
  [{}, "unknown"],
  [{ minLength: 1 }, "unknown"],
  [{ const: [1, "a", { b: null }] }, '[1, "a", { b: null }]'],
  [{ const: Number.POSITIVE_INFINITY as Json }, "number"],
  [{ enum: ["a", "b", "a"] }, '"a" | "b"'],
  [{ type: "integer" }, "number"],
  [{ type: ["integer", "number", "null"] }, "number | null"],
  [{ items: { type: "string" } }, "string[]"],
  [{ prefixItems: [{ type: "string" }] }, "[string?]"],
  [{ type: "array" }, "unknown[]"],
  [{ items: false }, "[]"],
  [{ prefixItems: [{ type: "string" }, { type: ["string", "null"] }], minItems: 1 }, "[string, (string | null)?]"],
  [{ prefixItems: [{ type: "string" }], minItems: 1, items: false }, "[string]"],
  [{ prefixItems: [], items: { enum: [1, 2] } }, "[...(1 | 2)[]]"],
  [{ properties: {} }, "object"],
  [{ patternProperties: { "^a": { type: "string" } } }, "{\n  [k: string]: string;\n}"],
  [{ patternProperties: { "^a": { type: "string" } }, additionalProperties: false }, "{\n  [k: string]: string;\n}"],
  [{ additionalProperties: { type: "string" } }, "{\n  [k: string]: string;\n}"],
  [{ additionalProperties: false }, "{\n  [k: string]: never;\n}"],
  [{ additionalProperties: true }, "object"],
  [{ properties: { a: {} }, additionalProperties: true }, "{\n  a?: unknown;\n  [k: string]: unknown;\n}"],
  [{ properties: { a: {} }, additionalProperties: false }, "{\n  a?: unknown;\n}"],
  [{ type: "object", required: ["b-c"] }, '{\n  "b-c": unknown;\n}'],
  [{ allOf: [{ type: "string" }, {}] }, "string"],
  [{ allOf: [{ type: "string" }, { $ref: "any" }] }, "string"],
  [{ allOf: [{ type: "string" }, false] }, "never"],
  [{ allOf: [{ type: ["string", "null"] }, { $ref: "A" }] }, "(string | null) & A"],
  [{ allOf: [{ $ref: "A" }, { $ref: "A" }] }, "A"],
  [{ anyOf: [{ type: "string" }, {}] }, "unknown"],
  [{ anyOf: [{ enum: ["a"] }, { type: "string" }] }, '"a" | (string & {})'],
  [{ oneOf: [{ $ref: "a" }, { type: "string" }] }, "a | (string & {})"],
  [{ oneOf: [{ const: 1 }, { type: "string" }] }, "1 | string"],
])("the type of %j is %s", (schema, type) => expect(typeOf(schema)).toBe(type));

test("a property of several types that do not fit on a line has a line for each", () => {
  const at = (length: number) => typeOf({ properties: { a: { enum: ["x".repeat(length), "b"] } }, required: ["a"] });
  // `  a: "x…" | "b";`
  const most = width - '  a: "" | "b";'.length;
  const [fits, breaks] = ["x".repeat(most), "x".repeat(most + 1)];
  expect(at(most)).toBe(`{\n  a: "${fits}" | "b";\n}`);
  expect(at(most + 1)).toBe(`{\n  a:\n    | "${breaks}"\n    | "b";\n}`);
  const one = { properties: { a: { const: breaks.repeat(2) } }, required: ["a"] };
  expect(typeOf(one)).toBe(`{\n  a: "${breaks.repeat(2)}";\n}`);
});

test("a union that is as long as a line stays on it", () => {
  const most = width - "export type A =  | B;".length;
  const long = "x".repeat(most);
  expect(union("A", [long, "B"])).toBe(`export type A = ${long} | B;`);
  expect(union("A", [`${long}x`, "B"])).toBe(`export type A =\n  | ${long}x\n  | B;`);
});

test.each<[Schema, Schema]>([
  [{ anyOf: [{ enum: ["a", "b"] }, { type: "string" }] }, { type: "string" }],
  [{ anyOf: [{ const: "a" }, { type: "string" }] }, { type: "string" }],
  // Not all of the values are allowed without the list.
  [{ anyOf: [{ enum: ["a", 1] }, { type: "string" }] }, { anyOf: [{ enum: ["a", 1] }, { type: "string" }] }],
  [
    { anyOf: [{ enum: ["a"] }, { type: "string", format: "uuid" }] },
    { anyOf: [{ enum: ["a"] }, { type: "string", format: "uuid" }] },
  ],
  [
    { minLength: 2, anyOf: [{ enum: ["ab"] }, { type: "string", minLength: 1 }] },
    { minLength: 2, anyOf: [{ type: "string", minLength: 1 }] },
  ],
  [
    { anyOf: [{ type: "string" }, { type: "number" }, { const: 1 }] },
    { anyOf: [{ type: "string" }, { type: "number" }] },
  ],
])("the rules of %j are %j", (schema, reduced) => expect(rules(schema)).toEqual(reduced));

test.each<[unknown, readonly string[], unknown]>([
  [{ a: { b: 1 } }, ["a", "b"], 1],
  [{ a: [{ b: 1 }] }, ["a", "0", "b"], 1],
  [{ a: 1 }, [], { a: 1 }],
  [{ a: { b: null } }, ["a", "b"], null],
  [{ a: null }, ["a", "b"], undefined],
  [{ a: "text" }, ["a", "length"], undefined],
  [{ a: {} }, ["a", "constructor"], undefined],
])("deep in %j at %j is %j", (value, path, found) =>
  expect(deep(value as Record<string, unknown>, ...path)).toEqual(found),
);

test("a value is changed where it is an object or a list, and a default applies where an object lacks a key", () => {
  const seen: unknown[] = [];
  const at = { object: {}, list: [], text: "a", nothing: null };
  for (const key of [...Object.keys(at), "toString", "missing"]) inside(at, key, (inner) => void seen.push(inner));
  expect(seen).toEqual([at.object, at.list]);
  expect([lacks(at, "text"), lacks(at, "toString"), lacks([] as never, "0")]).toEqual([false, true, false]);
});
