import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as mcp from "@modelcontextprotocol/sdk/types.js";
import { generate } from "@parlance/language/generate";
import { importContract } from "@parlance/language/import";
import { lint } from "@parlance/language/lint";
import { assemble, type ContractFolder } from "@parlance/language/load";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { compile } from "../packages/protocols/test/compile.js";

// The schemas of other protocols in their installed official packages, as contracts: by import, and by these lines of JSON by hand.

const options = { unrepresentable: "any", io: "input" } as const;

const acp = (version: string) =>
  JSON.parse(
    readFileSync(
      new URL(`node_modules/@agentclientprotocol/sdk/schema/${version}/schema.json`, import.meta.url),
      "utf8",
    ),
  );

/** MCP's own SDK has its schemas as zod's. */
function ofMcp(): object {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(mcp))
    if (name.endsWith("Schema") && schema instanceof z.ZodType)
      registry.add(schema, { id: name.replace(/Schema$/, "") });
  return { $defs: z.toJSONSchema(registry, { uri: (id) => `#/$defs/${id}`, ...options }).schemas };
}

/** AG-UI has a zod of its own. */
function ofAgUi(): object {
  const client = createRequire(createRequire(import.meta.url).resolve("@ag-ui/client"));
  const core = createRequire(client.resolve("@ag-ui/core"));
  return core("zod/v4").toJSONSchema(client("@ag-ui/core/schemas").EventSchemas, options);
}

const settings: readonly string[] = [
  "knip/schema.json",
  "@biomejs/biome/configuration_schema.json",
  "tsup/schema.json",
];
const others = Object.fromEntries(
  settings.map((file) => [
    file,
    () => JSON.parse(readFileSync(new URL(`../node_modules/${file}`, import.meta.url), "utf8")),
  ]),
);

interface Protocol {
  readonly document: () => object;
  /** What is written by hand into contract.json. */
  readonly byHand?: object;
  /** The most characters of TypeScript. @default 300,000 */
  readonly most?: number;
  readonly has: { readonly methods?: number; readonly messages?: number };
}

const run = {
  method: "POST",
  path: "/agent",
  summary: "Run the agent.",
  answer: {
    status: 200,
    stream: {
      end: ["RUN_FINISHED", "RUN_ERROR"],
      fault: "RUN_ERROR",
      text: { append: { TEXT_MESSAGE_CONTENT: "delta" } },
    },
  },
};

const protocols: Record<string, Protocol> = {
  "ACP, version 1": {
    document: () => acp("v1"),
    byHand: {
      session: "sessionId",
      rpc: { version: "2.0", cancel: "$/cancel_request", extensions: "_" },
      methods: {
        "session/prompt": { stream: "session/update", cancel: "session/cancel" },
        "session/request_permission": { ask: true },
      },
    },
    has: { methods: 25 },
  },
  "ACP, version 2": { document: () => acp("v2"), has: { methods: 18 } },
  MCP: {
    document: ofMcp,
    byHand: { methods: { ping: { summary: "Is the other side there?" } } },
    has: { methods: 30 },
  },
  "AG-UI": {
    document: ofAgUi,
    byHand: {
      messages: { RUN_ERROR: { fault: { text: ["/message"], code: ["/code"] } } },
      operations: { receive: run },
    },
    has: { messages: 30 },
  },
  ...Object.fromEntries(
    settings.map((file) => [file, { document: others[file]!, most: 1_000_000, has: { messages: 1 } }]),
  ),
};

/** Objects are merged, and any other value replaces. */
function merged(base: unknown, patch: unknown): unknown {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject(base) || !isObject(patch)) return patch;
  const own = Object.entries(patch as object).map(([key, value]) => [
    key,
    merged((base as Record<string, unknown>)[key], value),
  ]);
  return { ...(base as object), ...Object.fromEntries(own) };
}

/** A generated file without the files beside it. */
const alone = (text: string) =>
  text
    .replace(/^import \{ checks, reads \}.*$/m, 'declare const { checks, reads }: import("@parlance/wire").Accepts;')
    .replace(/\(\) => import\([^)]*\)/, "null as never");

describe.each(Object.entries(protocols))("the schema of %s", (_, { document, byHand = {}, most = 300_000, has }) => {
  it("becomes a contract that lints, generates and compiles, in at most 300 kB of a protocol", {
    timeout: 600_000,
  }, async () => {
    const made = await importContract(JSON.stringify(document()), { name: "other", origin: "its official package" });
    expect(made.findings).toEqual([]);
    const contract = JSON.parse(made.files["contract.json"]!);
    for (const [kind, least] of Object.entries(has))
      expect(Object.keys(contract[kind]).length).toBeGreaterThanOrEqual(least);
    const whole = JSON.stringify(merged(contract, byHand), null, 2);
    expect(JSON.stringify(byHand, null, 2).split("\n").length).toBeLessThanOrEqual(60);
    const folder: ContractFolder = { name: "other", files: { ...made.files, "contract.json": whole } };
    expect(await lint(folder, { patterns: false })).toEqual([]);
    const files = await generate(assemble(folder));
    const size = Object.values(files).join("").length;
    expect(compile({ other: alone(files["other.ts"]!) }).errors).toEqual({ other: [] });
    expect(size).toBeLessThanOrEqual(most);
    console.log(`${size} characters, ${made.notes.length} notes`);
  });
});
