import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

/*
 * Each protocol's FACTS.md lists what its document says: the section, the fact in our words, the places that hold it, and
 * the tests of it. A place or a test that is not there fails its row, and so does a row without either.
 */

const root = fileURLToPath(new URL("../../../", import.meta.url));
const there = (path: string) => existsSync(root + path);
const memo = new Map<string, string>();

function text(path: string): string {
  if (!memo.has(path)) memo.set(path, readFileSync(root + path, "utf8"));
  return memo.get(path)!;
}

type Row = readonly string[];

function rows(list: string): Row[] {
  return list
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| section |"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** What stands in back quotes, each of which names a place. */
const named = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Whether a JSON Pointer leads somewhere in a file, through the references of schemas. */
function leads(file: string, steps: readonly string[], value: unknown = JSON.parse(text(file))): boolean {
  const [step, ...rest] = steps;
  if (step === undefined) return value !== undefined;
  if (!isObject(value)) return false;
  const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
  if (Object.hasOwn(value, key)) return leads(file, rest, value[key]);
  const { $ref, allOf, anyOf, oneOf } = value;
  if (typeof $ref === "string") {
    const [other, pointer = ""] = $ref.split("#") as [string, string?];
    const target = other === "" ? file : posix.join(posix.dirname(file), other);
    return there(target) && leads(target, [...pointer.split("/").slice(1), ...steps]);
  }
  return [allOf, anyOf, oneOf].flat().some((one) => isObject(one) && leads(file, steps, one));
}

/** A place is a file with a JSON Pointer into it, or with words that stand in it. */
function isHeld(protocol: string, name: string): boolean {
  const [path, place = ""] = name.split("#") as [string, string?];
  const file = there(`schemas/${protocol}/${path}`) ? `schemas/${protocol}/${path}` : path;
  if (place === "" || !there(file)) return false;
  if (place.startsWith("/") && file.endsWith(".json")) return leads(file, place.split("/").slice(1));
  const plain = (words: string) => words.replace(/[\s`*]+/g, " ");
  return plain(text(file)).includes(plain(place));
}

/** The titles of a file's tests, and the words of the tables that they are made of, as they are written there. */
function titles(file: string): string[] {
  const found: string[] = [];
  const tables = new Set<string>();
  const words = (node: ts.Node, within: boolean): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.text);
    else if (ts.isTemplateExpression(node)) found.push(node.getText());
    else if (ts.isIdentifier(node)) tables.add(node.text);
    else if (within && !ts.isFunctionLike(node)) ts.forEachChild(node, (child) => words(child, within));
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:it|test|describe|needs|inChromium)\b/.test(node.expression.getText()))
      for (const part of node.arguments) words(part, /\.each$/.test(node.expression.getText()));
    ts.forEachChild(node, visit);
  };
  const rows = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && tables.has(node.name.getText()))
      words(node.initializer, true);
    ts.forEachChild(node, rows);
  };
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  visit(source);
  rows(source);
  return found;
}

const known = new Map<string, string[]>();

/** The JSON of a line that is a test of its own, or undefined. */
function lineOf(protocol: string, name: string): string | undefined {
  const [, file, number] = /^(sample|[\w.-]+\.jsonl) (\d+)$/.exec(name) ?? [];
  if (file === undefined) return undefined;
  const path =
    file === "sample"
      ? `packages/protocols/test/documents/${protocol}.jsonl`
      : `schemas/${protocol}/transcripts/${file}`;
  const line = there(path) ? text(path).split("\n")[Number(number) - 1] : undefined;
  // A note and an end are no tests.
  return line && /^\{"at"|^\{"from".*"(?:call|status|wire)":/.test(line) ? line : undefined;
}

/** A sample of the document, a line of a transcript, or the title of a test; whatever a place names stands in a line of it. */
function isTested(protocol: string, name: string, held: string): boolean {
  const line = lineOf(protocol, name);
  if (line !== undefined) {
    const fields = named(held).flatMap((place) => /^messages.*\/properties\/(\w+)$/.exec(place)?.[1] ?? []);
    return fields.every((field) => line.replaceAll("\\", "").includes(`"${field}"`));
  }
  const [path, title = ""] = name.split("#") as [string, string?];
  const file = there(`packages/protocols/test/${path}`) ? `packages/protocols/test/${path}` : path;
  // A few words at least, or any file has them.
  if (title.length < 8 || !file.endsWith(".test.ts") || !there(file)) return false;
  if (!known.has(file)) known.set(file, titles(file));
  return known.get(file)!.some((found) => found.replaceAll("`", "").includes(title));
}

/** Tests of programs that may not be installed: Chromium, Emacs, Python, curl. */
const mayBeSkipped = /^peers\/(?:peers|emacs)\.test\.ts#/;

/** What is wrong with a list. */
function faults(protocol: string, list: readonly Row[]): string[] {
  const seen = new Set<string>();
  return list.flatMap((cells) => {
    const [section = "", fact = "", held = "", tested = ""] = cells;
    const key = `${section}: ${fact}`;
    const problems = [
      ...(cells.length === 4 && section && fact ? [] : ["does not have its four cells"]),
      ...(seen.has(key) ? ["is there twice"] : []),
      ...(named(held).length > 0 ? [] : ["has nothing that holds it"]),
      ...(named(tested).length > 0 ? [] : ["has no test"]),
      ...(named(tested).length > 0 && named(tested).every((name) => mayBeSkipped.test(name))
        ? ["rests on tests that are skipped where a program is missing"]
        : []),
      ...(/not followed/i.test(fact) && !/`README\.md#/.test(held) ? ["is not followed, and no README says so"] : []),
      ...named(held).flatMap((name) => (isHeld(protocol, name) ? [] : [`is not held by ${name}`])),
      ...named(tested).flatMap((name) => (isTested(protocol, name, held) ? [] : [`has no test ${name}`])),
    ];
    seen.add(key);
    return problems.map((problem) => `${key} ${problem}`);
  });
}

const protocols = readdirSync(`${root}schemas`).filter((name) => there(`schemas/${name}/FACTS.md`));

it("each document has a list of its facts", () => {
  expect(protocols).toEqual(["agentsmithy", "based", "emacs-agent", "fold-gateway", "loco"]);
});

describe.each(protocols)("The facts of the %s document", (protocol) => {
  const list = rows(text(`schemas/${protocol}/FACTS.md`));

  it("each have a section, a sentence, a place that holds them and a test", () => {
    expect(faults(protocol, list)).toEqual([]);
  });

  it("have every sample of the document", () => {
    const cited = new Set(list.flatMap(([, , , tested = ""]) => named(tested)));
    const samples = text(`packages/protocols/test/documents/${protocol}.jsonl`).trimEnd().split("\n");
    expect(samples.map((_, index) => `sample ${index + 1}`).filter((name) => !cited.has(name))).toEqual([]);
  });
});

const place = "`messages/send.json#/properties/content`";
it.each([
  ["has no test", `| A | b | ${place} | |`],
  ["has no test a", `| A | b | ${place} | \`a\` |`],
  ["has no test sample 99", `| A | b | ${place} | \`sample 99\` |`],
  ["has no test sample 1", `| A | b | ${place} | \`sample 1\` |`],
  ["has no test no-agents.jsonl 1", `| A | b | ${place} | \`no-agents.jsonl 1\` |`],
  ["has no test no-agents.jsonl 8", `| A | b | ${place} | \`no-agents.jsonl 8\` |`],
  ["has no test refusals.test.ts#import { fault", `| A | b | ${place} | \`refusals.test.ts#import { fault\` |`],
  ["has no test refusals.test.ts#SOMEBODY_ELSES", `| A | b | ${place} | \`refusals.test.ts#SOMEBODY_ELSES\` |`],
  ["has nothing that holds it", "| A | b | | `sample 2` |"],
  [
    "is not held by messages/send.json#/properties/none",
    "| A | b | `messages/send.json#/properties/none` | `documents.test.ts#has nothing that may be of another type` |",
  ],
  ["is not held by README.md#nobody says this", "| A | b | `README.md#nobody says this` | `sample 2` |"],
  ["is not followed, and no README says so", `| A | Not followed: b | ${place} | \`sample 2\` |`],
  [
    "rests on tests that are skipped where a program is missing",
    `| A | b | ${place} | \`peers/peers.test.ts#the Python loop hears every event\` |`,
  ],
  ["does not have its four cells", `| A | b | ${place} |`],
  ["is there twice", `| A | b | ${place} | \`sample 2\` |\n| A | b | ${place} | \`sample 2\` |`],
])("a fact that %s is found", (problem, planted) => {
  expect(faults("fold-gateway", rows(planted))).toContain(`A: ${/Not followed: b/.exec(planted) ?? "b"} ${problem}`);
});
