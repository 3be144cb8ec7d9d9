import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  anyOf,
  atLeast,
  Broken,
  type ClientPeer,
  clientCommand,
  FORMATS,
  type Format,
  formatResult,
  isFine,
  type Level,
  type Listed,
  ordered,
  parseList,
  type Report,
  type Result,
  runCases,
  type ServerPeer,
  serverCommand,
  suiteOf,
  totalsOf,
} from "@parlance/conformance/suite";
import { contractValue } from "@parlance/language/value";
import packageJson from "../package.json" with { type: "json" };
import { documentAt } from "./contract.js";
import { exit, type Io, type Options, UsageError } from "./io.js";

export const help = `parlance conform CONTRACT (--server URL | --server-cmd CMD | --client CMD) [options]
parlance conform CONTRACT --list

Puts a server or a client, in any language, to the cases that a contract's folder gives: examples, schemas, transcripts, framing, faults.

  --server URL          a live server: only operations without an effect; what it does not offer is skipped
  --allow-writes        with --server: call the operations that have an effect too
  --server-cmd CMD      a fixture: prints { "url" }, and plays the script of each case that it reads. The whole suite
  --client CMD          a client: reads a call a line, prints { "messages", "error" }
  --token TOKEN         the token of a live server (better in PARLANCE_TOKEN)

  --only PATTERN        cases whose id fits: * within a step, ** any steps; may be given again
  --level LEVEL         must, should (default: must and should) or may (all)
  --known-failing FILE  a pattern a line, its reason after #: these may fail, and a listed case that passes fails the run
  --flaky FILE          a pattern a line: these are run up to three times, and pass with one pass
  --update-baseline     write what fails now to the file of --known-failing
  --seed N              the cases in another order, the same for the same N
  --wait MS             how long something expected may take (default 5000)

  --report FORMAT=FILE  junit, json, ndjson or html; may be given again
  --json                the json report on stdout
  --list                the cases, with level, place and kill, and no run

docs/conformance.md has the protocol of fixtures and clients: one JSON line in, one out.

Exit codes: 0 every case passed, or failed as listed; 1 not; 2 usage, a file that cannot be read or written, or a program that does not
follow the protocol.
`;

export const options = {
  server: { type: "string" },
  "allow-writes": { type: "boolean" },
  "server-cmd": { type: "string" },
  client: { type: "string" },
  token: { type: "string" },
  only: { type: "string", multiple: true },
  level: { type: "string" },
  "known-failing": { type: "string" },
  flaky: { type: "string" },
  "update-baseline": { type: "boolean" },
  seed: { type: "string" },
  wait: { type: "string" },
  report: { type: "string", multiple: true },
  json: { type: "boolean" },
  list: { type: "boolean" },
} as const satisfies Options;

type Values = ReturnType<typeof read>["values"];

function read(args: string[]) {
  return parseArgs({ args, options, allowPositionals: true });
}

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = read(argv);
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new UsageError("name the folder of one contract");
  const reports = (values.report ?? []).map(reportOf);
  const level = levelOf(values.level);
  const { document, digest } = await documentAt(path, io);
  const suite = await suiteOf(document, contractValue);
  const chosen = anyOf(values.only ?? ["**"]);
  const fits = (id: string) => chosen(id);
  const isWanted = atLeast(level);
  const all = [...suite.server, ...suite.client].filter((one) => fits(one.id) && isWanted(one));
  if (values.list) {
    for (const { id, level, at, kill, title } of all)
      io.out(
        values.json
          ? `${JSON.stringify({ id, level, at, kill, title })}\n`
          : `${level.padEnd(6)} ${id} (${at}; ${kill})\n`,
      );
    return exit.fine;
  }
  const wait = numberOf("wait", values.wait) ?? 5000;
  const seed = numberOf("seed", values.seed);
  const known = await listAt(values["known-failing"], values, io);
  const flaky = await listAt(values.flaky, {}, io);
  const peer = await peerOf(values, io, wait);
  const isLive = "server" in peer && !peer.server.fixture;
  const side = "server" in peer ? "server" : "client";
  const cases = all.filter((one) => one.side === side && (one.side === "client" || isLive || one.script.length > 0));
  const began = performance.now();
  const token = values.token ?? io.env.PARLANCE_TOKEN;
  let results: Result[];
  try {
    results = await runCases(suite, ordered(cases, seed), {
      ...peer,
      ...(token !== undefined && { token }),
      wait,
      allowWrites: values["allow-writes"] ?? false,
      known,
      flaky,
      rerun: (id) => rerunOf(path, values, id),
      onResult: (result) => {
        if (!values.json && (result.outcome === "failed" || result.outcome === "fixed")) io.out(formatResult(result));
      },
    });
  } catch (error) {
    if (error instanceof Broken) throw new UsageError(error.message);
    throw error;
  } finally {
    await ("server" in peer ? peer.server : peer.client).close();
  }
  const report: Report = {
    suite: 1,
    contract: { name: document.contract.name, digest },
    kit: packageJson.version,
    peers: { [side]: values.server ?? values["server-cmd"] ?? values.client ?? "" },
    ...(seed !== undefined && { seed }),
    ms: Math.round(performance.now() - began),
    totals: totalsOf(results),
    results,
  };
  for (const { format, file } of reports) await writeFile(resolve(io.cwd, file), FORMATS[format](report));
  if (values["update-baseline"]) await update(values, known, report, io);
  if (values.json) io.out(FORMATS.json(report));
  const parts = Object.entries(report.totals).filter(([, count]) => count > 0);
  io.err(
    `${document.contract.name}, ${side}: ${parts.map(([name, count]) => `${count} ${name}`).join(", ") || "no cases"} in ${(report.ms / 1000).toFixed(1)} s\n`,
  );
  return isFine(report) || values["update-baseline"] ? exit.fine : exit.findings;
}

async function peerOf(values: Values, io: Io, wait: number): Promise<{ server: ServerPeer } | { client: ClientPeer }> {
  const given = [values.server, values["server-cmd"], values.client].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError("name one of --server URL, --server-cmd CMD and --client CMD");
  const start = { cwd: io.cwd, wait };
  if (values.client !== undefined) return { client: clientCommand(values.client, start) };
  if (values["server-cmd"] === undefined) {
    if (!URL.canParse(values.server!) || !/^https?:/.test(values.server!))
      throw new UsageError(`${values.server} is not an http or https URL`);
    return { server: { url: values.server!, close: async () => {} } };
  }
  try {
    return { server: await serverCommand(values["server-cmd"], start) };
  } catch (error) {
    if (error instanceof Broken) throw new UsageError(error.message);
    throw error;
  }
}

function reportOf(text: string): { readonly format: Format; readonly file: string } {
  const [format = "", ...rest] = text.split("=");
  const file = rest.join("=");
  if (!Object.hasOwn(FORMATS, format) || file === "")
    throw new UsageError(`write --report as FORMAT=FILE, with a format of ${Object.keys(FORMATS).join(", ")}`);
  return { format: format as Format, file };
}

function levelOf(text = "should"): Level {
  if (text !== "must" && text !== "should" && text !== "may") throw new UsageError("--level is must, should or may");
  return text;
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new UsageError(`--${name} ${text} is not a number`);
  return value;
}

async function listAt(file: string | undefined, values: Partial<Values>, io: Io): Promise<Listed[]> {
  if (values["update-baseline"] && file === undefined)
    throw new UsageError("--update-baseline needs --known-failing FILE");
  if (file === undefined) return [];
  const text = await readFile(resolve(io.cwd, file), "utf8").catch((error) => {
    if (values["update-baseline"]) return "";
    throw error;
  });
  return parseList(text);
}

/** What fails now, one id a line; a pattern that still fits keeps its line and reason. */
async function update(values: Values, known: readonly Listed[], { results }: Report, io: Io): Promise<void> {
  const failing = results.filter(({ outcome }) => outcome === "failed" || outcome === "known").map(({ id }) => id);
  const kept = known.filter(({ pattern }) => failing.some(anyOf([pattern])));
  const covered = anyOf(kept.map(({ pattern }) => pattern));
  const lines = [
    ...kept.map(({ pattern, reason }) => (reason === undefined ? pattern : `${pattern} # ${reason}`)),
    ...failing.filter((id) => !covered(id)),
  ];
  await writeFile(resolve(io.cwd, values["known-failing"]!), lines.map((line) => `${line}\n`).join(""));
}

/** The command that runs one case; a token is not repeated. */
function rerunOf(path: string, values: Values, id: string): string {
  const given = (["server", "server-cmd", "client", "wait"] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, quoted(values[name])],
  );
  const writes = values["allow-writes"] ? ["--allow-writes"] : [];
  return ["parlance conform", quoted(path), ...given, ...writes, "--level may --only", quoted(id)].join(" ");
}

function quoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
