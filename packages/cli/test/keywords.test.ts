import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compat } from "@parlance/language/compat";
import { docs, generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { describe, expect, it } from "vitest";
import { KEYWORDS as BROKEN } from "../../conformance/src/mutant.js";
import { KEYWORDS, keywordsOf } from "../../language/src/keywords.js";
import { INSTEAD } from "../../language/src/lint/keywords.js";
import { pets } from "../../language/test/pets.js";

/** By keyword: a schema with it, and one to compare it with, by default the same without the keyword. */
const samples: Readonly<Record<string, readonly [now: object, old?: object]>> = JSON.parse(
  readFileSync(new URL("./keywords.json", import.meta.url), "utf8"),
);

const meta = createRequire(import.meta.resolve("ajv")).resolve("ajv/dist/refs/json-schema-2020-12/schema.json");
const vocabularies = "core applicator unevaluated validation meta-data format-annotation content".split(" ");
const defined = vocabularies.flatMap((name) =>
  Object.keys(JSON.parse(readFileSync(meta.replace("schema.json", `meta/${name}.json`), "utf8")).properties),
);

describe("the table of keywords", () => {
  it("has every keyword of JSON Schema 2020-12 that lint does not refuse", () => {
    expect(defined.length).toBeGreaterThan(50);
    expect(defined.filter((name) => !Object.hasOwn(KEYWORDS, name)).sort()).toEqual(
      defined.filter((name) => Object.hasOwn(INSTEAD, name)).sort(),
    );
  });

  it("has a sample of every keyword here", () => {
    expect(Object.keys(samples)).toEqual(Object.keys(KEYWORDS));
  });

  it("names the keywords that the suite breaks", () => {
    expect(keywordsOf(({ suite }) => suite).sort()).toEqual([...BROKEN].sort());
  });
});

describe.each(Object.keys(KEYWORDS))("the keyword %s", (name) => {
  const [now, given] = samples[name]!;
  const { [name as never]: _, ...without } = now;
  const contract = (schema: object) => pets({ set: { "said#/properties/text": schema } });
  const [before, after] = [assemble(contract(given ?? without)), assemble(contract(now))];
  const row = KEYWORDS[name]!;

  it("is one that lint knows", async () => {
    const findings = await lint(contract(now), { examples: false });
    expect(findings.filter(({ message }) => /is not (used|a keyword)/.test(message))).toEqual([]);
  });

  it(`is compared as ${row.compat}`, () => {
    expect(compat(before, after).length > 0).toBe(!["prose", "loaded"].includes(row.compat));
  });

  it(`is for types: ${row.types}`, async () => {
    const [old, text] = await Promise.all([before, after].map(async (one) => (await generate(one))["pets.ts"]!));
    const code = (all: string) => all.replace(/\/\*\*[\s\S]*?\*\/\s*/g, "");
    const found = code(old!) !== code(text!) ? "type" : old !== text ? "comment" : "none";
    expect(found).toBe(row.types);
  });

  it(row.checked ? "is checked by validators" : "is not checked by validators", async () => {
    const files = await Promise.all([before, after].map(generate));
    const [old, text] = files.map((one) => one["pets.validators.ts"]! + one["pets.accepts.ts"]!);
    expect(old !== text).toBe(row.checked);
  });

  // Loading replaces an anchor where it is used, and documents name one dialect for all schemas.
  const isLeftOut = ["$anchor", "$schema"].includes(name);
  it(isLeftOut ? "is not in the documents" : "is in the documents", () => {
    expect(JSON.stringify(docs(after)) !== JSON.stringify(docs(before))).toBe(!isLeftOut);
  });
});
