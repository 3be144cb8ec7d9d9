import type { Json, SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import suite from "json-schema-test-suite";
import { describe, expect, it } from "vitest";
import { Files } from "../../src/import/files.js";

/** A schema of an older draft as files of messages/. */
function upgraded(document: object, aloneRefs = true): Record<string, SchemaObject> {
  const files = new Files(document as never, { aloneRefs, prose: false, taken: [] });
  files.of("", "Root");
  files.write();
  return files.schemas;
}

const root = (document: object, aloneRefs?: boolean) => {
  const { title, ...schema } = upgraded(document, aloneRefs)["messages/root.json"]!;
  return schema;
};

const rows: [what: string, before: object, after: object][] = [
  ["a bound that is exclusive", { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
  ["a bound that is not", { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
  ["a number as an exclusive bound", { exclusiveMaximum: 3, maximum: 4 }, { exclusiveMaximum: 3, maximum: 4 }],
  [
    "a tuple",
    { items: [{ type: "string" }, {}], additionalItems: false },
    { prefixItems: [{ type: "string" }, {}], items: false },
  ],
  ["a rest without a tuple", { items: {}, additionalItems: false }, { items: {} }],
  [
    "dependencies",
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
  ],
  [
    "names of the document",
    { $schema: "x", id: "http://a/b", $comment: "c", definitions: { a: {} }, type: "object" },
    { type: "object" },
  ],
  ["an enum of one value", { enum: ["a"] }, { const: "a" }],
  ["an enum that repeats", { enum: ["a", "b", "a"] }, { enum: ["a", "b"] }],
  ["an enum without a value", { enum: [] }, { not: {} }],
  ["null by OpenAPI", { type: "string", nullable: true }, { type: ["string", "null"] }],
  ["null by OpenAPI in an enum", { type: "string", enum: ["a", "b"], nullable: true }, { enum: ["a", "b", null] }],
  [
    "null by OpenAPI around alternatives",
    { anyOf: [{ type: "string" }, { type: "number" }], nullable: true },
    { anyOf: [{ anyOf: [{ type: "string" }, { type: "number" }] }, { type: "null" }] },
  ],
  [
    "alternatives that a discriminator tells apart",
    { oneOf: [{ type: "object" }, { minProperties: 1 }], discriminator: { propertyName: "a", mapping: {} } },
    { anyOf: [{ type: "object" }, { minProperties: 1 }], discriminator: { propertyName: "a" } },
  ],
  [
    "names that are required and unknown",
    { properties: { a: {} }, required: ["a", "b"] },
    { properties: { a: {}, b: true }, required: ["a", "b"] },
  ],
  ["words of others", { "x-a": 1, specOpen: true, xml: {}, externalDocs: {}, type: "object" }, { type: "object" }],
  [
    "a schema in a schema",
    { properties: { items: { items: [{ enum: [1] }] } } },
    { properties: { items: { prefixItems: [{ const: 1 }] } } },
  ],
  ["a part alone", { allOf: [{ type: "object" }] }, { type: "object" }],
  [
    "a reference alone in a list",
    { allOf: [{ $ref: "#" }], minProperties: 1 },
    { $ref: "root.json", minProperties: 1 },
  ],
  [
    "a reference out of the file",
    { properties: { a: { $ref: "http://elsewhere.example/b.json" } } },
    { properties: { a: {} } },
  ],
  ["a property named __proto__", JSON.parse('{"properties":{"__proto__":{},"a":{}}}'), { properties: { a: {} } }],
];

const kind = (value: string) => ({ type: "object", required: ["a"], properties: { a: { const: value } } });
rows.push([
  "alternatives that constants tell apart",
  { oneOf: [kind("x"), kind("y")], discriminator: { propertyName: "a" } },
  { oneOf: [kind("x"), kind("y")], discriminator: { propertyName: "a" } },
]);

const marks = { "x-deserialize-default-on-error": true, "x-deserialize-skip-invalid-items": true };
rows.push([
  "what a reader tolerates, by the marks of schemars",
  { properties: { a: { type: "array", ...marks }, b: marks }, required: ["a"] },
  {
    properties: {
      a: { type: "array", "x-tolerance": ["default", "skip"], default: [] },
      b: { "x-tolerance": ["default", "skip"] },
    },
    required: ["a"],
  },
]);

describe("a schema of another draft is upgraded:", () => {
  it.each(rows)("%s", (_, before, after) => {
    expect(root(before)).toEqual(after);
  });

  it("a keyword beside a reference, which old drafts ignore", () => {
    const document = { $ref: "#/definitions/A", minimum: 1, definitions: { A: { type: "integer" } } };
    expect(root(document)).toEqual({ $ref: "a.json" });
    expect(root(document, false)).toEqual({ $ref: "a.json", minimum: 1 });
  });

  const ids = {
    $id: "http://a.example/root.json",
    definitions: { B: { $id: "b.json", type: "string", definitions: { C: { $id: "#c" } } } },
  };
  it.each([
    ["b.json", "b.json"],
    ["http://a.example/b.json", "b.json"],
    ["#/definitions/B", "b.json"],
    ["b.json#/definitions/C", "c.json"],
    ["b.json#c", "c.json"],
    ["root.json", "root.json"],
    ["#", "root.json"],
  ])("the reference %s, by identities", (ref, file) => {
    expect(root({ ...ids, properties: { a: { $ref: ref } } }).properties).toEqual({ a: { $ref: file } });
  });
});

it("keeps the verdicts of the tests of draft 4", () => {
  const wrong: string[] = [];
  let total = 0;
  for (const { schemas } of suite.loadAllSync("draft4"))
    for (const { schema, tests } of schemas) {
      // It names files of a server that the tests bring along.
      if (JSON.stringify(schema).includes("http://")) continue;
      const files = Object.entries(upgraded(schema));
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      for (const [file, one] of files) ajv.addSchema({ ...one, $id: `/${file}` });
      const check = ajv.getSchema("/messages/root.json")!;
      for (const { data, valid, description } of tests as readonly {
        data: Json;
        valid: boolean;
        description: string;
      }[]) {
        // Later drafts count it as an integer.
        if (description === "a float is not an integer even without fractional part") continue;
        total++;
        if (check(data) !== valid && !("format" in schema)) wrong.push(`${JSON.stringify(schema)}: ${description}`);
      }
    }
  expect(wrong).toEqual([]);
  expect(total).toBeGreaterThan(250);
});
