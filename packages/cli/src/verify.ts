import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Conversations, type Finding, type Header, read, Verifier } from "@parlance/conformance";
import { contractAt } from "./contract.js";
import { isDirectory } from "./folders.js";
import { exit, type Io, type Options, UsageError } from "./io.js";

export const help = `parlance verify FILE [--contract DIR] [--json]

Reads a recording: whether it is whole, and whether each message fits the contract: schemas, order, exchanges, ends. Without a contract
only the file is checked. Its memory does not grow with the file.

  --contract DIR  the contract, or a folder that has it (default ./schemas where it is one)
  --json          one JSON document: { "file", "state", "reason"?, "lines", "contract"?, "connections", "messages", "unknown",
                  "findings": [{ line, connection, rule, message, at? }], "more" }; state is complete, cut or altered

Exit codes: 0 complete and right, 1 cut, altered, or not as the contract says, 2 usage, or a file that cannot be read.
`;

export const options = {
  contract: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

/** Findings that are kept; more are counted. */
const MOST = 1000;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError("name one recording");
  const path = resolve(io.cwd, name);
  const header = await headerOf(path);
  const folder =
    values.contract ?? ((await isDirectory(resolve(io.cwd, "schemas"))) && header?.contract ? "schemas" : undefined);
  const loaded = folder === undefined ? undefined : await contractAt(folder, io, header?.contract?.name);

  const findings: Finding[] = [];
  let left = 0;
  const found = (finding: Finding) => void (findings.length < MOST ? findings.push(finding) : left++);
  const talk = loaded && new Conversations(loaded.contract, await loaded.contract.accepts());
  const verifier = talk && new Verifier(talk, found);
  const ending = await read(createReadStream(path, { highWaterMark: 1 << 20 }), {
    hash: createHash("sha256"),
    onHeader: (one) => verifier?.header(one),
    onEntry: (entry, line) => verifier?.entry(entry, line),
  });
  verifier?.end(ending.lines, ending.state !== "complete");

  const digest = header?.contract?.digest;
  const other = loaded && digest !== undefined && digest !== loaded.digest;
  const report = {
    file: name,
    ...ending,
    ...(loaded && { contract: loaded.contract.name, ...verifier!.totals }),
    findings,
    more: left,
  };
  if (values.json) io.out(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const { line, rule, message } of findings) io.out(`${name}:${line}: ${message} [${rule}]\n`);
    if (left > 0) io.out(`and ${left} more\n`);
    if (other) io.err(`${loaded.contract.name} has changed since the recording was made\n`);
    const messages = loaded
      ? `, ${verifier!.totals.messages} messages held against ${loaded.contract.name}`
      : ", held against no contract";
    const wrong = findings.length + left;
    io.err(
      `${name}: ${ending.state}${ending.reason ? ` (${ending.reason})` : ""}, ${ending.lines} lines${messages}: ${wrong === 0 ? "nothing is wrong" : `${wrong} wrong`}\n`,
    );
  }
  return ending.state === "complete" && findings.length === 0 ? exit.fine : exit.findings;
}

/** The first line alone: it names the contract by which the rest is read. */
async function headerOf(path: string): Promise<Header | undefined> {
  let header: Header | undefined;
  const stream = createReadStream(path);
  const first = async function* () {
    for await (const chunk of stream) {
      yield chunk as Uint8Array;
      if (header) return;
    }
  };
  await read(first(), {
    onHeader: (one) => {
      header = one;
    },
    onEntry() {},
  });
  stream.destroy();
  return header;
}
