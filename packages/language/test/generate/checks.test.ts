import { fileURLToPath } from "node:url";
import type { Check, Checks, Json, SchemaObject, Side } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile } from "../../../protocols/test/compile.js";
import { wireForms } from "../../src/generate/validators.js";
import { inputSchema, memorySchema, tagProperties } from "../../src/schema.js";
import { sample } from "../sample.js";
import { expectKnown } from "./checks-in.js";
import { named } from "./contracts.js";

const seed = 2026;
const modules: Record<Side, string> = { server: "validators", client: "accepts" };
const junk: readonly Json[] = [null, true, 0, -1, 1.5, "", "x", [], [null], {}, { type: 1 }];

/** Values one step away from a good one: something left out, or something else in its place, anywhere in it. */
function spoiled(value: Json, random: (below: number) => number): Json {
  if (typeof value !== "object" || value === null || random(6) === 0) return junk[random(junk.length)]!;
  if (Array.isArray(value)) {
    if (value.length === 0) return [junk[random(junk.length)]!];
    const at = random(value.length);
    return value.map((item, index) => (index === at ? spoiled(item, random) : item));
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return junk[random(junk.length)]!;
  const at = random(entries.length);
  const left = random(3) === 0;
  return Object.fromEntries(
    entries.flatMap(([key, item], index) =>
      index !== at ? [[key, item]] : left ? [] : [[key, spoiled(item, random)]],
    ),
  );
}

describe.each(named)("the checks of %s", async (name, document) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv, { mode: "fast" });
  for (const schema of Object.values(document.schemas)) ajv.addSchema(schema as AnySchema);
  const cases: [Side, string, SchemaObject, Check][] = [];
  for (const side of ["server", "client"] as const) {
    const path = fileURLToPath(new URL(`../../../protocols/src/${name}.${modules[side]}.ts`, import.meta.url));
    const { checks } = (await import(path)) as { checks: Checks };
    const forms = wireForms(document, side);
    test(`the ${side}'s are those of everything that it writes`, () => {
      expect(Object.keys(checks)).toEqual(Object.keys(forms));
    });
    for (const [title, schema] of Object.entries(forms)) cases.push([side, title, schema, checks[title]!]);
  }

  test.each(cases)("%s: every example and sample of %s passes", (_, __, schema, check) => {
    for (const value of [...(schema.examples ?? []), ...sample(document, schema, { seed, count: 50 })]) {
      expect(check(value), `seed ${seed}: ${JSON.stringify(value)} ${JSON.stringify(check.errors)}`).toBe(true);
      expect(check.errors).toBeNull();
    }
  });

  test.each(cases)(
    "%s: a spoiled %s gets the verdict of the whole of ajv, and errors that ajv has too",
    (_, __, schema, check) => {
      const { $id, ...rest } = schema;
      const whole = ajv.getSchema($id as string) ?? ajv.compile({ $id, ...rest } as AnySchema);
      const draws = fc.sample(fc.infiniteStream(fc.nat()), { seed, numRuns: 60 });
      let refused = 0;
      sample(document, schema, { seed, count: 60 }).forEach((value, index) => {
        const draw = draws[index]!;
        const bad = spoiled(value, (below) => draw.next().value % below);
        const verdict = whole(bad);
        expect(check(bad), `seed ${seed}: ${JSON.stringify(bad)}`).toBe(verdict);
        if (!verdict) refused += 1;
        expectKnown(check.errors, whole.errors, `seed ${seed}: ${JSON.stringify(bad)}`);
      });
      expect(refused).toBeGreaterThan(0);
    },
  );
});

test("what a schema allows in memory, its type allows, and with its tag the wire form does", async () => {
  const files: Record<string, string> = {};
  for (const [name, document] of named) {
    const { contract } = document;
    const lines: string[] = [];
    const typed = (title: string, values: readonly Json[]) => {
      lines.push(`export const of${title}: readonly t.${title}[] = ${JSON.stringify(values)};`);
    };
    for (const [message, { schema, shape }] of Object.entries(contract.messages)) {
      const values = sample(document, memorySchema(document, message), { seed, count: 6 });
      typed(schema, values);
      const tags = tagProperties(contract.tag, contract.messages[message]!);
      const said = Object.fromEntries(tags.map((key) => [key, shape?.const?.[key] ?? message]));
      const check = (await checksOf(name))[schema]!;
      for (const value of values as readonly Record<string, Json>[]) {
        const { type, ...rest } = value;
        const wire = { ...rest, ...said };
        expect(check(wire), `seed ${seed}: ${JSON.stringify(wire)}`).toBe(true);
      }
    }
    for (const [call, one] of Object.entries({ ...contract.operations, ...contract.channels })) {
      if (one.parameters === undefined && !("body" in one)) continue;
      const input = inputSchema(document, call);
      typed(input.title!, sample(document, input, { seed, count: 6 }));
    }
    for (const { answer } of Object.values(contract.operations))
      if (answer.json && !lines.some((line) => line.startsWith(`export const of${answer.json}:`)))
        typed(answer.json, sample(document, document.schemas[answer.json]!, { seed, count: 6 }));
    files[name] = `import type * as t from "@parlance/protocols/${name}";\n${lines.join("\n")}`;
  }
  for (const [name, errors] of Object.entries(compile(files).errors))
    expect(errors, `${name}, seed ${seed}`).toEqual([]);
}, 120_000);

async function checksOf(name: string): Promise<Checks> {
  const paths = Object.values(modules).map(
    (module) => new URL(`../../../protocols/src/${name}.${module}.ts`, import.meta.url),
  );
  const [written, accepted] = await Promise.all(
    paths.map(async (path) => (await import(fileURLToPath(path))) as { checks: Checks }),
  );
  return { ...written!.checks, ...accepted!.checks };
}
