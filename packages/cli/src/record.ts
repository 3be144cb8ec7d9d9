import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Recorder } from "@parlance/recordings";
import { proxy, RecordingFile } from "@parlance/recordings/node";
import packageJson from "../package.json" with { type: "json" };
import { contractAt } from "./contract.js";
import { aborted, exit, type Io, interruptOf, type Options, UsageError } from "./io.js";
import { secretsOf } from "./secrets.js";
import { patternsOf, portOf, urlOf } from "./values.js";

export const help = `parlance record --target URL -o FILE [--contract DIR] [--port N] [--secrets FILE] [--redact PATTERN]... [--metadata-only] [--raw] [--json]

Passes HTTP, event streams and WebSockets on to the server at URL, and writes what passes to FILE, until Ctrl-C. Give your client the
address that it prints. FILE is readable by its owner only, and is never overwritten.

  --target URL       the server, such as http://localhost:8080
  -o, --out FILE     the recording to write
  --contract DIR     names the contract in the recording, and leaves out the properties that it marks with x-secret
  --port N           the port to listen on, on 127.0.0.1 (default: a free one)
  --secrets FILE     secrets to leave out wherever they stand, one on each line; - is the standard input
  --redact PATTERN   a regular expression whose matches are left out too; may be given again
  --metadata-only    leave out texts, header values and queries
  --raw              keep each block of an event stream to the byte, also where its fields say the same
  --json             one JSON line when it listens, { "url", "target", "file" }, and one at the end, { "file", "lines" }

Left out by default: headers that are not known to be harmless, properties and parameters named as secrets, well-known forms of tokens, the
same values in any later text, and the values of this command's environment variables that are named as secrets, such as GITHUB_TOKEN.
Free text is not searched for anything else: read FILE before you share it. docs/recordings.md has the rules.

Exit codes: 0 the recording is complete, 1 it could not be written to its end, 2 usage, a contract that parlance lint refuses, or a
file that cannot be written.
`;

export const options = {
  target: { type: "string" },
  out: { type: "string", short: "o" },
  contract: { type: "string" },
  port: { type: "string" },
  redact: { type: "string", multiple: true },
  secrets: { type: "string" },
  "metadata-only": { type: "boolean" },
  raw: { type: "boolean" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values } = parseArgs({ args: argv, options });
  const { target, out, raw } = values;
  if (target === undefined) throw new UsageError("--target URL is needed: where the server is");
  if (out === undefined) throw new UsageError("-o FILE is needed: where the recording is written");
  urlOf(target, "let the client send it");
  const port = portOf("port", values.port);
  const patterns = await patternsOf(values.redact);
  const secrets = await secretsOf(values.secrets, io);
  const loaded = values.contract === undefined ? undefined : await contractAt(values.contract, io);
  const interrupt = interruptOf(io);

  const failed = new AbortController();
  const file = new RecordingFile(resolve(io.cwd, out), (error) => failed.abort(error));
  const recorder = new Recorder(file.write, {
    ...(loaded && { contract: loaded.contract, about: { name: loaded.contract.name, digest: loaded.digest } }),
    patterns,
    secrets,
    metadataOnly: values["metadata-only"] ?? false,
    raw: raw ?? false,
    versions: { "@parlance/cli": packageJson.version, node: process.versions.node },
  });
  try {
    const open = await proxy({ target, recorder, port }).catch((error) => {
      // A recording of nothing would be in the way of the next try.
      file.close();
      rmSync(resolve(io.cwd, out));
      throw error;
    });
    const note = values.json ? `${JSON.stringify({ url: open.url, target, file: out })}\n` : "";
    if (values.json) io.out(note);
    else io.err(`Recording ${target} to ${out}. Connect to ${open.url}; Ctrl-C ends it.\n`);
    await aborted(interrupt, failed.signal);
    await open.close();
  } finally {
    file.close();
  }
  if (failed.signal.aborted) {
    io.err(`parlance record: ${(failed.signal.reason as Error).message}; ${out} is cut\n`);
    return exit.findings;
  }
  if (values.json) io.out(`${JSON.stringify({ file: out, lines: file.lines })}\n`);
  else io.err(`${out}: ${file.lines} lines\n`);
  return exit.fine;
}
