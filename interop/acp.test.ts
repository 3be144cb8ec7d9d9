import { readdirSync, readFileSync } from "node:fs";
import { importContract } from "@parlance/language/import";
import type { SchemaObject } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { subschemas } from "../packages/language/src/walk.js";

// The contract of ACP beside one that is imported from the schema of its official SDK.

const folder = new URL("../schemas/acp/", import.meta.url);
const json = (file: string) => JSON.parse(readFileSync(new URL(file, folder), "utf8"));
const schema = new URL("node_modules/@agentclientprotocol/sdk/schema/v1/schema.json", import.meta.url);

describe("the contract of ACP", async () => {
  const { files } = await importContract(readFileSync(schema, "utf8"), { name: "acp", origin: "schema.json" });
  const { "contract.json": contract, ...messages } = files;

  it("has the structure of the official schema, definition by definition", () => {
    const names = readdirSync(new URL("messages", folder)).map((name) => `messages/${name}`);
    expect(names.sort()).toEqual(Object.keys(messages).sort());
    for (const [file, text] of Object.entries(messages))
      expect(withoutProse(json(file)), file).toEqual(withoutProse(JSON.parse(text)));
  });

  it("has the methods of the official schema, by the same sides", () => {
    const sides = (methods: object) =>
      Object.fromEntries(
        Object.entries(methods).map(([name, { by, params, result }]) => [name, { by, params, result }]),
      );
    expect(sides(json("contract.json").methods)).toEqual(sides(JSON.parse(contract!).methods));
  });
});

/** A schema without what people and other tools read: its structure. */
function withoutProse(schema: unknown): unknown {
  const copy = structuredClone(schema) as SchemaObject;
  for (const { schema: inner } of subschemas(copy)) {
    delete (inner as { description?: string }).description;
    delete (inner as { examples?: unknown }).examples;
    delete (inner as { discriminator?: unknown }).discriminator;
  }
  return copy;
}
