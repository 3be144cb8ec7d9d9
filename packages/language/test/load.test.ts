import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble, ContractError, load, read } from "@parlance/language/load";
import { describe, expect, test } from "vitest";
import { referred } from "../src/folder.js";
import { inputSchema, memorySchema } from "../src/schema.js";
import { pets } from "./pets.js";

const failure = (run: () => unknown): ContractError => {
  try {
    run();
  } catch (error) {
    if (error instanceof ContractError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

describe("load", () => {
  test("names schemas by title and leaves prose in the source", () => {
    const { contract, source, schemas, files } = assemble(pets());
    expect(contract.messages).toEqual({
      said: { schema: "SaidMessage", shape: { const: { kind: "said" }, required: ["text"] } },
      over: { schema: "OverMessage", shape: { const: { kind: "over" } } },
      ask: { schema: "AskMessage", shape: { const: { kind: "ask" } } },
      reply: { schema: "ReplyMessage", shape: { const: { kind: "reply" } } },
    });
    expect(contract.operations.talk).toEqual({
      method: "POST",
      path: "/pets/{pet_id}/talk",
      parameters: { pet_id: { in: "path", type: "string" }, loud: { in: "query", type: "boolean" } },
      when: { stream: true },
      body: "TalkBody",
      answer: { status: 200, stream: { messages: ["said", "over"], end: ["over"] } },
      faults: { "404": {} },
    });
    expect(source.title).toBe("Pets");
    expect(schemas.SaidMessage?.$id).toBe("/pets/messages/said.json");
    expect(files.SaidMessage).toBe("messages/said.json");
  });

  test("reads a folder from disk", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parlance-load-"));
    try {
      for (const [file, text] of Object.entries(pets().files)) {
        await mkdir(join(folder, file, ".."), { recursive: true });
        await writeFile(join(folder, file), text);
      }
      expect((await read(folder)).files).toEqual(pets().files);
      expect(await load(folder)).toEqual(assemble(pets()));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("takes lines beside the transcripts for none, and empty lines for nothing", () => {
    const text = { "notes/x.jsonl": "{", "transcripts/x.json": "[]", "transcripts/y.jsonl": '\n{"note":"y"}\n\n' };
    const { "transcripts/x.json": _, ...lines } = text;
    const { transcripts } = assemble(pets({ text: lines }));
    expect(Object.keys(transcripts)).toEqual(["flow", "y"]);
    expect(transcripts.y).toEqual([{ note: "y" }]);
    expect(failure(() => assemble(pets({ text }))).message).toBe("pets/transcripts/x.json: must be a JSON object");
  });

  test("says which folder is not there", async () => {
    await expect(load("/nowhere/at/all")).rejects.toThrow("/nowhere/at/all is not a folder");
  });

  const broken: [string, Record<string, string | null>, string][] = [
    ["contract.json is missing", { "contract.json": null }, "pets/contract.json: is missing"],
    ["contract.json is not JSON", { "contract.json": "{" }, "pets/contract.json: is not JSON"],
    ["contract.json is not an object", { "contract.json": "[]" }, "pets/contract.json: must be a JSON object"],
    [
      "a schema is nested deeper than functions call themselves",
      { "messages/said.json": `${'{"items":'.repeat(100_000)}true${"}".repeat(100_000)}` },
      "pets/messages/said.json: is nested deeper than 256 levels",
    ],
    [
      "an example is nested a level too deep",
      { "messages/said.json": `{"title":"SaidMessage","examples":${"[".repeat(256)}${"]".repeat(256)}}` },
      "pets/messages/said.json: is nested deeper than 256 levels",
    ],
    [
      "a transcript line is nested too deep",
      { "transcripts/flow.jsonl": `{"note":${"[".repeat(256)}${"]".repeat(256)}}` },
      "pets/transcripts/flow.jsonl#/0: is nested deeper than 256 levels",
    ],
    ["a schema is not JSON", { "messages/said.json": "nope" }, "pets/messages/said.json: is not JSON"],
    [
      "a schema is missing",
      { "messages/said.json": null },
      "contract.json#/messages/said/schema: names messages/said.json, which does not exist",
    ],
    ["a schema has no title", { "messages/said.json": "{}" }, 'pets/messages/said.json#/title: needs a "title"'],
    [
      "two schemas share a title",
      { "messages/too.json": '{"title":"SaidMessage"}' },
      "messages/too.json#/title: has the title SaidMessage, and so has messages/said.json",
    ],
    [
      "a transcript line is not JSON",
      { "transcripts/flow.jsonl": '{"note":"x"}\n{' },
      "pets/transcripts/flow.jsonl#/1: is not JSON",
    ],
    [
      "contract.json has no form at all",
      { "contract.json": '{"messages":{"x":null}}' },
      "pets/contract.json: does not have the form of a contract",
    ],
  ];
  test.each(broken)("tells file and place when %s", (_, text, message) => {
    expect(failure(() => assemble(pets({ text }))).message).toContain(message);
  });

  test("has its findings as lint has them, with the rule of each", () => {
    const text = { "contract.json": '{"messages":{"x":null}}' };
    const { findings } = failure(() => assemble(pets({ text })));
    expect(findings.at(-1)).toMatchObject({ rule: "form", file: "contract.json", pointer: "" });
  });
});

describe("the schema of an input", () => {
  test("is path, query and body in one, without the constants of `when`", () => {
    expect(inputSchema(assemble(pets()), "talk")).toEqual({
      $id: "/pets/messages/TalkInput",
      title: "TalkInput",
      description: "Talk to a pet.",
      type: "object",
      properties: {
        pet_id: { type: "string", description: "Which." },
        loud: { type: "boolean" },
        words: { type: "array", items: { $ref: "word.json" } },
        mood: { $ref: "base.json#/$defs/mood" },
      },
      required: ["pet_id", "words"],
    });
  });

  test("of a channel is its parameters", () => {
    expect(inputSchema(assemble(pets()), "line")).toMatchObject({ title: "LineInput", required: ["pet_id"] });
  });
});

test("the schema of a message in memory carries its name and not its tag", () => {
  expect(memorySchema(assemble(pets()), "said")).toEqual({
    $id: "/pets/messages/said.json",
    title: "SaidMessage",
    description: "A pet says something.",
    type: "object",
    properties: { type: { const: "said" }, text: { type: "string" } },
    required: ["type", "text"],
    examples: [{ type: "said", text: "woof" }],
  });
});

test("the files that a folder's schemas refer to are read with it, once each, and no others", () => {
  const refer = (...refs: string[]) => JSON.stringify({ allOf: refs.map(($ref) => ({ $ref })) });
  const files = {
    "contract.json": refer("other.json"),
    "messages/a.json": refer("../shared/x.json#/$defs/deep", "b.json", "#/$defs/own", "../../common/y.json", "b.json"),
    "messages/b.json": refer("../shared/x.json", "../../../far.json", "https://example.com/z.json"),
    "transcripts/t.jsonl": refer("../shared/t.json"),
  };
  expect(referred(files)).toEqual(["../common/y.json", "shared/x.json"]);
});

test("a file of a contract may begin with a byte order mark", async () => {
  const directory = await mkdtemp(join(tmpdir(), "parlance-load-"));
  const { files } = pets();
  await mkdir(join(directory, "messages"));
  for (const [file, text] of Object.entries(files))
    if (!file.startsWith("transcripts/")) await writeFile(join(directory, file), `\uFEFF${text}`);
  expect((await load(directory)).contract).toEqual(assemble(pets()).contract);
  await rm(directory, { recursive: true });
});
