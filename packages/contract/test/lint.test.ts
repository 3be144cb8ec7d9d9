import { readFileSync } from "node:fs";
import { lint } from "@parlance/contract/lint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Edit, pets, table } from "./pets.js";

interface Case extends Edit {
  readonly part: string;
  readonly fault: string;
  /** Rule, file and pointer. */
  readonly found: string;
  readonly words: string;
}

const cases: readonly Case[] = table(readFileSync(new URL("./lint.jsonl", import.meta.url), "utf8"));
const place = ({ rule, file, pointer }: { rule: string; file: string; pointer: string }) =>
  `${rule} ${file}#${pointer}`;

test("a sound contract has no findings", async () => {
  expect(await lint(pets())).toEqual([]);
});

describe.each(["contract.json", "exchanges", "schemas", "tags", "transcripts"])(
  "lint of %s tells rule and place when",
  (part) => {
    test.each(cases.filter((one) => one.part === part))("$fault", async ({ found, words, ...edit }) => {
      const findings = (await lint(pets(edit))).map((finding) => ({ at: place(finding), message: finding.message }));
      expect(findings).toContainEqual({ at: found, message: expect.stringContaining(words) });
    });
  },
);

test("many faults are told in one run, broken files or not", async () => {
  const findings = await lint(
    pets({
      text: { "messages/word.json": "{" },
      set: {
        "said#/properties/text/minLenght": 1,
        "fault#/title": "Error",
        "#/surprise": true,
        "#/exchanges/0/key": "id",
      },
    }),
  );
  expect(findings.map(place)).toEqual([
    "exchange contract.json#/exchanges/0/key",
    "name contract.json#/operations/tell/answer/json",
    "form contract.json#/surprise",
    "title messages/fault.json#/title",
    "keyword messages/said.json#/properties/text/minLenght",
    "ref messages/talk.json#/properties/words/items/$ref",
    "ref messages/tell.json#/properties/word/$ref",
    "json messages/word.json#",
  ]);
});

test("schemas are judged though contract.json cannot be read", async () => {
  const findings = await lint(pets({ text: { "contract.json": "{" }, set: { "said#/examples": [] } }));
  expect(findings.map(place)).toEqual(["json contract.json#", "example messages/said.json#"]);
});

test("whatever stands at any place of a contract, lint returns and names files that are there", async () => {
  const sound = pets();
  const whole = Object.keys(sound.files).filter((file) => file.endsWith(".json"));
  const targets = whole.flatMap((file) =>
    [...places(JSON.parse(sound.files[file]!))].map((place) => ({ file, place })),
  );
  const put = (value: Record<string, unknown>, [key, ...rest]: readonly string[], junk: unknown): void => {
    if (rest.length > 0) put(value[key!] as Record<string, unknown>, rest, junk);
    else if (junk === undefined) delete value[key!];
    else value[key!] = junk;
  };
  const junk = [
    undefined,
    null,
    true,
    0,
    "",
    "said",
    "messages/said.json",
    "#/a",
    [],
    [null],
    ["said"],
    {},
    { a: {} },
    [{}],
  ];
  const property = fc.asyncProperty(
    fc.constantFrom(...targets),
    fc.constantFrom(...junk),
    async ({ file, place }, value) => {
      const broken = JSON.parse(sound.files[file]!);
      put(broken, place, value);
      const findings = await lint(pets({ text: { [file]: JSON.stringify(broken) } }), { patterns: false });
      for (const finding of findings) expect(Object.keys(sound.files)).toContain(finding.file);
    },
  );
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 40) });
});

/** Every place of a JSON value, as the keys that lead there. */
function* places(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    yield [...path, key];
    yield* places(child, [...path, key]);
  }
}
