import { readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ImportError, type Imported, importContract, type Note } from "@parlance/language/import";
import { named, showNext, shownIn, writeContract } from "./init.js";
import { exit, type Io, type Options, UsageError } from "./io.js";
import { placeIn, print } from "./report.js";

export const help = `parlance import FILE [DIR] [--prose] [--force]

Makes a contract from FILE: an OpenAPI 3 document, or a JSON Schema of any draft from 04 with the methods of JSON-RPC, a union of
messages, or definitions. DIR is its folder (default ./schemas/NAME, by the file's name). It copies the structure of the schemas and
makes examples. What a contract cannot have is left out and listed.

  --prose   copy descriptions, summaries and examples too, which are the work of their authors
  --force   write into a folder that is not empty, over files of the same names

Exit codes: 0 written, 1 written, and lint finds something to change by hand, 2 usage, or a file that cannot be read or written.
`;

export const options = {
  prose: { type: "boolean" },
  force: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [from, to] = positionals;
  if (from === undefined) throw new UsageError("name the file: parlance import openapi.json");
  const directory = resolve(io.cwd, to ?? join("schemas", nameOf(from)));
  const name = basename(directory);
  const wrong = named(name);
  if (wrong !== undefined) throw new UsageError(wrong);
  const shown = shownIn(io, directory);
  if (!values.force && (await readdir(directory).catch(() => [])).length > 0)
    throw new UsageError(`${shown} is not empty; nothing was written. --force writes over files of the same names`);
  // Some editors begin a file with a byte order mark.
  const text = (await readFile(resolve(io.cwd, from), "utf8")).replace(/^\uFEFF/, "");
  const made = await importContract(text, { name, origin: basename(from), prose: values.prose }).catch((error) => {
    throw error instanceof ImportError ? new UsageError(`${from} ${error.message}`) : error;
  });
  await writeContract(directory, made.files);
  io.out(`${shown}: ${summary(made)}\n`);
  io.out(notes(made.notes, from));
  const place = { path: shown, folder: { name, files: made.files } };
  const remarks = made.findings.map(({ rule, message, file, pointer, severity }) => ({
    contract: name,
    rule,
    message,
    ...placeIn(place, file, pointer),
    pointer,
    ...(severity && { severity }),
  }));
  print(remarks, io);
  showNext(directory, io);
  return remarks.some(({ severity }) => severity === undefined) ? exit.findings : exit.fine;
}

/** `My_Protocol.schema.json` → `my-protocol`. */
function nameOf(file: string): string {
  const words = basename(file)
    .replace(/(\.schema|\.openapi)?\.[^.]*$/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase();
  return words.replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+|-$/g, "") || "my-agent";
}

function summary({ files }: Imported): string {
  const { methods = {}, messages = {}, operations = {} } = JSON.parse(files["contract.json"]!);
  const schemas = Object.keys(files).length - 1;
  const counts = { method: methods, operation: operations, message: messages };
  const parts = Object.entries(counts).flatMap(([word, all]) => count(Object.keys(all).length, word));
  return [...parts, ...count(schemas, "schema")].join(", ");
}

const count = (number: number, word: string) => (number === 0 ? [] : [`${number} ${word}${number === 1 ? "" : "s"}`]);

/** Groups the notes by their text, each with its first place in the file. */
function notes(all: readonly Note[], from: string): string {
  if (all.length === 0) return "";
  const places = new Map<string, string[]>();
  for (const { pointer, message } of all) places.set(message, [...(places.get(message) ?? []), pointer]);
  const lines = [...places].map(([message, [first, ...others]]) => {
    const more =
      others.length === 0 ? "" : ` (and at ${others.length} more ${others.length === 1 ? "place" : "places"})`;
    return `  ${first || "the document"}: ${message}${more}\n`;
  });
  return `\nNot as in ${from}:\n${lines.join("")}`;
}
