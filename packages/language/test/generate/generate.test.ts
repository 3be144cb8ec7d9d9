import { readFile } from "node:fs/promises";
import { generate } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import type { CheckError, Checks, ContractDocument, Json, Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { transform } from "esbuild";
import { describe, expect, test } from "vitest";
import { named } from "./contracts.js";

describe.each(named)("the TypeScript of %s", (name, document) => {
  test("is what is committed, byte for byte, each time", async () => {
    const once = await generate(document);
    expect(Object.keys(once)).toEqual([
      `${name}.ts`,
      `${name}.validators.ts`,
      `${name}.accepts.ts`,
      `${name}.examples.ts`,
    ]);
    for (const [file, text] of Object.entries(once)) {
      const committed = await readFile(new URL(`../../../protocols/src/${file}`, import.meta.url), "utf8");
      expect(text === committed, `${file} is stale: run parlance generate --out packages/protocols/src`).toBe(true);
    }
    expect(await generate(structuredClone(document))).toEqual(once);
  });
});

/** A contract of one stream `talk`, whose messages are named here, and whatever other schemas. */
function contract(
  messages: Readonly<Record<string, SchemaObject>>,
  others: readonly SchemaObject[] = [],
  more: object = {},
): ContractDocument {
  const files: Record<string, string> = {};
  const put = (schema: SchemaObject) => {
    const file = `messages/${schema.title!.toLowerCase()}.json`;
    files[file] = JSON.stringify(schema);
    return file;
  };
  const listed = Object.fromEntries(Object.entries(messages).map(([name, schema]) => [name, { schema: put(schema) }]));
  for (const schema of others) put(schema);
  const fault = put({ title: "FaultBody", type: "object", properties: { error: { type: "string" } } });
  files["contract.json"] = JSON.stringify({
    format: 1,
    name: "made-up",
    title: "Made up",
    url: "http://localhost:1",
    tag: { in: "event" },
    messages: listed,
    operations: {
      talk: {
        method: "GET",
        path: "/talk",
        summary: "Talk.",
        answer: { status: 200, stream: { messages: Object.keys(messages) } },
      },
    },
    channels: {},
    fault: { schema: fault, text: ["/error"] },
    ...more,
  });
  return assemble({ name: "made-up", files });
}
const object = (title: string, properties: object = {}): SchemaObject => ({ title, type: "object", properties });

test("schemas inside others that have one title and are alike are one type", async () => {
  const at = (to: string) => ({ ...object("Inner", { a: { type: "string" } }), description: to });
  const made = await generate(
    contract({
      word: object("Word", { inner: at("one"), again: at("one") }),
      line: object("Line", { inner: at("one") }),
    }),
  );
  expect(made["made-up.ts"]!.match(/export (?:interface|type) Inner\b/g)).toHaveLength(1);
  expect(made["made-up.ts"]!.match(/\b(?:inner|again)\?: Inner \| undefined;/g)).toHaveLength(3);
  const other = contract({ word: object("Word", { inner: at("one") }), line: object("Line", { inner: at("other") }) });
  await expect(generate(other)).rejects.toThrow(/two different types would be named Inner/);
});

test.each<[why: string, ContractDocument, error: RegExp]>([
  [
    "a message named like the union of its stream",
    contract({ word: object("TalkMessage") }),
    /made-up: the messages of stream talk and the schema messages\/talkmessage\.json would both be named TalkMessage/,
  ],
  ["a schema named like the client's interface", contract({ word: object("MadeUp") }), /would both be named MadeUp/],
  [
    "a schema inside another with the title of a third",
    contract({
      word: object("Word", { inner: { ...object("Other", { a: { type: "string" } }) } }),
      other: object("Other"),
    }),
    /two different types would be named Other/,
  ],
  [
    "a contract named like a word of the language",
    contract({ word: object("Word") }, [], { name: "delete" }),
    /delete: a contract's value has its name, and this is a word of the language/,
  ],
  [
    "two messages of one schema",
    contract({ word: object("Word"), other: object("Word") }),
    /the messages word and other have the one schema Word/,
  ],
  [
    "a message as a part of another, since in memory it has a type",
    contract({
      word: object("Word"),
      line: object("Line", { words: { type: "array", items: { $ref: "word.json" } } }),
    }),
    /Line refers to the message word \(Word\), which has another type in memory/,
  ],
  [
    "a format that nobody can check",
    contract({ word: object("Word", { at: { type: "string", format: "moon-phase" } }) }),
    /made-up: a schema has no check: unknown format "moon-phase"/,
  ],
  [
    "a reference to nothing",
    contract({ word: object("Word", { inner: { $ref: "nothing.json" } }) }),
    /Word refers to nothing\.json, which does not exist/,
  ],
])("refuses %s", async (_, document, error) => {
  await expect(generate(document)).rejects.toThrow(error);
});

test("a schema named like one of our own types keeps its name, and ours is imported by another", async () => {
  const files = await generate(contract({ word: object("MessageStream"), call: object("StreamCall") }));
  const text = files["made-up.ts"]!;
  expect(text).toContain(
    "import type { ContractValue, MessageStream as ParlanceMessageStream, ReopenOptions, StreamCall as ParlanceStreamCall }",
  );
  expect(text).toContain("talk(options?: ReopenOptions): ParlanceMessageStream<TalkMessage>;");
  expect(text).toContain("export interface MessageStream {");
});

test("an input of which nothing is required may be left out", async () => {
  const list = {
    method: "GET",
    path: "/list",
    summary: "List.",
    parameters: { by: { in: "query", type: "string" } },
    answer: { status: 204 },
  };
  const files = await generate(contract({}, [], { operations: { list } }));
  expect(files["made-up.ts"]).toContain("list(input?: ListInput, options?: CallOptions): Promise<void>;");
  expect(files["made-up.ts"]).toContain("list(input: ListInput, call: Call): void | Promise<void>;");
});

test("a doc comment has what a type cannot say, and open enums stay complete in editors", async () => {
  const word = object("OAuth2", {
    mood: { anyOf: [{ enum: ["glad", "sad"] }, { type: "string" }], default: "glad" },
    at: { description: "When.", type: "string", format: "date-time", deprecated: true },
    count: { type: "integer", minimum: 1, not: { const: 13 } },
    any: { type: "object" },
    list: { enum: [["a", 1], null] },
  });
  expect((await generate(contract({ word })))["made-up.ts"]).toContain(`export interface OAuth2 {
  type: "word";
  /** @default glad */
  mood?: "glad" | "sad" | (string & {}) | undefined;
  /**
   * When.
   * @deprecated
   * @format date-time
   */
  at?: string | undefined;
  /** @minimum 1 */
  count?: number | undefined;
  any?: Record<string, unknown> | undefined;
  list?: ["a", 1] | null | undefined;
}`);
});

test("the known values of a word stay known where references lead to them through another file", async () => {
  const levels = {
    ...object("Levels", {}),
    $defs: { level: { $ref: "#/$defs/names" }, names: { enum: ["low", "high"] } },
  };
  const word = object("Word", { level: { anyOf: [{ $ref: "levels.json#/$defs/level" }, { type: "string" }] } });
  expect((await generate(contract({ word }, [levels])))["made-up.ts"]).toContain(
    'level?: "low" | "high" | (string & {}) | undefined;',
  );
});

test("prose that looks like code stays prose", async () => {
  const word = {
    ...object("Word", { a: { type: "string", description: "ends */ here" } }),
    description: "`export type X = 1` */ export const y = 1;",
  };
  const text = (await generate(contract({ word })))["made-up.ts"]!;
  expect(text.match(/^export /gm)!.length).toBe(
    text.match(/^export (interface (Word|FaultBody|MadeUp|MadeUpHandlers)|type TalkMessage|const madeUp)\b/gm)!.length,
  );
  expect(text).not.toMatch(/ends \*\/ here/);
});

test("nothing of this machine and no runtime of ajv is in a check", async () => {
  for (const [, document] of named)
    for (const [file, text] of Object.entries(await generate(document)))
      if (/(validators|accepts)\.ts$/.test(file))
        expect(text).not.toMatch(/node_modules|[^'"]\brequire\(|new Function|eval\(/);
});

async function checksIn(files: Readonly<Record<string, string>>): Promise<Checks> {
  const { code } = await transform(files["made-up.validators.ts"]!, { loader: "ts" });
  return ((await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { checks: Checks }).checks;
}

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

const flaws = (errors: readonly CheckError[] | null | undefined, at = "") =>
  (errors ?? []).map(({ instancePath, keyword, params }) => ({ instancePath: at + instancePath, keyword, params }));

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
      const known = flaws(whole.errors, "/it");
      for (const error of flaws(check.errors)) expect(known, about).toContainEqual(error);
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

test("a schema without a title has a type of its own only where its references lead back to it", async () => {
  const list = (name: string) => ({ type: "array", items: { $ref: `#/$defs/${name}` } });
  const tree = {
    ...object("Tree", { ping: { $ref: "#/$defs/ping" }, over: { $ref: "#/$defs/over" }, far: { $ref: "#/$defs/far" } }),
    // Two that lead to each other, one that leads to itself, and one that only leads there.
    $defs: { ping: list("pong"), pong: list("ping"), self: list("self"), over: list("self"), far: list("over") },
  };
  const text = (await generate(contract({ tree })))["made-up.ts"]!;
  const named = [...text.matchAll(/export type (Tree\w+) = /g)].map(([, name]) => name);
  expect(named.sort()).toEqual(["TreePing", "TreePong", "TreeSelf"]);
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
  label?: string | undefined;
}

export interface Tree {
  label?: string | undefined;
  children?: Tree[] | undefined;
  /** @minItems 2 */
  at?: [number, number] | undefined;
  headers?: {
    [k: string]: string;
  } | undefined;
  kind?: "leaf" | null | undefined;
}`);
});

test("a contract's own types are named by its `type`, and its error codes are one of them", async () => {
  const codes = { LOST: { description: "Lost." }, BUSY: { description: "Busy." } };
  const more = {
    type: "MadeUP",
    fault: { schema: "messages/faultbody.json", text: ["/error"], code: ["/error"], codes },
  };
  const { "made-up.ts": text } = await generate(contract({ word: object("Word") }, [], more));
  expect(text).toContain('export type MadeUPErrorCode = "LOST" | "BUSY";');
  expect(text).toContain("export interface MadeUPHandlers {");
  expect(text).toContain("export const madeUp: ContractValue<MadeUP, MadeUPHandlers> = {");
  expect(text).not.toContain("MadeUp");
});

test("an error code that may be any text has the contract's codes for its type, wherever the contract says that it stands", async () => {
  const codes = { LOST: { description: "Lost." }, BUSY: { description: "Busy." } };
  const places = { text: ["/error"], code: ["/error", "/detail/code"] };
  const word = object("Word", {
    error: { type: "string" },
    other: { type: "string" },
    detail: { allOf: [{ $ref: "inner.json" }] },
  });
  const inner = object("Inner", { code: { type: "string", pattern: "^[A-Z]+$" }, kind: { enum: ["a"] } });
  const { "made-up.ts": text } = await generate(
    contract({ word }, [inner], { fault: { schema: "messages/word.json", codes, ...places } }),
  );
  expect(text).toContain("error?: MadeUpErrorCode | (string & {}) | undefined;");
  expect(text).toContain("code?: MadeUpErrorCode | (string & {}) | undefined;");
  expect(text).toContain("other?: string | undefined;");
});

test("an `@` in a description is no tag of the doc comment", async () => {
  const property = (description: string) => ({ type: "string", description });
  const word = object("Word", {
    a: property("What the user wrote after @, or @home/there."),
    b: property("Such as `@home` or me@home."),
  });
  const { "made-up.ts": text } = await generate(contract({ word }));
  expect(text).toContain("/** What the user wrote after `@`, or `@home/there`. */");
  expect(text).toContain("/** Such as `@home` or me@home. */");
});
