import { generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import type { Json } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { pets } from "../pets.js";
import { checksIn } from "./checks-in.js";

// JSON Schema 2020-12, section 11. ajv judges some of these otherwise, so that the verdicts are written here.

/** The keyword, which a linter takes for a promise where it is written as a property. */
const THEN = "then";
const has = (name: string) => ({ properties: { [name]: true }, required: [name] });
const closed = (schema: object) => ({ type: "object", ...schema, unevaluatedProperties: false });
const short = (schema: object) => ({ type: "array", ...schema, unevaluatedItems: false });

const rows: [what: string, schema: object, valid: readonly Json[], invalid: readonly Json[]][] = [
  [
    "a condition",
    closed({ if: has("a"), [THEN]: has("b"), else: has("c") }),
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1, b: 1, c: 1 }, { b: 1 }],
  ],
  [
    "a condition without then",
    closed({ if: has("a"), else: has("b") }),
    [{ a: 1 }, { b: 1 }],
    [{ a: 1, b: 1 }, { c: 1 }],
  ],
  [
    "a condition whose then allows all",
    closed({ if: has("a"), [THEN]: true, else: has("b") }),
    [{ a: 1 }, { b: 1 }],
    [{ a: 1, b: 1 }],
  ],
  [
    "a condition whose then names no property",
    closed({ if: has("a"), [THEN]: { minProperties: 1 }, else: has("b") }),
    [{ a: 1 }, { b: 1 }],
    [{ a: 1, b: 1 }],
  ],
  [
    "a condition inside another schema",
    closed({ allOf: [{ if: has("a"), else: has("b") }] }),
    [{ a: 1 }, { b: 1 }],
    [{ a: 1, b: 1 }],
  ],
  [
    "a condition behind a reference",
    closed({ $ref: "#/$defs/Some", $defs: { Some: { if: has("a"), else: has("b") } } }),
    [{ a: 1 }],
    [{ a: 1, b: 1 }],
  ],
  ["alternatives", closed({ anyOf: [has("a"), has("b")] }), [{ a: 1 }, { a: 1, b: 1 }], [{ a: 1, c: 1 }]],
  [
    "exact alternatives",
    closed({ oneOf: [has("a"), has("b")] }),
    [{ a: 1 }, { b: 1 }],
    [
      { a: 1, b: 1 },
      { a: 1, c: 1 },
    ],
  ],
  [
    "a dependent schema",
    closed({ properties: { a: true }, dependentSchemas: { a: has("b") } }),
    [{}, { a: 1, b: 1 }],
    [{ b: 1 }, { a: 1 }],
  ],
  ["a negation, which evaluates nothing", closed({ not: { not: has("a") } }), [], [{ a: 1 }]],
  ["patterns", closed({ patternProperties: { "^a": true } }), [{ ab: 1 }], [{ b: 1 }]],
  ["an open part", closed({ allOf: [{ additionalProperties: true }] }), [{ a: 1 }], []],
  ["a schema for the others", { type: "object", unevaluatedProperties: { type: "string" } }, [{ a: "a" }], [{ a: 1 }]],
  [
    "a tuple in a condition",
    short({ if: { prefixItems: [{ const: 1 }] }, else: { prefixItems: [true, true] } }),
    [[1], [2, 2]],
    [[1, 2]],
  ],
  [
    "tuples of several lengths",
    short({ anyOf: [{ prefixItems: [true, { const: 1 }] }, { prefixItems: [true, true, { const: 2 }] }] }),
    [
      [1, 1],
      [1, 1, 2],
    ],
    [[1, 1, 3]],
  ],
];

describe("a generated check of unevaluated properties and items counts", () => {
  it.each(rows)("%s", async (_, schema, valid, invalid) => {
    const text = { "messages/word.json": JSON.stringify({ title: "Word", ...schema, examples: [] }) };
    const folder = pets({ text, set: { "talk#/examples": [], "tell#/examples": [] } });
    expect((await lint(folder, { patterns: false })).filter(({ rule }) => rule !== "example")).toEqual([]);
    const files = await generate(assemble(folder));
    const { Word } = await checksIn({ "made-up.validators.ts": files["pets.validators.ts"]! });
    const verdicts = (values: readonly Json[]) => values.map((value) => [value, Word!(value)]);
    expect(verdicts(valid)).toEqual(valid.map((value) => [value, true]));
    expect(verdicts(invalid)).toEqual(invalid.map((value) => [value, false]));
  });
});
