import { generate } from "@parlance/language/generate";
import type { ContractDocument, Schema, SchemaObject } from "@parlance/wire";
import { expect, it } from "vitest";
import { compile } from "../../../protocols/test/compile.js";
import { contract, object } from "./own-contract.js";

/** A contract whose message refers to each of some definitions. */
function defines($defs: Readonly<Record<string, Schema>>, keyword = "$defs"): ContractDocument {
  const refers = Object.keys($defs).map((key, index) => [
    `p${index}`,
    { $ref: `#/${keyword}/${encodeURIComponent(key)}` },
  ]);
  return contract({ word: { ...object("Word", Object.fromEntries(refers)), [keyword]: $defs } });
}

const text: SchemaObject = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const TEXT = "{\n  text: string;\n}";
const word = (...types: string[]) =>
  `export interface Word {\n  type: "word";\n${types.map((type, index) => `  p${index}?: ${type} | undefined;\n`).join("")}}`;

const kinds: Record<string, [document: ContractDocument, types: string | readonly string[]]> = {
  "definitions without titles, by their keys": [
    defines({
      usage_count: { type: "integer", description: "How many." },
      textBlock: text,
      "a.b-c": { enum: ["x", 1, null, true] },
    }),
    [
      '/** How many. */\nexport type UsageCount = number;\nexport type ABC = "x" | 1 | null | true;',
      word("UsageCount", "TextBlock", "ABC"),
      `export interface TextBlock ${TEXT}`,
    ],
  ],
  "definitions with titles that name a type, and with prose for a title": [
    defines({ a: { ...text, title: "Named" }, b: { ...text, title: "In prose" } }),
    [word("Named", "B"), `export interface Named ${TEXT}`, `export interface B ${TEXT}`],
  ],
  "definitions with the title of another, by their keys": [
    defines({
      a: { ...text, title: "Named" },
      b: { type: "object", title: "Named", properties: { n: true } },
      c: { ...text, title: "Named" },
    }),
    [word("Named", "B", "Named"), `export interface Named ${TEXT}`, "export interface B {\n  n?: unknown;\n}"],
  ],
  "one key in two files, with the second file's title before it": [
    contract({
      word: { ...object("Word", { p0: { $ref: "#/$defs/part" } }), $defs: { part: text } },
      line: { ...object("Line", { part: { $ref: "#/definitions/part" } }), definitions: { part: { type: "null" } } },
    }),
    ["export type LinePart = null;", "  part?: LinePart | undefined;", word("Part"), `export interface Part ${TEXT}`],
  ],
  "keys that differ in case only": [
    defines({ foo_bar: text, fooBar: text, FooBar: text }),
    [
      word("FooBar", "WordFooBar", "WordFooBar2"),
      ...["FooBar", "WordFooBar", "WordFooBar2"].map((name) => `export interface ${name} ${TEXT}`),
    ],
  ],
  "keys of types that the file has already": [
    defines({ word: text, fault_body: text, talk_message: text, made_up: text }),
    word("WordWord", "WordFaultBody", "WordTalkMessage", "WordMadeUp"),
  ],
  "keys of words of the language and of types that it has": [
    defines(
      Object.fromEntries(
        "delete any never string record array promise object error omit".split(" ").map((key) => [key, text]),
      ),
    ),
    word(
      "Delete",
      "Any",
      "Never",
      ..."String Record Array Promise Object Error Omit".split(" ").map((name) => `Word${name}`),
    ),
  ],
  "keys of types that the file imports": [
    defines({ call: text, message_stream: text, stream_call: text }),
    [
      "StreamCall as ParlanceStreamCall",
      word("Call", "MessageStream", "StreamCall"),
      "call: ParlanceStreamCall<TalkMessage>",
    ],
  ],
  "keys without a letter to begin with": [
    defines({ "1st": text, 日本: text, __schema0: text, "Partial<Foo>": text, "": text }),
    word("Word1st", "Word2", "Schema0", "PartialFoo", "Word3"),
  ],
  "recursive definitions": [
    defines({
      tree: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/tree" } } } },
      list: { type: "array", items: { $ref: "#/$defs/list" } },
      ping: { anyOf: [{ type: "null" }, { type: "object", properties: { pong: { $ref: "#/$defs/pong" } } }] },
      pong: { type: "object", properties: { ping: { $ref: "#/$defs/ping" } } },
    }),
    [
      "export type List = List[];",
      "export interface Tree {\n  children?: Tree[] | undefined;\n}",
      "export interface Pong {\n  ping?: Ping | undefined;\n}",
      "export type Ping =\n  | null\n  | {\n      pong?: Pong | undefined;\n    };",
    ],
  ],
  "definitions in definitions": [
    contract({
      word: {
        ...object("Word", { p0: { $ref: "#/$defs/outer" }, p1: { $ref: "#/$defs/outer/$defs/inner" } }),
        $defs: { outer: { ...object("", { a: { $ref: "#/$defs/outer/$defs/inner" } }), $defs: { inner: text } } },
      },
    }),
    [word("Outer", "Inner"), "export interface Outer {\n  a?: Inner | undefined;\n}", `export interface Inner ${TEXT}`],
  ],
  "schemas that are no definitions, where a reference leads to them": [
    contract({
      word: object("Word", {
        p0: text,
        p1: { type: "array", items: { $ref: "#/properties/p0" } },
        p2: { $ref: "#/properties/p1/items" },
        p3: { type: "string", description: "Text." },
        p4: { $ref: "#/properties/p3" },
      }),
    }),
    [
      "p1?: WordP0[] | undefined;\n  p2?: WordP0 | undefined;",
      "p3?: string | undefined;\n  p4?: string | undefined;",
      `export interface WordP0 ${TEXT}`,
    ],
  ],
  "references with something beside them": [
    defines({
      a: { $ref: "#/$defs/b", description: "Beside." },
      b: text,
      c: { $ref: "#/$defs/b", properties: { more: true }, required: ["more"] },
    }),
    ["/** Beside. */\nexport type A = B;", "export type C = { more: unknown } & B;"],
  ],
  "definitions that are true or false": [
    defines({ any: true, none: false }),
    'export interface Word {\n  type: "word";\n  p0?: unknown;\n  p1?: never;\n}',
  ],
  "what several schemas say together": [
    defines({
      a: { allOf: [{ $ref: "#/$defs/b" }, { type: "object", properties: { n: { type: "number" } } }] },
      b: text,
    }),
    "export type A = B & { n?: number | undefined };",
  ],
  "open lists of values": [
    defines({
      mood: { anyOf: [{ enum: ["glad", "sad"] }, { type: "string" }] },
      moods: { type: "array", items: { $ref: "#/$defs/mood" } },
    }),
    ['export type Mood = "glad" | "sad" | (string & {});', "export type Moods = Mood[];"],
  ],
  "objects of anything, and of one kind of values": [
    defines({ bare: { type: "object" }, map: { type: "object", additionalProperties: { type: ["string", "null"] } } }),
    ["export type Bare = Record<string, unknown>;", "export interface WordMap {\n  [k: string]: string | null;\n}"],
  ],
  tuples: [
    defines({
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 2, items: false },
      more: { type: "array", prefixItems: [{ type: "string" }], items: { type: ["string", "null"] } },
    }),
    ["export type Pair = [string, number];", "export type More = [string?, ...(string | null)[]];"],
  ],
  "values that may be null": [
    defines({ a: { type: ["object", "null"], properties: { b: { anyOf: [{ type: "string" }, { type: "null" }] } } } }),
    "export type A =\n  | {\n      b?: string | null | undefined;\n    }\n  | null;",
  ],
  "constants that are objects and lists": [
    defines({ a: { const: { b: [1, { "c-d": null }] } }, e: { enum: [[], {}, "f"] } }),
    ['export type A = { b: [1, { "c-d": null }] };', 'export type E = [] | {  } | "f";'],
  ],
  "conditions on a constant": [
    defines({
      result: {
        type: "object",
        required: ["success"],
        properties: { success: { type: "boolean" }, hash: { type: "string" }, error: { type: "string" } },
        if: { required: ["success"], properties: { success: { const: true } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ["hash"], properties: { error: false } },
        else: { required: ["error"], properties: { hash: false } },
      },
    }),
    [
      "export type Result =\n  | {\n      success: true;\n      hash: string;\n      error?: never;\n    }\n  | {\n      success: false;\n      hash?: never;\n      error: string;\n    };",
    ],
  ],
  "properties with the names of what every object has": [
    contract({
      word: {
        title: "Word",
        type: "object",
        properties: JSON.parse(
          '{"constructor":{"type":"string"},"toString":{"type":"number"},"hasOwnProperty":{"type":"boolean"},"__proto__":{"type":"null"},"length":{"type":"integer"},"$ref":{"type":"string"},"properties":{"type":"object","properties":{"enum":{"type":"string"}}}}',
        ),
        required: ["toString"],
      },
    }),
    [
      '  constructor?: string | {}["constructor"] | undefined;\n  toString: number;\n  hasOwnProperty?: boolean | {}["hasOwnProperty"] | undefined;\n  __proto__?: null | undefined;\n  length?: number | undefined;',
      "  $ref?: string | undefined;\n  properties?: {\n    enum?: string | undefined;\n  } | undefined;",
    ],
  ],
};

const made = Object.fromEntries(
  await Promise.all(
    Object.entries(kinds).map(async ([kind, [document]]) => [kind, (await generate(document))["made-up.ts"]!] as const),
  ),
);

/** A generated file without the files beside it. */
const alone = (text: string) =>
  text
    .replace(/^import \{ checks, reads \}.*$/m, 'declare const { checks, reads }: import("@parlance/wire").Accepts;')
    .replace(/\(\) => import\([^)]*\)/, "null as never");

it.each(Object.entries(kinds))("writes %s", (kind, [, types]) => {
  for (const text of [types].flat()) expect(made[kind]).toContain(text);
});

it("writes types of every kind that compile", () => {
  const files = Object.entries(made).map(
    ([kind, text], index) => [`types-${index}`, { kind, text: alone(text) }] as const,
  );
  const { errors } = compile(Object.fromEntries(files.map(([name, { text }]) => [name, text])));
  for (const [name, { kind, text }] of files) expect(errors[name], `${kind}\n${text}`).toEqual([]);
});

it("writes optional properties named like members of every object, which a literal may leave out", async () => {
  const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== "__proto__");
  const kinds = { text: { type: "string" }, any: {}, none: false, list: { enum: [1, 2] } };
  const properties = Object.fromEntries(names.map((name, at) => [name, Object.values(kinds)[at % 4]]));
  const document = contract({ word: { title: "Word", type: "object", properties } });
  const text = alone((await generate(document))["made-up.ts"]!);
  const use = `${text}\nexport const empty: Word = { type: "word" };\nexport const full: Word = { type: "word", ${names[0]}: "a" };`;
  expect(compile({ use }).errors).toEqual({ use: [] });
});
