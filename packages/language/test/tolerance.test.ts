import { generate } from "@parlance/language/generate";
import { contractValue } from "@parlance/language/value";
import type { Checks, Json, Reads, Schema, SchemaObject } from "@parlance/wire";
import { transform } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { contract, object } from "./generate/own-contract.js";

// Values with the result of both readers, the generated one and the interpreted one. `undefined` is a value that both refuse.

const tolerant = (schema: object, ...ways: string[]): SchemaObject => ({ ...schema, "x-tolerance": ways });
const word = { type: "string", minLength: 2 };
const words = { type: "array", items: word };
const part = {
  type: "object",
  properties: { id: word, note: tolerant(word, "default") },
  required: ["id"],
};
const tagged = (kind: string, property: Schema) => ({
  type: "object",
  properties: { kind: { const: kind }, of: property },
  required: ["kind", "of"],
});

const schemas: Readonly<Record<string, Schema>> = {
  optional: tolerant(word, "default"),
  withDefault: tolerant({ ...word, default: "ab" }, "default"),
  absent: tolerant(word, "null"),
  absentWithDefault: tolerant({ ...words, default: ["ab"] }, "null"),
  nullable: tolerant({ anyOf: [word, { type: "null" }] }, "null"),
  list: tolerant(words, "skip"),
  listOrNull: tolerant({ ...words, type: ["array", "null"] }, "skip"),
  fewest: tolerant({ ...words, minItems: 1, default: ["ab"] }, "skip", "default"),
  strictList: words,
  parts: tolerant({ type: "array", items: { $ref: "#/$defs/part" } }, "skip"),
  tree: { $ref: "#/$defs/tree" },
  union: { anyOf: [tagged("a", { type: "string" }), tagged("b", { $ref: "#/$defs/part" })] },
  either: {
    oneOf: [{ $ref: "#/$defs/part" }, { type: "object", properties: { id: { type: "integer" } }, required: ["id"] }],
  },
  both: {
    oneOf: [
      { $ref: "#/$defs/part" },
      { type: "object", properties: { id: word, note: { type: "string" } }, required: ["id"] },
    ],
  },
  map: { type: "object", additionalProperties: { $ref: "#/$defs/part" } },
  all: {
    allOf: [
      { $ref: "#/$defs/part" },
      { type: "object", properties: { more: tolerant({ type: "integer" }, "default") } },
    ],
  },
  constructor: tolerant(word, "default"),
};
const root = {
  ...object("Drawn", schemas),
  $defs: {
    part,
    tree: {
      type: "object",
      properties: { left: tolerant({ $ref: "#/$defs/tree" }, "default"), size: { type: "integer" } },
      required: ["size"],
    },
  },
};
const needed = {
  title: "Needed",
  type: "object",
  properties: {
    list: tolerant({ ...words, default: [] }, "default", "skip"),
    name: tolerant({ ...word, default: "ab" }, "null"),
  },
  required: ["list", "name"],
};

const lists = { title: "Lists", ...tolerant({ type: "array", items: tolerant(words, "skip") }, "skip") };

const document = contract({ drawn: root, needed, lists });
const interpreted = contractValue(document);
let generated: { readonly checks: Checks; readonly reads: Reads };
beforeAll(async () => {
  const { code } = await transform((await generate(document))["made-up.validators.ts"]!, { loader: "ts" });
  generated = await import(`data:text/javascript,${encodeURIComponent(code)}`);
});

const nothing = undefined;
const cases: readonly (readonly [what: string, title: string, value: Json, read: Json | undefined])[] = [
  ["keeps a value that fits", "Drawn", { optional: "ab", list: ["ab"] }, { optional: "ab", list: ["ab"] }],
  ["reads an error as absent", "Drawn", { optional: 1 }, {}],
  ["reads an error as the default", "Drawn", { withDefault: "a" }, { withDefault: "ab" }],
  ["reads null as an error where errors are tolerated", "Drawn", { optional: null }, {}],
  ["reads null as absent", "Drawn", { absent: null }, {}],
  ["reads null as the default", "Drawn", { absentWithDefault: null }, { absentWithDefault: ["ab"] }],
  ["keeps null where the schema has it", "Drawn", { nullable: null }, { nullable: null }],
  ["refuses another error where null is tolerated", "Drawn", { absent: 1 }, nothing],
  ["skips invalid items", "Drawn", { list: ["a", "ab", 1, null, "abc"] }, { list: ["ab", "abc"] }],
  ["skips all items", "Drawn", { list: [1] }, { list: [] }],
  ["refuses what is no list where items are skipped", "Drawn", { list: "ab" }, nothing],
  ["skips items of a list that may be null", "Drawn", { listOrNull: ["a", "ab"] }, { listOrNull: ["ab"] }],
  ["keeps null for such a list", "Drawn", { listOrNull: null }, { listOrNull: null }],
  ["reads a list with too few items left as the default", "Drawn", { fewest: ["a"] }, { fewest: ["ab"] }],
  ["refuses an item of a strict list", "Drawn", { strictList: ["a"] }, nothing],
  ["refuses a value with an error that is not tolerated", "Drawn", { optional: 1, strictList: ["a"] }, nothing],
  [
    "keeps an item with a tolerated error",
    "Drawn",
    { parts: [{ id: "ab", note: 1 }, { id: 1 }] },
    { parts: [{ id: "ab" }] },
  ],
  [
    "reads the innermost error first",
    "Drawn",
    { tree: { size: 1, left: { size: 2, left: { size: "x" } } } },
    { tree: { size: 1, left: { size: 2 } } },
  ],
  [
    "reads in the branch that a constant names",
    "Drawn",
    { union: { kind: "b", of: { id: "ab", note: 1 } } },
    { union: { kind: "b", of: { id: "ab" } } },
  ],
  ["refuses an error in another branch", "Drawn", { union: { kind: "a", of: 1 } }, nothing],
  ["reads in the first branch that can be read", "Drawn", { either: { id: "ab", note: 1 } }, { either: { id: "ab" } }],
  ["prefers a branch that fits", "Drawn", { either: { id: 1, note: 1 } }, { either: { id: 1, note: 1 } }],
  ["refuses a value that fits two branches of oneOf", "Drawn", { both: { id: "ab", note: "ab" } }, nothing],
  [
    "reads in each value of a map",
    "Drawn",
    { map: { x: { id: "ab", note: 0 }, y: { id: "ab" } } },
    { map: { x: { id: "ab" }, y: { id: "ab" } } },
  ],
  ["reads in each part of allOf", "Drawn", { all: { id: "ab", note: 1, more: "x" } }, { all: { id: "ab" } }],
  ["reads a property that every object inherits", "Drawn", { constructor: 1 }, {}],
  ["keeps what was not in the schema", "Drawn", { optional: 1, other: [1] }, { other: [1] }],
  ["reads required properties as their defaults", "Needed", { list: 1, name: null }, { list: [], name: "ab" }],
  ["refuses a missing required property", "Needed", { list: [] }, nothing],
  ["skips items of a list in a list", "Lists", [["a", "ab"], 1, []], [["ab"], []]],
  ["refuses what is no object", "Needed", [1], nothing],
];

describe.each(["generated", "interpreted"] as const)("the %s reader", (kind) => {
  const readerOf = (title: string) => (kind === "generated" ? generated : interpreted).reads.tolerant![title]!;

  it.each(cases)("%s", (_, title, value, read) => {
    const body = structuredClone(value);
    expect(readerOf(title)(body)).toBe(read !== undefined);
    expect(body).toEqual(read ?? value);
    // The strict check tolerates nothing.
    const { checks } = kind === "generated" ? generated : interpreted;
    const isSame = JSON.stringify(read) === JSON.stringify(value);
    expect(checks[title]!(structuredClone(value))).toBe(isSame);
  });

  it("gives each body a default of its own", () => {
    const [one, other] = [
      { list: 1, name: "ab" },
      { list: 1, name: "ab" },
    ] as { list: unknown; name: string }[];
    expect([readerOf("Needed")(one), readerOf("Needed")(other)]).toEqual([true, true]);
    expect(one!.list).not.toBe(other!.list);
  });

  it("names the error that is not tolerated", () => {
    const check = readerOf("Drawn");
    expect(check({ optional: 1, strictList: ["a"] })).toBe(false);
    expect(check.errors).toMatchObject([{ instancePath: "/strictList/0", keyword: "minLength" }]);
  });

  it("reads a long list in time that grows with it", () => {
    const check = readerOf("Drawn");
    const parts = Array.from({ length: 50_000 }, (_, at) => (at % 2 ? { id: "ab", note: at } : { id: at }));
    const body = { parts };
    expect(check(body)).toBe(true);
    expect(body.parts).toHaveLength(25_000);
  });
});

it("writes nothing for a contract without the keyword", async () => {
  const strict = contract({ drawn: object("Drawn", { list: words }) });
  const text = (await generate(strict))["made-up.validators.ts"]!;
  expect(text).not.toMatch(/tolera/i);
  expect(contractValue(strict).reads.tolerant).toEqual({});
});
