import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { contractValue } from "@parlance/language/value";
import { documentAt } from "./contract.js";
import { isDirectory } from "./folders.js";
import { aborted, exit, type Io, interruptOf, type Options, UsageError } from "./io.js";
import { beginningOf } from "./recording.js";
import { secretsOf } from "./secrets.js";
import { pairsOf, patternsOf, portOf, urlOf } from "./values.js";

export const help = `parlance inspect [--target URL] [--contract DIR] [--open FILE] [options]

Shows the conversations between your client and the server at URL on a page, until Ctrl-C: a timeline, each message held against the
contract, a form for every call and message, the edits in them, and faults. Give your client the proxy's address that it prints, and open
the page's. Both are on the loopback interface; the page's address has a token.

  --target URL         the server, such as http://localhost:8080
  --contract DIR       the contract, or a folder that has only it, or has the one that FILE names (default ./schemas)
  --open FILE          a recording to show; without --target only that
  --port N             the port for your client, on 127.0.0.1 (default: a free one)
  --page-port N        the port of the page (default: a free one)
  --root DIR           the folder that accepted edits are written to; without it they are only shown
  --cases DIR          the folder that conformance cases are written to, such as schemas/my-agent/transcripts
  --header NAME:VALUE  a header of the calls that the page makes, such as a token; may be given again
  --secrets FILE       secrets to leave out wherever they stand, one on each line; - is the standard input
  --redact PATTERN     a regular expression whose matches are left out too; may be given again
  --json               one JSON line when it listens, { "page", "proxy"?, "target"? }

What recordings leave out never reaches the page: docs/recordings.md has the rules, docs/inspect.md the page.

Exit codes: 0 interrupted, 2 usage, a contract that parlance lint refuses, or a file or port that cannot be used.
`;

export const options = {
  target: { type: "string" },
  contract: { type: "string" },
  open: { type: "string" },
  port: { type: "string" },
  "page-port": { type: "string" },
  root: { type: "string" },
  cases: { type: "string" },
  header: { type: "string", multiple: true },
  redact: { type: "string", multiple: true },
  secrets: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values } = parseArgs({ args: argv, options });
  const { target, open, json } = values;
  if (target === undefined && open === undefined)
    throw new UsageError("--target URL or --open FILE is needed: what to look at");
  if (target !== undefined) urlOf(target, "send it by --header");
  const paths = {
    open: open === undefined ? undefined : resolve(io.cwd, open),
    root: await folderOf("root", values.root, io),
    cases: await folderOf("cases", values.cases, io),
  };
  // A recording names its contract.
  const name = paths.open === undefined ? undefined : (await beginningOf(paths.open)).header?.contract?.name;
  const port = portOf("port", values.port);
  const pagePort = portOf("page-port", values["page-port"]);
  const headers = pairsOf(values.header, ":", "--header NAME:VALUE");
  const patterns = await patternsOf(values.redact);
  const secrets = await secretsOf(values.secrets, io);
  if (values.contract === undefined && !(await isDirectory(resolve(io.cwd, "schemas"))))
    throw new UsageError("--contract DIR is needed: there is no folder schemas here");
  const { document } = await documentAt(values.contract ?? "schemas", io, name);
  const contract = contractValue(document);
  const interrupt = interruptOf(io);

  // Loaded here, so that no other command, and no completion, loads it.
  const { inspect } = await import("@parlance/inspect/node");
  const inspector = await inspect({
    contract,
    document,
    target,
    ...paths,
    port,
    pagePort,
    headers,
    patterns,
    secrets,
  }).catch((error) => {
    if ((error as Error).name === "BadRequest") throw new UsageError(`${open}: ${(error as Error).message}`);
    throw error;
  });
  const { url, proxy } = inspector;
  if (json) io.out(`${JSON.stringify({ page: url, ...(proxy !== undefined && { proxy, target }) })}\n`);
  else {
    if (proxy !== undefined) io.err(`Passing ${target} on at ${proxy}: connect your client to it.\n`);
    io.err(`Open ${url} in a browser; Ctrl-C ends it.\n`);
  }
  await aborted(interrupt);
  await inspector.close();
  return exit.fine;
}

async function folderOf(option: string, path: string | undefined, io: Io): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const full = resolve(io.cwd, path);
  if (!(await isDirectory(full))) throw new UsageError(`--${option} ${path} is not a folder`);
  return full;
}
