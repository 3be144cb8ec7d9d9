import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Exchanges, type Header, har, harEntry, markdownConnection, markdownHead, read } from "@parlance/conformance";
import { exit, type Io, type Options, UsageError } from "./io.js";

export const help = `parlance export FILE --har|--md [-o OUT] [--json]

Writes a recording in another form: an HTTP archive that browsers and proxies open, or Markdown for a bug report.

  --har           HAR 1.2; messages of WebSockets stand in _webSocketMessages
  --md            Markdown: a heading for each connection, a line for each message
  -o, --out OUT   write to a file, which is never overwritten, instead of the standard output
  --url URL       where the server was, for HAR (default http://localhost)
  --json          with -o: one JSON document, { "file", "out", "state", "connections" }

Exit codes: 0 written, 1 the recording is cut or altered and was written up to there, 2 usage, or a file that cannot be read or written.
`;

export const options = {
  har: { type: "boolean" },
  md: { type: "boolean" },
  out: { type: "string", short: "o" },
  url: { type: "string", default: "http://localhost" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError("name one recording");
  if ((values.har ?? false) === (values.md ?? false)) throw new UsageError("say --har or --md");
  if (values.json && values.out === undefined) throw new UsageError("--json is about the file that -o names");
  if (!URL.canParse(values.url)) throw new UsageError(`${values.url} is not a URL`);
  let file: FileHandle | undefined;
  try {
    let header: Header | undefined;
    let waiting: string[] = [];
    let connections = 0;
    const exchanges = new Exchanges((exchanged) => {
      const text = values.har ? harEntry(header!, exchanged, values.url) : markdownConnection(exchanged);
      waiting.push(values.har && connections > 0 ? `,\n${text}` : text);
      connections++;
    });
    const flush = async () => {
      const text = waiting.join("");
      waiting = [];
      if (values.out === undefined) return io.out(text);
      if (!header) return;
      file ??= await open(resolve(io.cwd, values.out), "wx", 0o600);
      await file.writeFile(text);
    };
    const chunks = async function* () {
      for await (const chunk of createReadStream(resolve(io.cwd, name))) {
        yield chunk as Uint8Array;
        await flush();
      }
    };
    const ending = await read(chunks(), {
      onHeader: (one) => {
        header = one;
        waiting.push(values.har ? har.begin(one) : markdownHead(one));
      },
      onEntry: (entry) => exchanges.entry(entry),
    });
    if (!header) throw new UsageError(`${name}: ${ending.reason}`);
    exchanges.end();
    if (values.har) waiting.push(har.end);
    await flush();
    if (values.json) io.out(`${JSON.stringify({ file: name, out: values.out, state: ending.state, connections })}\n`);
    if (ending.state !== "complete") io.err(`${name} is ${ending.state}: ${ending.reason}\n`);
    return ending.state === "complete" ? exit.fine : exit.findings;
  } finally {
    await file?.close();
  }
}
