import { readFileSync } from "node:fs";
import * as mcp from "@modelcontextprotocol/sdk/types.js";
import { generate } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import type { SchemaObject } from "@parlance/wire";
import { compile as theirs } from "json-schema-to-typescript";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { subschemas } from "../packages/language/src/walk.js";
import { compile } from "../packages/protocols/test/compile.js";

// The published schemas of other protocols, with hundreds of definitions, most of them without a title.

type Definitions = Record<string, SchemaObject>;

function ofAcp(version: string): Definitions {
  const url = new URL(`node_modules/@agentclientprotocol/sdk/schema/${version}/schema.json`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")).$defs;
}

/** MCP's own SDK has its schemas as zod's. */
function ofMcp(): Definitions {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(mcp))
    if (name.endsWith("Schema") && schema instanceof z.ZodType)
      registry.add(schema, { id: name.replace(/Schema$/, "") });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/$defs/${id}`, unrepresentable: "any", io: "input" });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema, $id, ...schema }]) => [name, schema as SchemaObject]),
  );
}

/** A contract whose only message has a property of each definition. */
function contract($defs: Definitions) {
  const message = { title: "All", type: "object", properties: refers($defs), $defs };
  const formats = new Set(subschemas(message).flatMap(({ schema }) => (schema.format as string | undefined) ?? []));
  const stream = { status: 200, stream: { messages: ["all"] } };
  const files = {
    "contract.json": {
      format: 1,
      name: "made-up",
      title: "Made up",
      url: "http://localhost:1",
      tag: { in: "event" },
      formats: Object.fromEntries([...formats].map((name) => [name, { description: "Theirs." }])),
      messages: { all: { schema: "messages/all.json" } },
      operations: { talk: { method: "GET", path: "/talk", summary: "Talk.", answer: stream } },
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    },
    "messages/all.json": message,
    "messages/fault.json": { title: "FaultBody", type: "object", properties: { error: { type: "string" } } },
  };
  const texts = Object.entries(files).map(([file, value]) => [file, JSON.stringify(value)]);
  return assemble({ name: "made-up", files: Object.fromEntries(texts) });
}

const refers = ($defs: Definitions) =>
  Object.fromEntries(Object.keys($defs).map((name) => [`of${name}`, { $ref: `#/$defs/${name}` }]));

/** Without doc comments, where ours have the bounds too, and `| undefined`, which ours need under `exactOptionalPropertyTypes`. */
const sizeOf = (types: string) =>
  types
    .replace(/\/\*\*[\s\S]*?\*\//g, "")
    .replaceAll(" | undefined", "")
    .replace(/\s+/g, " ").length;

describe.each([
  ["ACP, version 1", ofAcp("v1")],
  ["ACP, version 2", ofAcp("v2")],
  ["MCP", ofMcp()],
])("the TypeScript of %s", (_, $defs) => {
  const made = generate(contract($defs)).then((files) => files["made-up.ts"]!);

  it("has a type for each definition, with its name", async () => {
    const names = new Set((await made).match(/(?<=^export (?:interface|type) )\w+/gm));
    expect(Object.keys($defs).length).toBeGreaterThan(140);
    expect(Object.keys($defs).filter((name) => !names.has(name))).toEqual([]);
  });

  it("compiles, and is not longer than that of json-schema-to-typescript", async () => {
    const text = await made;
    const alone = text
      .replace(/^import \{ checks, reads \}.*$/m, 'declare const { checks, reads }: import("@parlance/wire").Accepts;')
      .replace(/\(\) => import\([^)]*\)/, "null as never");
    expect(compile({ made: alone }).errors).toEqual({ made: [] });
    const schema = { title: "All", type: "object", properties: refers($defs), $defs } as const;
    const other = await theirs(structuredClone(schema) as never, "All", {
      bannerComment: "",
      additionalProperties: false,
    });
    const types = text
      .slice(text.indexOf("export "), text.indexOf("export interface FaultBody"))
      .replace('  type: "all";\n', "");
    expect(sizeOf(types)).toBeLessThanOrEqual(sizeOf(other));
    console.log(`${sizeOf(types)} characters beside ${sizeOf(other)}`);
  });
});
