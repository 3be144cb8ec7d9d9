import { parseArgs } from "node:util";
import { docs } from "@parlance/codegen";
import { type Io, UsageError } from "./io.js";
import { produce } from "./produce.js";

export const help = `parlance docs [DIR] --out OUT [--check] [--json]

Writes an OpenAPI document, an AsyncAPI 3.0 document and a Markdown reference of the contract in DIR, or of every contract in
it (default ./schemas), to OUT.

  --out OUT    the folder to write to
  --check      write nothing; fail when a file in OUT is not what would be written
  --json       one JSON document: { "findings": [{ contract, rule, message, file, line, pointer }] }

Exit codes: 0 fine, 1 a contract has faults or a file is stale, 2 usage, or a file that cannot be read or written.
`;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    options: { out: { type: "string" }, check: { type: "boolean" }, json: { type: "boolean" } },
    allowPositionals: true,
  });
  if (values.out === undefined) throw new UsageError("--out OUT is needed: the folder to write to");
  return produce(docs, { ...values, out: values.out, from: positionals[0] ?? "schemas" }, io);
}
