import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContractDocument, SchemaObject, Side } from "@parlance/contract";
import { declaredFormats, subschemas, uncheckedFormats } from "@parlance/contract/schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { fastFormats } from "ajv-formats/dist/formats.js";
import { build, transform } from "esbuild";
import { useSmallKeywords } from "./keywords.js";
import { GenerateError } from "./names.js";
import { canonical, rules } from "./rules.js";
import { inputs } from "./schema.js";

// ajv's types know this module as CommonJS only.
const print = (standalone as unknown as { default: (ajv: Ajv2020, ids: Record<string, unknown>) => string }).default;

/**
 * A module that exports `checks` of what one side writes, by title: the wire form of its messages; of the server also every
 * JSON answer and the fault body, of the client the flat inputs. No runtime of ajv is left in it, and no `new Function`.
 */
export async function validators(document: ContractDocument, side: Side): Promise<string> {
  const ajv = new Ajv2020({
    strict: true,
    // Whatever lint passes has a check; it is lint that looks for slips.
    strictTypes: false,
    strictTuples: false,
    allowMatchingProperties: true,
    // "then": { "required": […] } names properties that stand outside of it.
    strictRequired: false,
    allowUnionTypes: true,
    // The words of an error are the runtime's, made of keyword and params; they would be half of the module.
    messages: false,
    inlineRefs: false,
    code: { source: true, esm: true, optimize: 2 },
  });
  const unevaluated = Object.values(document.schemas).some((root) =>
    [...subschemas(root)].some(({ schema }) => "unevaluatedProperties" in schema || "unevaluatedItems" in schema),
  );
  // To note what was evaluated costs a tenth in size; $dynamicRef is not in the vocabulary.
  Object.assign(ajv.opts, { unevaluated, dynamicRef: false });
  useSmallKeywords(ajv, unevaluated);
  for (const [name, format] of formatsOf(document)) ajv.addFormat(name, format);

  const schemas = wireForms(document, side);
  // Schemas that say the same are checked by one function.
  const first = new Map<string, string>();
  const checks = Object.entries(schemas).map(([title, schema]) => {
    const text = canonical(schema);
    if (!first.has(text)) first.set(text, title);
    return `${title}: ${constant(first.get(text)!)}`;
  });
  let source: string;
  try {
    for (const schema of Object.values({ ...document.schemas, ...schemas })) ajv.addSchema(rules(schema) as object);
    source = print(ajv, Object.fromEntries([...first.values()].map((title) => [constant(title), schemas[title]!.$id])));
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GenerateError(document.contract.name, `a schema has no check: ${reason}; parlance lint says where`);
  }
  const module = withoutSchemaPaths(source).replace(/export const (?=\w+ = validate\d+;)/g, "const ");
  const bundled = await build({
    stdin: {
      contents: `${module}export const checks = { ${checks.join(", ")} };`,
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
  return code.replace(/export \{\s*(\S+) as checks\s*\};\s*$/, "export const checks: Checks = $1;\n");
}

/** What a check is called in its module, where it must not hide what the module uses, such as `Object`. */
const constant = (title: string) => (title in globalThis ? `of${title}` : title);

/** A regular expression goes into the module by itself; a function would bring all formats with it, so those pass any value. */
function formatsOf({ source }: ContractDocument): Map<string, RegExp | true> {
  const known = Object.entries(fastFormats).map(([name, format]): [string, RegExp | true] => {
    const pattern = typeof format === "object" && "validate" in format ? format.validate : format;
    return [name, pattern instanceof RegExp ? pattern : true];
  });
  const unchecked = uncheckedFormats.map((name) => [name, true] as const);
  return new Map([...unchecked, ...known, ...declaredFormats(source)]);
}

/** The schemas of what one side writes, by title and in its order. */
export function wireForms(document: ContractDocument, side: Side): Readonly<Record<string, SchemaObject>> {
  const { contract, schemas } = document;
  const messages = Object.values(contract.channels).flatMap((channel) => channel[side]);
  const forms: SchemaObject[] = [];
  if (side === "client") forms.push(...inputs(document));
  else {
    const answers = Object.values(contract.operations).map(({ answer }) => answer);
    messages.push(...answers.flatMap(({ stream }) => stream?.messages ?? []));
    forms.push(
      ...answers.flatMap(({ json }) => json ?? []).map((title) => schemas[title]!),
      schemas[contract.fault.schema]!,
    );
  }
  for (const message of messages) forms.push(schemas[contract.messages[message]!.schema]!);
  const byTitle = new Map(forms.map((schema) => [schema.title!, schema]));
  return Object.fromEntries([...byTitle].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** An error's place in the schema is not part of `CheckError`, and repeats what keyword and instance path say. */
const withoutSchemaPaths = (source: string) => source.replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
