import { expect, test } from "vitest";
import { kindOfName } from "../src/redaction/names.js";
import { valueAt, valuesIn } from "../src/redaction/quoted.js";
import { randomIn } from "../src/redaction/random.js";
import { Redactor } from "../src/redaction/redactor.js";
import { merged, type Span } from "../src/redaction/span.js";
import { secretsIn } from "../src/redaction/text.js";
import { unfinished } from "../src/redaction/unfinished.js";
import { assigned } from "./redact-assigned.js";
import { growing, texts } from "./redact-texts.js";

// What redaction finds in texts, to the character. `-u` rewrites the lists; a change of one is a change of what a recording shows.

/** A text with marks around parts of it. */
function marked(text: string, spans: readonly Span[]): string {
  let shown = text;
  for (const { from, to } of merged(spans).reverse())
    shown = `${shown.slice(0, from)}«${shown.slice(from, to)}»${shown.slice(to)}`;
  return JSON.stringify(shown).slice(1, -1);
}

test.each(Object.keys(texts))("the secrets of %s are as they are listed", async (what) => {
  const lines = texts[what]!.flatMap((text) => {
    const forms = [
      ["found", marked(text, secretsIn(text, kindOfName))],
      ["joined", marked(text, secretsIn(text, kindOfName, false))],
      ["random", marked(text, randomIn(text, []))],
    ].filter(([how, shown], at, all) => (how === "joined" ? shown !== all[0]![1] : at === 0 || shown!.includes("«")));
    const clean = new Redactor().text(text);
    const inner = JSON.parse(new Redactor().text(JSON.stringify({ text }))).text;
    return [
      ...forms.map(([how, shown]) => `${how}: ${shown}`),
      ...(clean === text ? [] : [`  ${JSON.stringify(clean)}`]),
      ...(inner === clean ? [] : [`  in JSON: ${JSON.stringify(inner)}`]),
    ];
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`./redacted/${what.replaceAll(" ", "-")}.txt`);
});

test.each(Object.keys(assigned))("the values behind the name %s are as they are listed", async (name) => {
  const lines = assigned[name]!.map((text) => marked(text, secretsIn(text, kindOfName)));
  await expect(`${lines.filter((line) => line.includes("«")).join("\n")}\n`).toMatchFileSnapshot(
    `./redacted/name-${name.replace(/\W/g, "-")}.txt`,
  );
});

test("the place where the end of a text may begin a secret is as it is listed, for each beginning of a text", async () => {
  const lines = growing.flatMap((text) => {
    const rows: string[] = [];
    for (let length = 1; length <= text.length; length++) {
      const part = text.slice(0, length);
      const at = unfinished(part, kindOfName);
      rows.push(`${JSON.stringify(part.slice(0, at))} ${JSON.stringify(part.slice(at))}`);
    }
    return rows;
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./redacted/unfinished.txt");
});

test.each([
  ['a="b c" d', 2, "b c", true],
  ["a='b\\'c' d", 2, "b\\'c", true],
  ['a=\\"b\\" d', 2, "b", true],
  ['a=\\"b\\\\\\"c\\" d', 2, 'b\\\\\\"c', true],
  ['a="b\nc"', 2, "b", true],
  ['a="b\rc"', 2, "b", true],
  ['a="b', 2, "b", true],
  ['a=""', 2, "", true],
  ["a=bcd, e", 2, "bcd", false],
  ["a=bcd.!?: e", 2, "bcd", false],
  ["a=bc e", 2, undefined, false],
  ["a= bcd", 2, undefined, false],
])("the value in %j at %i is %j", (text, at, value, quoted) => {
  const found = valueAt(text, at);
  expect(found && text.slice(found.from, found.to)).toBe(value);
  if (found) expect(found.quoted).toBe(quoted);
});

test.each<[string, string[], number]>([
  ['{"a": "b", "c": 12, "d": {"e": "f"}} "g"', ["b", "12", "f"], 35],
  ['["a", -1.5e3, ["b"], ""] "c"', ["a", "-1.5e3", "b"], 23],
  ['{"a" : "b"', ["b"], 10],
  ['{\\"a\\": \\"b\\"}', ["b"], 13],
  ['x{"a": "b"}', [], 0],
])("the values of the object or list in %j are %j", (text, values, to) => {
  const found = valuesIn(text, 0);
  expect(found.values.map((one) => text.slice(one.from, one.to))).toEqual(values);
  expect(found.to).toBe(to);
});

test("the values of an object or list are read up to a length", () => {
  for (const [spaces, to] of [
    [4992, 5002],
    [4993, 5000],
    [4998, 5001],
  ] as const)
    expect(valuesIn(`[${" ".repeat(spaces - 1)}"a"${" ".repeat(4)}"b"`, 0).to, `${spaces}`).toBe(to);
});
