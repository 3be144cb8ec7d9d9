import { readFile } from "node:fs/promises";
import { generate } from "@parlance/language/generate";
import type { ContractDocument } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { named } from "./contracts.js";
import { contract, object } from "./own-contract.js";

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
  const { "made-up.ts": text } = await generate(other);
  expect(text).toContain("inner?: Inner | undefined;");
  expect(text).toContain("  /** other */\n  inner?: {\n    a?: string | undefined;\n  } | undefined;");
});

test.each<[why: string, ContractDocument, error: RegExp]>([
  [
    "a message named like the union of its stream",
    contract({ word: object("TalkMessage") }),
    /made-up: the messages of stream talk and the schema messages\/talkmessage\.json would both be named TalkMessage/,
  ],
  ["a schema named like the client's interface", contract({ word: object("MadeUp") }), /would both be named MadeUp/],
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

test("known values stay known to an editor beside any string, where references lead to them through another file", async () => {
  const levels = {
    ...object("Levels", {}),
    $defs: { level: { $ref: "#/$defs/names" }, names: { enum: ["low", "high"] } },
  };
  const word = object("Word", { level: { anyOf: [{ $ref: "levels.json#/$defs/level" }, { type: "string" }] } });
  const { "made-up.ts": text } = await generate(contract({ word }, [levels]));
  expect(text).toContain("level?: Level | (string & {}) | undefined;");
  expect(text).toContain('export type Level = Names;\nexport type Names = "low" | "high";');
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

/** A contract with a chain of definitions, each of which uses the next one twice. */
function chain(length: number): ContractDocument {
  const part = (at: number) =>
    object("", at < length ? { a: { $ref: `#/$defs/N${at}` }, b: { $ref: `#/$defs/N${at}` } } : {});
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, at) => [`N${at}`, { ...part(at + 1), title: `Part ${at}` }]),
  );
  return contract({ word: { ...part(0), title: "Word", $defs } });
}

test("a chain of definitions takes time and space in proportion to its length", async () => {
  const run = async (length: number) => {
    const start = performance.now();
    const files = await generate(chain(length));
    return { time: performance.now() - start, size: Object.values(files).join("").length };
  };
  await run(10);
  const best = async (length: number) => {
    const runs = [await run(length), await run(length), await run(length)];
    return { time: Math.min(...runs.map(({ time }) => time)), size: runs[0]!.size };
  };
  const [short, long] = [await best(250), await best(1000)];
  expect(long.size / short.size).toBeLessThan(4.2);
  // Twice the time of a linear growth; a quadratic one would be 16.
  expect(long.time / short.time).toBeLessThan(8);
}, 120_000);
