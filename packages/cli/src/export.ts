import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Entry, Header } from "@parlance/recordings";
import { Exchanges, har, markdown } from "@parlance/recordings/internal/export";
import { parseUrl } from "@parlance/wire/internal/http";
import { exit, type Io, type Options, UsageError } from "./io.js";
import { contractHelp, describeState, recordingAt } from "./recording.js";

export const help = `parlance export FILE --har|--md [-o OUT] [--json]

Writes a recording, or a contract's transcript, in another form: an HTTP archive that browsers and proxies open, or Markdown for a bug
report. A cut or altered file is written up to there, with a warning; both forms say so at their end. A recording may have secrets in free
text, which nothing searches: read OUT before you share it.

  --har           HAR 1.2; messages of WebSockets stand in _webSocketMessages
  --md            Markdown: a heading for each connection, a line for each message
  -o, --out OUT   write to a file, which is never overwritten, instead of the standard output
  --url URL       where the server was, for HAR (default http://localhost)
  --contract DIR  ${contractHelp}
  --json          with -o: one JSON document, { "file", "out", "state", "reason"?, "connections" }

Exit codes: 0 written, 1 the recording is cut or altered and was written up to there, 2 usage, a contract that parlance lint refuses, or
a file that cannot be read or written.
`;

export const options = {
  har: { type: "boolean" },
  md: { type: "boolean" },
  out: { type: "string", short: "o" },
  contract: { type: "string" },
  url: { type: "string", default: "http://localhost" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  if ((values.har ?? false) === (values.md ?? false)) throw new UsageError("say --har or --md");
  if (values.json && values.out === undefined) throw new UsageError("--json is about the file that -o names");
  if (!parseUrl(values.url)) throw new UsageError(`${values.url} is not a URL`);
  const recording = await recordingAt(positionals, io, values.contract);
  const { name } = recording;
  const form = values.har ? har : markdown;
  let file: FileHandle | undefined;
  try {
    let header: Header | undefined;
    let waiting: string[] = [];
    let connections = 0;
    const exchanges = new Exchanges((exchanged) => {
      if (connections++ > 0) waiting.push(form.separator);
      waiting.push(form.connection(header!, exchanged, values.url));
    });
    const flush = async () => {
      const text = waiting.join("");
      waiting = [];
      if (values.out === undefined) return io.out(text);
      if (!header) return;
      file ??= await open(resolve(io.cwd, values.out), "wx", 0o600);
      await file.writeFile(text);
    };
    const chunks = async function* (path: string) {
      for await (const chunk of createReadStream(path)) {
        yield chunk as Uint8Array;
        await flush();
      }
    };
    const read = {
      onHeader: (one: Header) => {
        header = one;
        waiting.push(form.begin(one));
      },
      onEntry: (entry: Entry) => exchanges.entry(entry),
    };
    const ending = await recording.read(read, chunks);
    if (!header) throw new UsageError(`${name}: ${ending.reason}`);
    exchanges.end();
    waiting.push(form.end(ending));
    await flush();
    if (values.json) {
      const { state, reason } = ending;
      io.out(`${JSON.stringify({ file: name, out: values.out, state, reason, connections })}\n`);
    }
    io.err(`parlance export: ${name} ${warningOf(header)}\n`);
    if (ending.state !== "complete") io.err(`parlance export: ${name} is ${describeState(ending)}\n`);
    return ending.state === "complete" ? exit.fine : exit.findings;
  } finally {
    await file?.close();
  }
}

/** A warning for a reader who shares the output. */
function warningOf({ redacted, transcript }: Header): string {
  if (redacted.length === 0 && !transcript) return "was recorded with its secrets: do not share the output";
  return "may have secrets in free text, which is not searched: read the output before you share it";
}
