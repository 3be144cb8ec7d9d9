import type { SchemaObject } from "@parlance/wire";
import { expect, it } from "vitest";
import { valuesOf } from "../../src/node/values.js";

const object = (properties: Record<string, SchemaObject>, required = Object.keys(properties)): SchemaObject => ({
  type: "object",
  properties,
  required,
});
const outcome = {
  oneOf: [
    object({ outcome: { const: "cancelled" } }),
    object({ outcome: { const: "selected" }, optionId: { type: "string" } }),
  ],
};
const question = { options: [{ optionId: "yes" }, { optionId: "no" }], size: 3 };

it.each<[string, SchemaObject, unknown[]]>([
  ["nothing that is required", object({ note: { type: "string" } }, []), [{}]],
  ["a constant", object({ done: { const: true } }), [{ done: true }]],
  ["listed values", object({ way: { enum: ["in", "out"] } }), [{ way: "in" }, { way: "out" }]],
  ["yes or no", object({ ok: { type: "boolean" } }), [{ ok: true }, { ok: false }]],
  [
    "a union with values of the question",
    object({ outcome }),
    [
      { outcome: { outcome: "cancelled" } },
      { outcome: { outcome: "selected", optionId: "yes" } },
      { outcome: { outcome: "selected", optionId: "no" } },
    ],
  ],
  ["a number of the question", object({ size: { type: "integer" } }), [{ size: 3 }]],
  ["a text that nobody has given", object({ content: { type: "string" } }), []],
])("finds the values of a schema with %s", (_, schema, values) => {
  expect(valuesOf({ Result: schema }, "Result", question).map(({ value }) => value)).toEqual(values);
});

it("says what tells a value from others", () => {
  expect(valuesOf({ Result: object({ outcome }) }, "Result", question).map(({ words }) => words.join(", "))).toEqual([
    'outcome "cancelled"',
    'outcome "selected", optionId "yes"',
    'outcome "selected", optionId "no"',
  ]);
});
