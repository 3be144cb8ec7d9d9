import { readdirSync, readFileSync } from "node:fs";
import type { SchemaObject } from "@parlance/wire";
import { expect, it } from "vitest";
import { subschemas } from "../packages/language/src/walk.js";
import { convert, officialMethods, officialSchema } from "./import-acp.js";

// The contract of ACP beside the schema of its official SDK, of which it was made.

const folder = new URL("../schemas/acp/", import.meta.url);
const json = (file: string) => JSON.parse(readFileSync(new URL(file, folder), "utf8"));

it("has the structure of the official schema, definition by definition", () => {
  const official = convert(officialSchema());
  const files = readdirSync(new URL("messages", folder)).map((name) => `messages/${name}`);
  expect(files.sort()).toEqual(Object.keys(official).sort());
  const ours = Object.fromEntries(files.map((file) => [file, withoutProse(json(file))]));
  expect(ours).toEqual(
    Object.fromEntries(Object.entries(official).map(([file, schema]) => [file, withoutProse(schema)])),
  );
});

it("has the methods of the official schema, by the same sides", () => {
  const { methods } = json("contract.json");
  const ours = Object.entries<Record<string, string>>(methods).map(([name, { by, params, result }]) => {
    return [name, JSON.parse(JSON.stringify({ by, params, result }))];
  });
  expect(Object.fromEntries(ours)).toEqual(officialMethods(officialSchema()));
});

/** A schema without what people read: its structure. */
function withoutProse(schema: unknown): unknown {
  const copy = structuredClone(schema) as SchemaObject;
  for (const { schema: inner } of subschemas(copy)) {
    delete (inner as { description?: string }).description;
    delete (inner as { examples?: unknown }).examples;
  }
  return copy;
}
