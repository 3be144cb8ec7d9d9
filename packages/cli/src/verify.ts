import { parseArgs } from "node:util";
import { Conversations, type Finding, Verifier } from "@parlance/recordings";
import { unsendable } from "@parlance/recordings/internal/entries";
import { visible } from "@parlance/wire/internal/escape";
import { exit, type Io, type Options } from "./io.js";
import { contractHelp, describeState, type Ending, recordingAt } from "./recording.js";

export const help = `parlance verify FILE [--contract DIR] [--json]

Checks that a recording is whole (neither cut nor altered) and that it fits its contract: schemas, order, exchanges, ends,
statuses, headers, and that each side writes the documented form: what is read by one of the contract's reading rules is a finding, once.
A contract's transcript is checked the same way, but for its forms. Memory does not grow with the file.

Without a contract only the file is checked, and no message in it: the output says so, and the exit code is about the file alone. Of a
recording with metadata only, no texts are checked.

  --contract DIR  ${contractHelp}
                  (default ./schemas, if it has the contract that the recording names)
  --json          one JSON document: { "file", "state", "reason"?, "lines", "checked": [rule], "contract"?, "changed"?, "of"?, "connections",
                  "messages", "unknown", "unknownTypes": { name: count }, "leftOut": { reason: count }, "findings": [{ line, connection, rule, message, at? }], "more" }; state is complete, cut or
                  altered; checked is empty without a contract; changed: the contract is another than when it was recorded;
                  of: the contract that the recording names, if it is another

Exit codes: 0 nothing that was checked is wrong, 1 cut, altered, or not as the contract says, 2 usage, a contract that parlance lint refuses,
or a file that cannot be read.
`;

export const options = {
  contract: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

/** Findings that are kept; more are counted. */
const MOST = 1000;
/** Characters of a finding that a line shows: a peer's target or message may be of any length. */
const LONGEST = 2000;
/** Characters of the name of an unknown message. */
const LONGEST_NAME = 100;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const recording = await recordingAt(positionals, io, values.contract, { schemas: true });
  const { name, loaded, header } = recording;

  const findings: Finding[] = [];
  let left = 0;
  const found = (finding: Finding) => void (findings.length < MOST ? findings.push(finding) : left++);
  const talk = loaded && new Conversations(loaded.contract, await loaded.contract.accepts());
  const verifier = talk && new Verifier(talk, found);
  const ending = await recording.read({
    onHeader: (one) => verifier?.header(one),
    onEntry: (entry, line) => {
      if (verifier) return verifier.entry(entry, line);
      const message = unsendable(entry);
      if (message !== undefined) found({ line, connection: entry.c, rule: "route", message });
    },
  });
  verifier?.end(ending.lines, ending.state !== "complete");

  findings.sort((a, b) => a.line - b.line);

  const digest = header?.contract?.digest;
  const changed = loaded !== undefined && digest !== undefined && digest !== loaded.digest;
  const own = header?.contract?.name;
  const of = loaded !== undefined && own !== undefined && own !== loaded.contract.name ? own : undefined;
  const report = {
    file: name,
    ...ending,
    checked: verifier?.checked ?? [],
    ...(loaded && { contract: loaded.contract.name, changed, ...(of !== undefined && { of }), ...verifier!.totals }),
    findings,
    more: left,
  };
  if (values.json) io.out(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const { line, rule, message } of findings) io.out(`${name}:${line}: ${shown(message)} [${rule}]\n`);
    if (left > 0) io.out(`and ${left} more\n`);
    io.err(`${name}: the file is ${describeState(ending)}, ${ending.lines} lines\n`);
    if (of !== undefined) io.err(`${name}: the recording is of ${visible(of)}, not of ${loaded!.contract.name}\n`);
    else if (changed) io.err(`${name}: ${loaded.contract.name} has changed since the recording was made\n`);
    io.err(`${name}: ${summary(loaded?.contract.name, verifier, findings.length + left, ending)}\n`);
  }
  return ending.state === "complete" && findings.length === 0 ? exit.fine : exit.findings;
}

function shown(message: string): string {
  return visible(message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message);
}

function summary(
  contract: string | undefined,
  verifier: Verifier | undefined,
  wrong: number,
  { state }: Ending,
): string {
  if (!verifier) {
    const found = wrong === 0 ? "" : `${wrong} ${wrong === 1 ? "line" : "lines"} cannot be replayed; `;
    return `${found}no message was checked: name the contract with --contract DIR`;
  }
  const { connections, messages, unknown, unknownTypes, leftOut } = verifier.totals;
  const held = `${messages} messages of ${connections} connections checked against ${contract} (${verifier.checked.join(", ")})`;
  const types = Object.entries(unknownTypes).map(([name, count]) => `${count} ${shown(name.slice(0, LONGEST_NAME))}`);
  const others = unknown > 0 ? `, ${unknown} of them unknown to it (${types.join(", ")})` : "";
  const texts = leftOut.count === 1 ? "text is" : "texts are";
  const but = leftOut.count > 0 ? `, but ${leftOut.count} ${texts} not in the recording (${leftOut})` : "";
  return `${held}${others}${but}: ${wrong === 0 ? `nothing is wrong${state === "complete" ? "" : " up to there"}` : `${wrong} wrong`}`;
}
