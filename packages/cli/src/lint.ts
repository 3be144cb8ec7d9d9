import { parseArgs } from "node:util";
import { lint } from "@parlance/language/lint";
import { contractsAt, type Place } from "./folders.js";
import { exit, type Io, type Options } from "./io.js";
import { placeIn, print, type Remark } from "./report.js";
import { repeat } from "./watch.js";

export const help = `parlance lint [DIR] [--strict] [--watch] [--json]

Lists every problem of the contract in DIR, or of every contract in it (default ./schemas).

  --strict  a warning, such as a property without a description, is an error
  --watch   run again after each change, until Ctrl-C
  --json    one JSON document: { "findings": [{ contract, rule, message, file, line, pointer, column?, severity? }] }

Exit codes: 0 nothing is wrong, 1 something is, 2 usage, or a folder that cannot be read.
`;

export const options = {
  json: { type: "boolean" },
  strict: { type: "boolean" },
  watch: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const from = positionals[0] ?? "schemas";
  const once = () => report(from, values, io);
  return values.watch ? repeat(from, once, io) : once();
}

async function report(
  from: string,
  values: { readonly strict?: boolean; readonly json?: boolean },
  io: Io,
): Promise<number> {
  const { places } = await contractsAt(from, io);
  const found = await faults(places, { descriptions: true });
  const findings: readonly Remark[] = values.strict ? found.map(({ severity, ...finding }) => finding) : found;
  const errors = findings.filter(({ severity }) => severity === undefined).length;
  if (values.json) io.out(`${JSON.stringify({ findings }, null, 2)}\n`);
  else print(findings, io);
  if (!values.json) {
    const contracts = `${places.length} ${places.length === 1 ? "contract" : "contracts"}`;
    const warnings = findings.length - errors;
    const warned = warnings === 0 ? "" : `, ${warnings} ${warnings === 1 ? "warning" : "warnings"}`;
    io.err(`${contracts}: ${errors === 0 ? "nothing is wrong" : `${errors} wrong`}${warned}\n`);
  }
  return errors === 0 ? exit.fine : exit.findings;
}

/** The findings of lint about contracts, with the lines of their files. */
export async function faults(
  places: readonly Place[],
  options?: { readonly descriptions?: boolean; readonly examples?: boolean },
): Promise<Remark[]> {
  const all = places.map(async (place) =>
    (await lint(place.folder, options)).map(({ rule, message, file, pointer, at, severity }) => ({
      contract: place.folder.name,
      rule,
      message,
      ...placeIn(place, file, pointer),
      pointer,
      ...(at && { line: at.line, column: at.column }),
      ...(severity && { severity }),
    })),
  );
  return (await Promise.all(all)).flat();
}
