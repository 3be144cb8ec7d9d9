import { parseArgs } from "node:util";
import { docs } from "@parlance/language/generate";
import { type Io, type Options, UsageError } from "./io.js";
import { produce } from "./produce.js";
import { repeat } from "./watch.js";

export const help = `parlance docs [DIR] --out OUT [--check] [--watch] [--json]

Writes an OpenAPI document, an AsyncAPI 3.0 document and a Markdown reference of the contract in DIR, or of every contract in
it (default ./schemas), to OUT.

  --out OUT    the folder to write to
  --check      write nothing; fail when a file in OUT is not what would be written (examples are for lint to judge)
  --watch      run again after each change, until Ctrl-C
  --json       one JSON document: { "findings": [{ contract, rule, message, file, line, pointer }] }

Exit codes: 0 fine, 1 a contract has faults or a file is stale, 2 usage, or a file that cannot be read or written.
`;

export const options = {
  out: { type: "string" },
  check: { type: "boolean" },
  watch: { type: "boolean" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  if (values.out === undefined) throw new UsageError("--out OUT is needed: the folder to write to");
  const production = { ...values, out: values.out, from: positionals[0] ?? "schemas" };
  const once = () => produce(docs, production, io);
  return values.watch ? repeat(production.from, once, io) : once();
}
