import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContractDocument, SchemaObject, Side } from "@parlance/contract";
import { declaredFormats, subschemas, uncheckedFormats } from "@parlance/contract/schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { fastFormats } from "ajv-formats/dist/formats.js";
import { build, transform } from "esbuild";
import { expressions } from "./expressions.js";
import { GenerateError } from "./names.js";
import { canonical, rules } from "./rules.js";
import { inputs } from "./schema.js";

/**
 * A module that exports `checks` of what one side writes, by title: the wire form of its messages; of the server also every
 * JSON answer and the fault body, of the client the flat inputs. It imports nothing, and has no `new Function`.
 */
export async function validators(document: ContractDocument, side: Side): Promise<string> {
  const schemas = wireForms(document, side);
  const all = Object.values({ ...document.schemas, ...schemas });
  const formats = formatsOf(document);
  const { compile, print } = seldom(all, formats);
  const { refer, declarations } = expressions((reference) => at(all, reference), formats, compile);
  // Schemas that say the same are checked by one function.
  const first = new Map<string, string>();
  let source: string;
  try {
    const names = Object.entries(schemas).map(([title, schema]) => {
      const text = canonical(schema);
      if (!first.has(text)) first.set(text, schema.$id as string);
      return [title, refer(first.get(text)!)] as const;
    });
    // What is used in one place is written there.
    const own = new Map(
      names.flatMap(([, name]) => (declarations.get(name)!.uses === 1 ? [[name, declarations.get(name)!.text]] : [])),
    );
    const declared = [...declarations].flatMap(([name, { text }]) => (own.has(name) ? [] : `const ${name} = ${text};`));
    const checks = names.map(([title, name]) => `${JSON.stringify(title)}: ${own.get(name) ?? name}`);
    source = `${print()}\n${declared.join("\n")}\nconst made = checking.checked({ ${checks.join(", ")} });\nexport { made as checks };`;
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GenerateError(document.contract.name, `a schema has no check: ${reason}; parlance lint says where`);
  }
  const bundled = await build({
    stdin: {
      contents: `import * as checking from "./checking";\n${source}`,
      resolveDir: dirname(fileURLToPath(import.meta.url)),
    },
    bundle: true,
    format: "esm",
    target: "es2022",
    minifyWhitespace: true,
    write: false,
  });
  // Printed over lines again so that a change can be read; what stood between was paths of this machine.
  const { code } = await transform(bundled.outputFiles[0]!.text, { format: "esm", target: "es2022" });
  return code.replace(/export \{\s*(\S+) as checks\s*\};\s*$/, "export const checks: Checks = $1;\n");
}

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

function at(schemas: readonly SchemaObject[], reference: string): SchemaObject {
  const [id, fragment = ""] = reference.split("#") as [string, string?];
  let found = schemas.find((one) => one.$id === id) as unknown;
  for (const step of fragment.split("/").slice(1))
    found = (found as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  if (!found) throw new TypeError(`nothing is at ${reference}`);
  return found as SchemaObject;
}

// ajv's types know this module as CommonJS only.
const write = (standalone as unknown as { default: (ajv: Ajv2020, ids: Record<string, unknown>) => string }).default;

/** Compiles the keywords that are not written as expressions, by ajv. */
function seldom(schemas: readonly SchemaObject[], formats: ReadonlyMap<string, RegExp | true>) {
  const ajv = new Ajv2020({
    strict: true,
    // What stands beside these keywords is checked elsewhere.
    strictRequired: false,
    strictTypes: false,
    strictTuples: false,
    allowUnionTypes: true,
    // The words of an error are the runtime's, made of keyword and params; they would be half of the module.
    messages: false,
    inlineRefs: false,
    code: { source: true, esm: true, optimize: 2 },
  });
  const unevaluated = schemas.some((root) =>
    [...subschemas(root)].some(({ schema }) => "unevaluatedProperties" in schema || "unevaluatedItems" in schema),
  );
  // To note what was evaluated costs a tenth in size; $dynamicRef is not in the vocabulary.
  Object.assign(ajv.opts, { unevaluated, dynamicRef: false });
  for (const [name, format] of formats) ajv.addFormat(name, format);
  for (const schema of schemas) ajv.addSchema(rules(schema));
  const ids: Record<string, string> = {};
  return {
    compile(keywords: SchemaObject): string {
      const name = `compiled${Object.keys(ids).length}`;
      ajv.addSchema({ ...keywords, $id: `/${name}` });
      ids[name] = `/${name}`;
      return name;
    },
    print: () =>
      Object.keys(ids).length === 0 ? "" : withoutSchemaPaths(write(ajv, ids)).replaceAll("export const", "const"),
  };
}

/** An error's place in the schema is not part of `CheckError`, and repeats what keyword and instance path say. */
const withoutSchemaPaths = (source: string) => source.replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
