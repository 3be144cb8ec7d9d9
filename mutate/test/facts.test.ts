import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Fact, readFacts, testsOf } from "../facts.js";
import { mutantsOf } from "../mutants.js";
import { offsetOf, placesOf } from "../places.js";

const FILES: Readonly<Record<string, string>> = {
  "schemas/chat/FACTS.md": `| section | fact | held by | tested by |
|---|---|---|---|
| A | The path. | \`contract.json#/operations/send\` | \`sample 3\`, \`flow.jsonl 2\` |
| B | A text. | \`README.md#text\`, \`messages/text.json#/properties/inner/properties/text\` | \`one.test.ts#sends %s, \\\`twice\` |
`,
  "schemas/chat/contract.json": `{
  "description": "Not a place.",
  "operations": {
    "send": {
      "path": "/send",
      "summary": "Prose.",
      "answer": { "status": 200 }
    }
  }
}
`,
  "schemas/chat/messages/text.json": `{
  "properties": { "inner": { "$ref": "inner.json" } }
}
`,
  "schemas/chat/messages/inner.json": `{
  "required": ["text"],
  "properties": {
    "text": { "type": "string", "minLength": 1, "description": "A text." }
  }
}
`,
  "packages/chat/src/limit.ts": `/** The limit. */
export const limits = { most: 3, least: 1 };

export function within(size: number): boolean {
  if (size > limits.most) return false;
  return size >= 1;
}
`,
};
const root = mkdtempSync(join(tmpdir(), "mutate-facts-"));
for (const [file, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
afterAll(() => rmSync(root, { recursive: true }));

const fact = (given: Partial<Fact>): Fact => ({
  protocol: "chat",
  section: "",
  fact: "",
  held: [],
  tested: [],
  ...given,
});

test("a list of facts is read by its columns", () => {
  expect(readFacts(root)).toMatchObject([
    { protocol: "chat", section: "A", fact: "The path.", tested: ["sample 3", "flow.jsonl 2"] },
    { section: "B", held: ["README.md#text", "messages/text.json#/properties/inner/properties/text"] },
  ]);
});

/** The changed lines of all mutants at the places of a fact. */
function changed(held: string): string[] {
  return placesOf(root, fact({ held: [held] })).flatMap(({ file, start, end }) =>
    mutantsOf(file, FILES[file]!)
      .filter((mutant) => {
        const at = offsetOf(FILES[file]!, mutant);
        return start <= at && at < end;
      })
      .map(({ after }) => after.trim()),
  );
}

describe("the mutants of a place", () => {
  test.each([
    ["are those of the values of an object, without its prose", "contract.json#/operations/send", ['"path": "",', ""]],
    [
      "are those behind a reference",
      "messages/text.json#/properties/inner/properties/text",
      [
        '"text": { "type": "", "minLength": 1, "description": "A text." }',
        '"text": {  "minLength": 1, "description": "A text." }',
        '"text": { "type": "string", "minLength": 2, "description": "A text." }',
        '"text": { "type": "string", "minLength": 0, "description": "A text." }',
        '"text": { "type": "string",  "description": "A text." }',
      ],
    ],
    [
      "are those of a property in the sources",
      "packages/chat/src/limit.ts#least",
      [
        "export const limits = { most: 3, least: 2 };",
        "export const limits = { most: 3, least: 0 };",
        "export const limits = { most: 3,  };",
      ],
    ],
    [
      "are those of a whole function by its name",
      "packages/chat/src/limit.ts#within(",
      expect.arrayContaining(["return size > 1;"]),
    ],
    ["are none of a text", "README.md#text", []],
  ])("%s", (_, held, lines) => {
    const found = changed(held);
    expect(found.sort()).toEqual(Array.isArray(lines) ? [...lines].sort() : lines);
  });
});

test("a test is named by its file and an expression for its title", () => {
  const titles = (tested: string) => testsOf(root, fact({ tested: [tested] })).map(({ title }) => new RegExp(title));
  const [documents, exchanged] = titles("sample 3");
  expect("Of the chat document, the sample 3, under A").toMatch(documents!);
  expect("The samples of chat, in memory sample 3, under A").toMatch(exchanged!);
  expect("The samples of chat, in memory sample 33, under A").not.toMatch(exchanged!);
  const [, held] = titles("flow.jsonl 2");
  expect("'chat' our client holds the transcript flow").toMatch(held!);
  expect("'chat-2' our client holds the transcript flow").not.toMatch(held!);
  const [words] = titles("one.test.ts#sends %s (twice)");
  expect("a client sends `x` (`twice`)").toMatch(words!);
  expect(testsOf(root, fact({ tested: ["peers/peers.test.ts#curl"] }))).toEqual([]);
});
