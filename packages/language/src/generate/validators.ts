import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContractDocument, SchemaObject, Side } from "@parlance/wire";
import { build, transform } from "esbuild";
import { FORMATS } from "../formats.js";
import { resultsFor } from "../methods.js";
import { answerHeaders, inputs, locate } from "../schema.js";
import { declaredFormats } from "../source.js";
import { tolerance } from "../tolerance.js";
import { expressions } from "./checks.js";
import { GenerateError } from "./names.js";
import { reads } from "./reads.js";
import { canonical } from "./rules.js";
import { seldom } from "./seldom.js";

/**
 * A module that exports `checks` of what one side writes, by title: the wire form of its messages; of the server also every
 * JSON answer and the fault body, of the client the flat inputs; and `reads`, which bring all of that to its documented form first. It
 * imports nothing, and has no `new Function`.
 */
export async function validators(document: ContractDocument, side: Side): Promise<string> {
  const schemas = wireForms(document, side);
  const all = { ...document.schemas, ...schemas };
  const formats = new Map([...FORMATS, ...declaredFormats(document.source)]);
  const { compile, print } = seldom(Object.values(all), formats);
  const find = (reference: string) => {
    const found = locate({ schemas: all }, reference.split("#")[0]!, reference);
    if (!found) throw new TypeError(`can't resolve reference ${reference}`);
    return found.schema;
  };
  const isTolerant = tolerance(all);
  const { refer, declarations, forms } = expressions(find, formats, compile, isTolerant);
  // Equal schemas share one function.
  const first = new Map<string, string>();
  let source: string;
  try {
    const names = Object.entries(schemas).map(([title, schema]) => {
      const text = canonical(schema);
      if (!first.has(text)) first.set(text, schema.$id as string);
      return [title, refer(first.get(text)!)] as const;
    });
    const written = declarations();
    // A check used once is written in place.
    const own = new Map(
      names.flatMap(([, name]) => (written.get(name)!.uses === 1 ? [[name, written.get(name)!.text]] : [])),
    );
    const tolerant = names.filter(([title]) => isTolerant([schemas[title]!, String(schemas[title]!.$id)]));
    for (const [, name] of tolerant) own.delete(name);
    const declared = [...written].flatMap(([name, { text }]) => (own.has(name) ? [] : `const ${name} = ${text};`));
    const object = (some: typeof names) =>
      `{ ${some.map(([title, name]) => `${JSON.stringify(title)}: ${own.get(name) ?? name}`).join(", ")} }`;
    const more = tolerant.length === 0 ? [] : [`tolerant: tolerating.tolerated(${object(tolerant)})`];
    source = `${print()}\n${forms().join("\n")}\n${declared.join("\n")}\nconst made = checking.checked(${object(names)});\nconst readers = ${reads(document.contract, side, messagesOf(document, side), more)};\nexport { made as checks, readers as reads };`;
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GenerateError(document.contract.name, `a schema has no check: ${reason}; parlance lint says where`);
  }
  const bundled = await build({
    stdin: {
      contents: `import * as checking from "./checking";\nimport * as reading from "./reading";\nimport * as tolerating from "./tolerating";\n${source}`,
      resolveDir: dirname(fileURLToPath(import.meta.url)),
    },
    bundle: true,
    format: "esm",
    target: "es2022",
    minifyWhitespace: true,
    write: false,
  });
  // Printed over lines again, so that diffs are readable; the dropped comments were paths of this machine.
  const { code } = await transform(bundled.outputFiles[0]!.text, { format: "esm", target: "es2022" });
  const exported = /export \{\s*(\S+) as checks,\s*(\S+) as reads\s*\};\s*$/;
  return code.replace(exported, "export const checks: Checks = $1;\nexport const reads: Reads = $2;\n");
}

/** The schemas that one side writes, by title and in order. */
export function wireForms(document: ContractDocument, side: Side): Readonly<Record<string, SchemaObject>> {
  const { contract, schemas } = document;
  const forms: SchemaObject[] = [];
  if (side === "client") forms.push(...inputs(document));
  else {
    const answers = Object.values(contract.operations).map(({ answer }) => answer);
    forms.push(
      ...answers.flatMap(({ json }) => json ?? []).map((title) => schemas[title]!),
      schemas[contract.fault.schema]!,
      ...answerHeaders(document),
    );
  }
  forms.push(...resultsFor(document, side).map((title) => schemas[title]!));
  for (const message of messagesOf(document, side)) forms.push(schemas[contract.messages[message]!.schema]!);
  const byTitle = new Map(forms.map((schema) => [schema.title!, schema]));
  return Object.fromEntries([...byTitle].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The names of one side's messages. */
function messagesOf({ contract }: ContractDocument, side: Side): string[] {
  const onChannels = Object.values(contract.channels).flatMap((channel) => channel[side]);
  const operations = side === "client" ? [] : Object.values(contract.operations);
  return [...onChannels, ...operations.flatMap(({ answer }) => answer.stream?.messages ?? [])];
}
