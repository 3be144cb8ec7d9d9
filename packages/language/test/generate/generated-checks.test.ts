import { generate } from "@parlance/language/generate";
import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect, test } from "vitest";
import { checksIn, expectKnown } from "./checks-in.js";
import { named } from "./contracts.js";
import { contract, object } from "./own-contract.js";

test("nothing of this machine and no runtime of ajv is in a check", async () => {
  for (const [, document] of named)
    for (const [file, text] of Object.entries(await generate(document)))
      if (/(validators|accepts)\.ts$/.test(file))
        expect(text).not.toMatch(/node_modules|[^'"]\brequire\(|new Function|eval\(/);
});

const keywords: readonly Schema[] = [
  ...["string", "boolean", "number", "integer", "null", "object", "array"].map((type) => ({ type })),
  { type: ["string", "null"] },
  { type: ["array", "string"], minItems: 1 },
  { const: "a" },
  { const: null },
  { const: { a: 1 } },
  { enum: ["a", 1, null] },
  { type: "string", enum: ["a", "ab"] },
  { type: "string", enum: ["a", 1] },
  { type: ["array", "string"], enum: ["a", [1]] },
  ...["minimum", "maximum", "exclusiveMinimum", "multipleOf"].map((keyword) => ({ type: "number", [keyword]: 1 })),
  ...["minLength", "maxLength"].map((keyword) => ({ type: "string", [keyword]: 2 })),
  { minLength: 2, minimum: 2, required: ["a"], minItems: 2 },
  { type: "string", pattern: "^.$" },
  { type: "string", format: "date" },
  { type: "object", properties: { a: { type: "string" }, b: true, "~/": { type: "null" } }, required: ["b", "c"] },
  { type: "object", properties: { a: true }, additionalProperties: { type: "number" } },
  { type: "object", properties: { a: true }, additionalProperties: false },
  { type: "object", properties: { a: false } },
  { type: "object", properties: { a: true, 1: { type: "string" } }, required: ["a"] },
  { type: "object", additionalProperties: { type: "number" }, propertyNames: { maxLength: 1 } },
  { type: "object", patternProperties: { "^a": { type: "number" } }, additionalProperties: { type: "string" } },
  { type: "object", dependentRequired: { a: ["b"] }, maxProperties: 2 },
  { type: "array", uniqueItems: true },
  { type: "array", prefixItems: [{ type: "string" }], minItems: 1, maxItems: 1 },
  { anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
  { oneOf: [{ type: "number" }, { type: "integer" }] },
  {
    allOf: [
      { type: "object", required: ["a"] },
      { type: "object", required: ["b"] },
    ],
  },
  { type: "number", not: { type: "integer" } },
  JSON.parse('{ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "number" } }'),
];

const someValues: readonly Json[] = [
  ...[
    null,
    true,
    0,
    1,
    1.5,
    -2,
    "",
    "a",
    "ab",
    "\u{1f600}",
    "\u{1f600}b",
    "2026-11-22",
    [],
    [1],
    ["a"],
    ["a", 1],
    ["a", "a"],
    [[1]],
  ],
  ...[
    {},
    { a: "a" },
    { a: 1 },
    { b: 1 },
    { b: 1, c: 1 },
    { a: 1, b: 1, c: 1 },
    { b: 1, c: 1, "~/": 0 },
    { ab: "a", x: "a" },
  ],
];

test("every keyword has the verdict that ajv gives it, and errors that ajv has too", async () => {
  const names = keywords.map((_, at) => `Word${"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 26]}${"xyz"[Math.floor(at / 26)]}`);
  const words = keywords.map((it, at): [string, SchemaObject] => [names[at]!, object(names[at]!, { it })]);
  const checks = await checksIn(await generate(contract(Object.fromEntries(words))));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv, { mode: "fast" });
  keywords.forEach((schema, at) => {
    const whole = ajv.compile(schema as AnySchema);
    const check = checks[names[at]!]!;
    for (const it of someValues) {
      const about = `${JSON.stringify(schema)} of ${JSON.stringify(it)}`;
      expect(check({ it }), about).toBe(whole(it));
      expectKnown(check.errors, whole(it) ? null : whole.errors, about, "/it");
    }
    expect(someValues.some((it) => whole(it)) && someValues.some((it) => !whole(it)), JSON.stringify(schema)).toBe(
      true,
    );
  });
});

test("schemas that refer to each other have checks", async () => {
  const leaf = object("Leaf", { branch: { $ref: "branch.json" } });
  const branch = object("Branch", { leaf: { $ref: "leaf.json" }, name: { type: "string" } });
  const read = { method: "GET", path: "/leaf", summary: "Read.", answer: { status: 200, json: "messages/leaf.json" } };
  const checks = await checksIn(await generate(contract({}, [leaf, branch], { operations: { read } })));
  const within = (name: Json) => ({ branch: { leaf: { branch: { name } } } });
  expect(checks.Leaf!(within("a"))).toBe(true);
  expect(checks.Leaf!(within(1))).toBe(false);
});

test("tuples, parts of a file, patterns of properties and a schema within itself have types and checks", async () => {
  const tree = {
    ...object("Tree", {
      label: { $ref: "#/$defs/Label" },
      children: { type: "array", items: { $ref: "tree.json" } },
      at: {
        type: "array",
        prefixItems: [{ type: "integer" }, { type: "integer" }],
        minItems: 2,
        items: false,
      },
      headers: { type: "object", patternProperties: { "^x-": { type: "string" } } },
      kind: { type: ["string", "null"], enum: ["leaf", null] },
    }),
    $defs: { Label: { type: "string", minLength: 2 } },
  };
  const word = object("Word", {
    tree: { description: "Where it grows.", allOf: [{ $ref: "tree.json" }] },
    label: { $ref: "tree.json#/$defs/Label" },
  });
  const files = await generate(contract({ word }, [tree]));
  const checks = await checksIn(files);
  expect(checks.Word!({ tree: { children: [{ at: [1, 2], kind: null, label: "ab" }], headers: { "x-a": "b" } } })).toBe(
    true,
  );
  for (const [tree, place] of [
    [{ children: [{ label: "a" }] }, "/tree/children/0/label"],
    [{ at: [1, "2"] }, "/tree/at/1"],
    [{ headers: { "x-a": 1 } }, "/tree/headers/x-a"],
    [{ kind: "root" }, "/tree/kind"],
  ] as const) {
    expect(checks.Word!({ tree })).toBe(false);
    expect(checks.Word!.errors![0]!.instancePath).toBe(place);
  }
  expect(files["made-up.ts"]).toContain(`export interface Word {
  type: "word";
  /** Where it grows. */
  tree?: Tree | undefined;
  label?: Label | undefined;
}

export interface Tree {
  label?: Label | undefined;
  children?: Tree[] | undefined;
  /** @minItems 2 */
  at?: [number, number] | undefined;
  headers?: {
    [k: string]: string;
  } | undefined;
  kind?: "leaf" | null | undefined;
}`);
});
