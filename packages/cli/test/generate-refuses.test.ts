import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Edit, pets, table } from "../../language/test/pets.js";
import { folder, parlance } from "./terminal.js";

interface Case extends Edit {
  readonly fault: string;
  readonly found: string;
}

const all = table<Case>(readFileSync(new URL("../../language/test/lint.jsonl", import.meta.url), "utf8"));
const ruleOf = ({ found }: Case) => found.split(" ")[0]!;
/** One contract for each rule of lint. */
const cases = [...new Map(all.map((one) => [ruleOf(one), one])).values()];

it("knows a contract for each rule of lint", () => {
  expect(cases.length).toBeGreaterThan(20);
  expect(cases.map(ruleOf)).toContain("pattern");
});

it.each([
  ...cases.map((one) => [ruleOf(one), one] as const),
  ["pattern that a text makes slow", { set: { "said#/properties/text/pattern": "^(a+)+$" } }] as const,
])("refuses what lint refuses by its rule: %s", async (_, edit) => {
  const { files } = pets(edit);
  const cwd = await folder(Object.fromEntries(Object.entries(files).map(([file, text]) => [`pets/${file}`, text])));
  const linted = await parlance(cwd, "lint pets --json");
  const { findings } = JSON.parse(linted.out) as { findings: { severity?: string }[] };
  const errors = findings.filter(({ severity }) => severity === undefined);
  expect([linted.code, errors.length > 0]).toEqual([1, true]);
  const generated = await parlance(cwd, "generate pets --out out --json");
  expect([generated.code, existsSync(join(cwd, "out"))]).toEqual([1, false]);
  expect((JSON.parse(generated.out) as { findings: unknown[] }).findings).toEqual(errors);
});
