import type { Schema, SchemaObject } from "@parlance/wire";
import { expect, it } from "vitest";
import { withoutConditions } from "../../src/generate/conditions.js";

const kinds: Record<string, Schema> = { "#/kinds": { enum: ["a", "b"] }, "#/text": { type: "string" } };
const rewritten = (schema: SchemaObject) => withoutConditions(schema, (ref) => kinds[ref]);

/** The schema of an object with a property `kind` that has one of these values, and what is beside it. */
const of = (kind: Schema, more: SchemaObject): SchemaObject => ({
  type: "object",
  required: ["id", "kind"],
  ...more,
  properties: { id: { type: "string" }, kind, why: { type: "string" }, ...((more.properties ?? {}) as object) },
});
const is = (...values: unknown[]) => ({ required: ["kind"], properties: { kind: { enum: values } } }) as SchemaObject;
const needs = (...names: string[]) => ({ required: names }) as SchemaObject;
const when = (condition: SchemaObject, then?: Schema, otherwise?: Schema) =>
  ({
    if: condition,
    ...(then !== undefined && { then }),
    ...(otherwise !== undefined && { else: otherwise }),
  }) as SchemaObject;

const shared = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const branch = (kind: Schema, more: object, required: string[], beside: object = {}) => ({
  type: "object",
  properties: { kind, ...more },
  required,
  ...beside,
});
const why = { type: "string" };

it.each<[why: string, schema: SchemaObject, branches: object[]]>([
  [
    "a constant",
    of(
      { enum: ["a", "b", "c"], description: "Which." },
      when({ required: ["kind"], properties: { kind: { const: "a" } } }, needs("why")),
    ),
    [
      branch({ enum: ["a"], description: "Which." }, { why }, ["kind", "why"]),
      branch({ enum: ["b", "c"], description: "Which." }, { why }, ["kind"]),
    ],
  ],
  [
    "a boolean",
    of({ type: "boolean" }, when(is(true), { properties: { why: false } }, needs("why"))),
    [branch({ enum: [true] }, { why: false }, ["kind"]), branch({ enum: [false] }, { why }, ["kind", "why"])],
  ],
  [
    "values that a reference lists",
    of({ $ref: "#/kinds" }, when(is("b"), needs("why"))),
    [branch({ enum: ["a"] }, { why }, ["kind"]), branch({ enum: ["b"] }, { why }, ["kind", "why"])],
  ],
  [
    "several values, one condition for each",
    of(
      { enum: ["a", "b", null] },
      { allOf: [when(is("a"), needs("why")), when(is("b", null), { properties: { why: { const: "x" } } })] },
    ),
    [
      branch({ enum: ["a"] }, { why }, ["kind", "why"]),
      branch({ enum: ["b", null] }, { why: { type: "string", const: "x" } }, ["kind"]),
    ],
  ],
  [
    "a value that is not allowed then",
    of({ enum: ["a", "b", "c"] }, { allOf: [when(is("a"), false), when(is("b"), needs("why"))] }),
    [branch({ enum: ["b"] }, { why }, ["kind", "why"]), branch({ enum: ["c"] }, { why }, ["kind"])],
  ],
  [
    "a property that may be absent, of which the condition needs a value",
    of({ enum: ["a", "b"] }, { ...when(is("a"), needs("why"), true), required: ["id"] }),
    [branch({ enum: ["a"] }, { why }, ["why", "kind"]), branch({ enum: ["b"] }, { why }, [])],
  ],
  [
    "a property that may be absent, which the condition then holds for",
    of({ enum: ["a", "b"] }, { ...when({ properties: { kind: { const: "a" } } }, needs("why")), required: ["id"] }),
    [branch({ enum: ["a"] }, { why }, ["why"]), branch({ enum: ["b"] }, { why }, ["kind"])],
  ],
  [
    "a property that may be absent, alone in its case",
    of({ const: "a" }, { ...when(is("a"), needs("why")), required: ["id"] }),
    [branch({ enum: ["a"] }, { why }, ["why", "kind"]), branch(false, { why }, [])],
  ],
  [
    "what else a case says",
    of({ type: "boolean" }, when(is(true), { $ref: "more.json" })),
    [
      branch({ enum: [true] }, {}, ["kind"], { allOf: [{ $ref: "more.json" }] }),
      branch({ enum: [false] }, {}, ["kind"]),
    ],
  ],
  [
    "the alternatives that a case leaves",
    of(
      { type: "boolean" },
      {
        properties: { why: { anyOf: [{ type: "null" }, { type: "object", title: "Why" }, {}] } },
        ...when(is(true), { properties: { why: { type: "null" } } }, { properties: { why: { type: "object" } } }),
      },
    ),
    [
      branch({ enum: [true] }, { why: { anyOf: [{ type: "null" }, {}] } }, ["kind"]),
      branch({ enum: [false] }, { why: { anyOf: [{ type: "object", title: "Why" }, {}] } }, ["kind"]),
    ],
  ],
])("makes a union of %s", (_, schema, branches) => {
  const { why: __, ...own } = (schema.properties ?? {}) as Record<string, Schema>;
  const isTouched = branches.some((one) => "why" in (one as SchemaObject & { properties: object }).properties);
  const properties = isTouched ? { id: own.id } : { id: own.id, why };
  expect(rewritten(schema)).toEqual({ ...shared, properties, allOf: [{ anyOf: branches }] });
});

it.each<[why: string, schema: SchemaObject]>([
  ["there is none", of({ enum: ["a", "b"] }, {})],
  ["the property may have other values", of({ type: "string" }, when(is("a"), needs("why")))],
  ["a reference leads to other values", of({ $ref: "#/text" }, when(is("a"), needs("why")))],
  ["the values are objects", of({ enum: [{}, []] }, when(is({}), needs("why")))],
  [
    "the property is not one of the object's",
    of(true, when({ required: ["other"], properties: { other: { const: 1 } } }, needs("why"))),
  ],
  [
    "it is about two properties",
    of({ type: "boolean" }, when({ properties: { kind: { const: true }, why: { const: "a" } } }, needs("why"))),
  ],
  [
    "it is about the presence of another",
    of({ type: "boolean" }, when({ required: ["why"], properties: { kind: { const: true } } }, needs("why"))),
  ],
  ["it is about more than a constant", of({ type: "boolean" }, when({ ...is(true), minProperties: 3 }, needs("why")))],
  ["all values are one case", of({ const: "a" }, when(is("a"), needs("why")))],
  ["no case is possible", of({ type: "boolean" }, when(is(true), false, false))],
])("leaves an object as it is where %s", (_, schema) => {
  expect(rewritten(schema)).toBe(schema);
});

it("keeps a condition on a second property, and what the object says beside", () => {
  const other = when({ required: ["why"], properties: { why: { const: "x" } } }, needs("id"));
  const schema = of(
    { type: "boolean" },
    { allOf: [when(is(true), needs("more")), other], additionalProperties: false, anyOf: [{}] },
  );
  expect(rewritten(schema)).toEqual({
    ...shared,
    properties: { id: { type: "string" }, why },
    additionalProperties: false,
    anyOf: [{}],
    allOf: [
      other,
      { anyOf: [branch({ enum: [true] }, {}, ["kind", "more"]), branch({ enum: [false] }, {}, ["kind"])] },
    ],
  });
});

it("leaves no object beside the union where each property differs by case", () => {
  const schema = { ...of({ type: "boolean" }, when(is(true), needs("why", "id"))) };
  expect(Object.keys(rewritten(schema))).toEqual(["allOf"]);
});
