import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import type { Json, SchemaObject } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { inputSchema, memorySchema } from "../../src/schema.js";
import { sample } from "../sample.js";

const schemas = fileURLToPath(new URL("../../../../schemas/", import.meta.url));
const contracts = readdirSync(schemas, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const seed = 20260;

describe.each(contracts.map(({ name }) => name))("sampling %s", async (name) => {
  const document = await load(schemas + name);
  const named: [string, SchemaObject][] = [
    ...Object.entries(document.schemas),
    ...Object.keys(document.contract.messages).map((one): [string, SchemaObject] => [one, memorySchema(document, one)]),
    ...Object.keys({ ...document.contract.operations, ...document.contract.channels }).map(
      (one): [string, SchemaObject] => [`${one} input`, inputSchema(document, one)],
    ),
  ];

  test.each(named)("%s gives as many values as asked for", (_, schema) => {
    expect(sample(document, schema, { seed, count: 30 })).toHaveLength(30);
  });

  test("the same seed gives the same values", () => {
    const [, schema] = named[0]!;
    const values = (): readonly Json[] => sample(document, schema, { seed, count: 5 });
    expect(values()).toEqual(values());
  });
});
