import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  type ClientPeer,
  FORMATS,
  formatResult,
  type Report,
  type Result,
  type ServerPeer,
  type Suite,
  suiteOf,
  totalsOf,
} from "@parlance/conformance";
import { anyOf, atLeast, Broken, formatCauses, Mask, ordered, Spent } from "@parlance/conformance/internal/run";
import { clientCommand, runCases, serverCommand } from "@parlance/conformance/node";
import { contractValue } from "@parlance/language/value";
import { secretsInEnvironment } from "@parlance/recordings/internal/redaction";
import { parseHttpUrl } from "@parlance/wire/internal/http";
import packageJson from "../package.json" with { type: "json" };
import { type ListFile, listAt, meetPatterns, update } from "./baseline.js";
import { documentAt } from "./contract.js";
import { meetWritable } from "./folders.js";
import { exit, type Io, type Options, UsageError } from "./io.js";
import { meetListening } from "./listening.js";

export const help = `parlance conform CONTRACT (--server URL | --server-cmd CMD | --client CMD) [options]
parlance conform CONTRACT --list

Puts a server or a client, in any language, to the cases that a contract's folder gives: examples, schemas, transcripts, framing, faults.

  --server URL          a live server, which gets GET requests alone; what it does not offer is skipped
  --allow-writes        with --server: send the other requests too, right and wrong ones, and open WebSockets
  --server-cmd CMD      a fixture: prints { "url" }, and plays the acts of each case that it reads. The whole suite
  --client CMD          a client: reads a call a line, prints { "messages", "error" }
  --token TOKEN         the token of a live server (better in PARLANCE_TOKEN)

  --only PATTERN        cases whose id fits: * within a step, ** any steps; may be given again; one must fit
  --level LEVEL         must, should (default: must and should) or may (all)
  --known-failing FILE  a pattern a line, its reason after #: these may fail, and a listed case that passes fails the run;
                        a pattern that fits no case is a mistake
  --flaky FILE          a pattern a line: these are run up to three times, and pass with one pass
  --update-baseline     add what fails now to the file of --known-failing, and take off the entries whose cases all ran and passed
  --seed N              the cases in another order, the same for the same N
  --run-within SECONDS  how long the run may take (default 1800)
  --wait MS             how long something expected may take (default 5000); once, a program's first answer may take 60000

  --report FORMAT=FILE  junit, json, ndjson or html; may be given again
  -v, --verbose         each failure with its bytes, and not only the causes
  --json                the json report on stdout
  --list                the cases, with level, place and kill, and no run

Failures are shown by their cause: FAIL where the contract says so (must), WARN where a deployment needs it (should), NOTE for may, with the
number of cases and the shortest of them. A WARN fails the run too: --level must leaves it out.

docs/conformance.md has the protocol of fixtures and clients: one JSON line in, one out. A program that ends, prints something else or a
line of more than 1 MiB, or does not answer in time, fails this case and is started again for the next. One that has answered none of its
first three cases ends the run, and so does a peer that six cases in a row wait for in vain, or that sends 512 MiB. A case takes five waits,
or 5 s, and 32 MiB at most. Ctrl-C ends the program, and the reports have what ran.

Exit codes: 0 every case passed, or failed as listed; 1 not; 2 usage, a contract that parlance lint refuses, a file that cannot be read or
written, a run that ended early, or one in which every case was skipped.
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
  "run-within": { type: "string" },
  wait: { type: "string" },
  report: { type: "string", multiple: true },
  verbose: { type: "boolean", short: "v" },
  json: { type: "boolean" },
  list: { type: "boolean" },
} as const satisfies Options;

type Values = ReturnType<typeof read>["values"];
type Case = Suite["server"][number] | Suite["client"][number];
type Level = Case["level"];

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
  const ids = [...suite.server, ...suite.client].map(({ id }) => id);
  meetPatterns("--only", values.only ?? [], ids);
  if (values.list) return list(chosen([...suite.server, ...suite.client], values, level), values, io);

  for (const { file } of reports) await meetWritable(file, io);
  const wait = numberOf("wait", values.wait) ?? 5000;
  const seconds = numberOf("run-within", values["run-within"]);
  const runWithin = seconds === undefined ? undefined : 1000 * seconds;
  const seed = numberOf("seed", values.seed);
  const mayUpdate = values["update-baseline"] === true;
  if (mayUpdate && values["known-failing"] === undefined)
    throw new UsageError("--update-baseline needs --known-failing FILE");
  const known = await listAt(values["known-failing"], ids, io, mayUpdate);
  const flaky = await listAt(values.flaky, ids, io);
  const side = values.client === undefined ? "server" : "client";
  const runnable = suite[side].filter(
    (one) => one.side === "client" || values.server !== undefined || one.acts.length > 0,
  );
  const cases = ordered(chosen(runnable, values, level), seed);
  meetPeer(values);
  if (cases.length === 0) throw new UsageError(`no case of a ${side} fits ${filtersOf(values, level)}`);

  const began = performance.now();
  const token = values.token ?? io.env.PARLANCE_TOKEN;
  const mask = new Mask(document.contract, token, secretsInEnvironment(io.env));
  const { results, early, defect } = await play(
    suite,
    cases,
    { path, values, token, mask, known, flaky, wait, runWithin },
    io,
  );
  const report: Report = {
    suite: 1,
    contract: { name: document.contract.name, digest },
    version: packageJson.version,
    peers: { [side]: mask.text(values.server ?? values["server-cmd"] ?? values.client ?? "") },
    ...(seed !== undefined && { seed }),
    ms: Math.round(performance.now() - began),
    totals: totalsOf(results),
    results,
  };
  for (const { format, file } of reports) await writeFile(resolve(io.cwd, file), FORMATS[format](report));
  if (values.json) io.out(FORMATS.json(report));
  else io.out(formatCauses(results));
  const parts = Object.entries(report.totals).filter(([, count]) => count > 0);
  const words = parts.map(([name, count]) => `${count} ${name}`).join(", ") || "no cases";
  io.err(`${document.contract.name}, ${side}: ${words} in ${(report.ms / 1000).toFixed(1)} s\n`);
  if (values.server !== undefined) io.err(refusedIn(results, token));
  if (defect !== undefined) throw defect;
  if (early !== undefined)
    throw new UsageError(`the run ended after ${results.length} of ${cases.length} cases: ${early}`);
  if (report.totals.skipped === cases.length)
    throw new UsageError(`no case was tried: ${cases.length} skipped, so the ${side} has passed nothing`);
  if (!mayUpdate) return report.totals.failed + report.totals.fixed === 0 ? exit.fine : exit.findings;
  const possible = [...runnable, ...(side === "server" ? suite.client : suite.server)].map(({ id }) => id);
  for (const pattern of await update(values["known-failing"]!, known, possible, results, io))
    io.err(`${pattern} stays on the list: some of its cases did not run\n`);
  return exit.fine;
}

/** Says that a live server does not take the token, which fails most cases. */
function refusedIn(results: readonly Result[], token: string | undefined): string {
  const refused = results.filter(({ outcome, came = "" }) => outcome === "failed" && /^40[13]\b/.test(came)).length;
  if (refused === 0) return "";
  const what = token === undefined ? "give it a token in PARLANCE_TOKEN" : "it does not take the token";
  return `the server refused the requests of ${refused} cases with 401 or 403: ${what}\n`;
}

/** The cases that --only and --level take. */
function chosen<C extends Case>(cases: readonly C[], { only = ["**"] }: Values, level: Level): C[] {
  const fits = anyOf(only);
  const isWanted = atLeast(level);
  return cases.filter((one) => fits(one.id) && isWanted(one));
}

function filtersOf({ only = [], server }: Values, level: Level): string {
  const given = [...only.map((one) => `--only ${one}`), `--level ${level}`];
  return `${given.join(" ")}${server === undefined ? "" : " --server"}`;
}

function list(cases: readonly Case[], { json }: Values, io: Io): number {
  for (const { id, level, at, kill, title } of cases)
    io.out(
      json ? `${JSON.stringify({ id, level, at, kill, title })}\n` : `${level.padEnd(6)} ${id} (${at}; ${kill})\n`,
    );
  return exit.fine;
}

interface Playing {
  readonly path: string;
  readonly values: Values;
  readonly token: string | undefined;
  readonly mask: Mask;
  readonly known: ListFile;
  readonly flaky: ListFile;
  readonly wait: number;
  readonly runWithin: number | undefined;
}

/** Runs the cases. `early` says why the run ended before its last case; after a defect of this program the report is written too. */
async function play(
  suite: Suite,
  cases: readonly Case[],
  { path, values, token, mask, known, flaky, wait, runWithin }: Playing,
  io: Io,
): Promise<{ readonly results: readonly Result[]; readonly early?: string; readonly defect?: unknown }> {
  const interrupt = io.interrupt?.();
  const peer = await peerOf(values, io, wait, mask);
  const close = () => ("server" in peer ? peer.server : peer.client).close();
  interrupt?.addEventListener("abort", () => void close(), { once: true });
  const results: Result[] = [];
  try {
    await runCases(suite, cases, {
      ...peer,
      ...(token !== undefined && { token }),
      wait,
      runWithin,
      allowWrites: values["allow-writes"] ?? false,
      known: known.entries,
      flaky: flaky.entries,
      rerun: (id) => rerunOf(path, values, id),
      ...(interrupt && { signal: interrupt }),
      onResult: (result) => {
        results.push(result);
        const isShown = result.outcome === "fixed" || (result.outcome === "failed" && values.verbose);
        if (!values.json && isShown) io.out(formatResult(result));
      },
    });
    return interrupt?.aborted ? { results, early: "it was interrupted" } : { results };
  } catch (error) {
    if (error instanceof Broken || error instanceof Spent) return { results, early: mask.text(error.message) };
    return { results, defect: error };
  } finally {
    await close();
  }
}

function meetPeer(values: Values): void {
  const given = [values.server, values["server-cmd"], values.client].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError("name one of --server URL, --server-cmd CMD and --client CMD");
  if (values.server !== undefined && !parseHttpUrl(values.server))
    throw new UsageError(`${values.server} is not an http or https URL`);
}

async function peerOf(
  values: Values,
  io: Io,
  wait: number,
  mask: Mask,
): Promise<{ server: ServerPeer } | { client: ClientPeer }> {
  const start = { cwd: io.cwd, wait };
  if (values.client !== undefined) return { client: clientCommand(values.client, start) };
  if (values.server !== undefined) {
    await meetListening(values.server, wait);
    return { server: { url: values.server, close: async () => {} } };
  }
  try {
    return { server: await serverCommand(values["server-cmd"]!, start) };
  } catch (error) {
    if (error instanceof Broken) throw new UsageError(mask.text(error.message));
    throw error;
  }
}

function reportOf(text: string): { readonly format: keyof typeof FORMATS; readonly file: string } {
  const [format = "", ...rest] = text.split("=");
  const file = rest.join("=");
  if (!Object.hasOwn(FORMATS, format) || file === "")
    throw new UsageError(`write --report as FORMAT=FILE, with a format of ${Object.keys(FORMATS).join(", ")}`);
  return { format: format as keyof typeof FORMATS, file };
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
