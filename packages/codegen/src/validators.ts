import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContractDocument, SchemaObject } from "@parlance/contract";
import { inputSchema } from "@parlance/contract/schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { fastFormats } from "ajv-formats/dist/formats.js";
import { build, transform } from "esbuild";
import { hasInput } from "./interfaces.js";
import { mapSchema } from "./schema.js";

/** What a check does not need: prose, and the type of a value for the compiler. */
const annotations = ["title", "description", "examples", "default", "deprecated", "tsType", "$comment"];

/**
 * A module that exports `checks`: by title, a function for the wire form of every message, the flat input of every call,
 * every JSON answer and the fault body. No runtime of ajv is left in it, and no `new Function`.
 */
export async function validators(document: ContractDocument): Promise<string> {
  const ajv = new Ajv2020({
    strict: true,
    // "then": { "required": […] } names properties that stand outside of it.
    strictRequired: false,
    allowUnionTypes: true,
    // The words of an error are the runtime's, made of keyword and params; they would be half of the module.
    messages: false,
    inlineRefs: false,
    code: { source: true, esm: true, optimize: 2 },
  });
  // Both are needed by unevaluatedProperties and $dynamicRef only, which a contract may not use, and cost a tenth in size.
  Object.assign(ajv.opts, { unevaluated: false, dynamicRef: false });
  for (const [name, format] of Object.entries(fastFormats)) {
    // A regular expression goes into the module by itself; a function would bring all formats with it.
    const pattern = typeof format === "object" && "validate" in format ? format.validate : format;
    if (pattern instanceof RegExp) ajv.addFormat(name, pattern);
  }
  const bare = (schema: SchemaObject) =>
    mapSchema(schema, (one) => Object.fromEntries(Object.entries(one).filter(([key]) => !annotations.includes(key))));
  for (const schema of Object.values(document.schemas)) ajv.addSchema(bare(schema) as object);

  const exported: Record<string, string> = {};
  for (const title of wireForms(document)) exported[title] = document.schemas[title]!.$id as string;
  for (const [name, call] of Object.entries({ ...document.contract.operations, ...document.contract.channels })) {
    if (!hasInput(call)) continue;
    const input = inputSchema(document, name);
    ajv.addSchema(bare(input) as object);
    exported[input.title!] = input.$id as string;
  }
  const titles = Object.keys(exported).sort();
  // ajv's types know this module as CommonJS only.
  const source = (
    standalone as unknown as { default: (ajv: Ajv2020, names: Record<string, string>) => string }
  ).default(ajv, Object.fromEntries(titles.map((title) => [title, exported[title]!])));
  const module = withoutSchemaPaths(source).replace(/export const (?=\w+ = validate\d+;)/g, "const ");
  const bundled = await build({
    stdin: {
      contents: `${module}export const checks = { ${titles.join(", ")} };`,
      resolveDir: dirname(fileURLToPath(import.meta.url)),
    },
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    write: false,
  });
  // Minified for size, and printed over lines again so that a change can be read; what stood between was paths of this machine.
  const { code } = await transform(bundled.outputFiles[0]!.text, { format: "esm", target: "es2022" });
  return code.replace(
    /export \{\s*(\S+) as checks\s*\};\s*$/,
    "export const checks: Readonly<Record<string, Check>> = $1;\n",
  );
}

/** The titles of what goes over the wire as a whole: messages, answers and the fault body. */
function wireForms({ contract }: ContractDocument): Set<string> {
  return new Set([
    ...Object.values(contract.messages).map(({ schema }) => schema),
    ...Object.values(contract.operations).flatMap(({ answer }) => answer.json ?? []),
    contract.fault.schema,
  ]);
}

/** An error's place in the schema is not part of `CheckError`, and repeats what keyword and instance path say. */
const withoutSchemaPaths = (source: string) => source.replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
