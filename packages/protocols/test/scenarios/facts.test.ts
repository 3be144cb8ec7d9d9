import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { namesIn, rowsOf, split } from "../../../../mutate/facts.js";

/*
 * Each protocol's FACTS.md lists what its document says: the section, the fact in our words, the places that hold it, and
 * the tests of it. A place or a test that is not there fails its row, and so does a row without either.
 */

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const there = (path: string) => existsSync(root + path);
const memo = new Map<string, string>();

function text(path: string): string {
  if (!memo.has(path)) memo.set(path, readFileSync(root + path, "utf8"));
  return memo.get(path)!;
}

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
  const [file, place] = split(root, `schemas/${protocol}`, name);
  if (place === "" || !there(file)) return false;
  if (place.startsWith("/") && file.endsWith(".json")) return leads(file, place.split("/").slice(1));
  return plain(text(file)).includes(plain(place));
}

/** Whether a place is in a row of the README's table of deviations, which gives its reason. */
function isDeviation(protocol: string, name: string): boolean {
  const [file, words] = split(root, `schemas/${protocol}`, name);
  const [, section = ""] = file.endsWith("README.md") ? text(file).split(/^## Deviations.*$/m) : [];
  const [table = ""] = section.split(/^## /m);
  return rowsOf(table).some(([here = "", why = ""]) => why !== "" && plain(`${here} ${why}`).includes(plain(words)));
}

const plain = (words: string) => words.replace(/[\s`*]+/g, " ");

interface Titles {
  readonly all: string[];
  /** Of the tests that run whatever is installed. */
  readonly always: string[];
}

/** The titles of a file's tests, and the words of the tables that they are made of, as they are written there. */
function titlesIn(file: string): Titles {
  const found: Titles = { all: [], always: [] };
  /** The tables, and whether a test that always runs is made of them. */
  const tables = new Map<string, boolean>();
  const words = (node: ts.Node, within: boolean, always: boolean): void => {
    const add = (text: string) => {
      found.all.push(text);
      if (always) found.always.push(text);
    };
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) add(node.text);
    else if (ts.isTemplateExpression(node)) add(node.getText());
    else if (ts.isIdentifier(node)) tables.set(node.text, always || tables.get(node.text) === true);
    else if (within && !ts.isFunctionLike(node)) ts.forEachChild(node, (child) => words(child, within, always));
  };
  const visit = (node: ts.Node, always: boolean): void => {
    const callee = ts.isCallExpression(node) ? node.expression.getText() : "";
    const runs = always && !/skipIf|runIf|^needs|^inChromium/.test(callee);
    if (ts.isCallExpression(node) && /^(?:it|test|describe|needs|inChromium)\b/.test(callee))
      for (const part of node.arguments) words(part, /\.each$/.test(callee), runs);
    ts.forEachChild(node, (child) => visit(child, runs));
  };
  /** A table may be a part of the rows of another one. */
  const loops = (node: ts.Node): void => {
    ts.forEachChild(node, loops);
    if (!ts.isForOfStatement(node) || !ts.isIdentifier(node.expression)) return;
    const names = node.initializer.getText().match(/\w+/g) ?? [];
    for (const name of names) if (tables.has(name)) tables.set(node.expression.text, tables.get(name)!);
  };
  const rows = (node: ts.Node): void => {
    const always = ts.isVariableDeclaration(node) ? tables.get(node.name.getText()) : undefined;
    if (always !== undefined && ts.isVariableDeclaration(node) && node.initializer)
      words(node.initializer, true, always);
    ts.forEachChild(node, rows);
  };
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  visit(source, true);
  loops(source);
  rows(source);
  return found;
}

const known = new Map<string, Titles>();

function titlesOf(file: string): Titles {
  if (!known.has(file)) known.set(file, titlesIn(file));
  return known.get(file)!;
}

/** Whether a title in the list has those words. */
const hasWords = (titles: readonly string[], words: string) =>
  titles.some((title) => title.replaceAll("`", "").includes(words));

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
    const fields = namesIn(held).flatMap((place) => /^messages.*\/properties\/(\w+)$/.exec(place)?.[1] ?? []);
    return fields.every((field) => line.replaceAll("\\", "").includes(`"${field}"`));
  }
  const [file, title] = split(root, "packages/protocols/test", name);
  // A few words at least, or any file has them.
  if (title.length < 8 || !file.endsWith(".test.ts") || !there(file)) return false;
  return hasWords(titlesOf(file).all, title);
}

/** Whether a test runs everywhere and holds a conversation: a line of a transcript, or a sample that no side sends by itself, is not enough. */
function isBehaviour(protocol: string, name: string): boolean {
  const [, sample] = /^sample (\d+)$/.exec(name) ?? [];
  if (sample === undefined) {
    const [file, title] = split(root, "packages/protocols/test", name);
    return file.endsWith(".test.ts") && there(file) && hasWords(titlesOf(file).always, title);
  }
  const { says } = JSON.parse(lineOf(protocol, name) ?? "{}") as { says?: string };
  const contract = JSON.parse(text(`schemas/${protocol}/contract.json`)) as Contract;
  const sent = [
    ...Object.values(contract.messages).map(({ schema }) => schema),
    ...Object.values(contract.operations ?? {}).flatMap(({ body, answer }) => [body, answer.json]),
  ];
  return sent.some(
    (file) => file && (JSON.parse(text(`schemas/${protocol}/${file}`)) as { title: string }).title === says,
  );
}

interface Contract {
  readonly messages: Readonly<Record<string, { readonly schema?: string }>>;
  readonly operations?: Readonly<
    Record<string, { readonly body?: string; readonly answer: { readonly json?: string } }>
  >;
}

/** What is wrong with a list. */
function faults(protocol: string, list: readonly string[][]): string[] {
  const seen = new Set<string>();
  return list.flatMap((cells) => {
    const [section = "", fact = "", held = "", tested = ""] = cells;
    const key = `${section}: ${fact}`;
    const problems = [
      ...(cells.length === 4 && section && fact ? [] : ["does not have its four cells"]),
      ...(seen.has(key) ? ["is there twice"] : []),
      ...(namesIn(held).length > 0 ? [] : ["has nothing that holds it"]),
      ...(namesIn(tested).length > 0 ? [] : ["has no test"]),
      ...(namesIn(tested).length > 0 && !namesIn(tested).some((name) => isBehaviour(protocol, name))
        ? ["has no test that always runs and holds a conversation"]
        : []),
      ...(/not followed/i.test(fact) && !namesIn(held).some((name) => isDeviation(protocol, name))
        ? ["is not followed, and is no deviation with a reason in the README"]
        : []),
      ...namesIn(held).flatMap((name) => (isHeld(protocol, name) ? [] : [`is not held by ${name}`])),
      ...namesIn(tested).flatMap((name) => (isTested(protocol, name, held) ? [] : [`has no test ${name}`])),
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
  const list = rowsOf(text(`schemas/${protocol}/FACTS.md`));

  it("each have a section, a sentence, a place that holds them and a test", () => {
    expect(faults(protocol, list)).toEqual([]);
  });

  const samples = text(`packages/protocols/test/documents/${protocol}.jsonl`).trimEnd().split("\n");

  it("have the section of every sample, by the document's own heading", () => {
    const sections = new Set(list.map(([section]) => section));
    const headings = samples.map((line) => (JSON.parse(line) as { at: string }).at);
    expect(headings.filter((heading) => !sections.has(heading))).toEqual([]);
  });

  it("have every sample of the document", () => {
    const cited = new Set(list.flatMap(([, , , tested = ""]) => namesIn(tested)));
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
  [
    "has no test scenarios/refusals.test.ts#import { fault",
    `| A | b | ${place} | \`scenarios/refusals.test.ts#import { fault\` |`,
  ],
  [
    "has no test scenarios/refusals.test.ts#SOMEBODY_ELSES",
    `| A | b | ${place} | \`scenarios/refusals.test.ts#SOMEBODY_ELSES\` |`,
  ],
  ["has nothing that holds it", "| A | b | | `sample 2` |"],
  [
    "is not held by messages/send.json#/properties/none",
    "| A | b | `messages/send.json#/properties/none` | `scenarios/documents.test.ts#has nothing that may be of another type` |",
  ],
  ["is not held by README.md#nobody says this", "| A | b | `README.md#nobody says this` | `sample 2` |"],
  ...[place, "`README.md#is about the connection and not about the answer`"].map((held) => [
    "is not followed, and is no deviation with a reason in the README",
    `| A | Not followed: b | ${held} | \`sample 2\` |`,
  ]),
  ...["peers/peers.test.ts#the Python loop hears every event", "complete-flow.jsonl 2", "sample 10"].map((tested) => [
    "has no test that always runs and holds a conversation",
    `| A | b | ${place} | \`${tested}\` |`,
  ]),
  ["does not have its four cells", `| A | b | ${place} |`],
  ["is there twice", `| A | b | ${place} | \`sample 2\` |\n| A | b | ${place} | \`sample 2\` |`],
])("a fact that %s is found", (problem, planted) => {
  expect(faults("fold-gateway", rowsOf(planted))).toContain(`A: ${/Not followed: b/.exec(planted) ?? "b"} ${problem}`);
});
