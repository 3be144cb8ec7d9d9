import { Violation } from "@parlance/wire";
import { Budget, defaultCaseWithin, MAX_CASE_BYTES, RUN_WITHIN } from "../budget.js";
import { type Case, type ClientCase, meet, NotOffered, type ServerCase, Unmet, within } from "../case.js";
import type { Suite } from "../cases.js";
import { Mask } from "../mask.js";
import type { ClientPeer, ServerPeer } from "../peer.js";
import type { Outcome, Result } from "../result.js";
import { BYTES, base64, type Samples } from "../samples.js";
import { type Listed, matcher } from "../select.js";
import type { Asking, Exchange, TestedClient, TestedServer } from "../tested.js";
import { Trace } from "../trace.js";
import { Broken } from "./program.js";
import { Requester } from "./requester.js";
import { Responder } from "./responder.js";

export interface RunOptions {
  readonly server?: ServerPeer | undefined;
  readonly client?: ClientPeer | undefined;
  /** The token that a server lets in, and a client sends. @default "conformance", where the contract asks for one */
  readonly token?: string | undefined;
  /** Milliseconds that something expected may take. @default 5000 */
  readonly wait?: number | undefined;
  /** Whether a live server gets other requests than GET, and WebSockets. @default false */
  readonly allowWrites?: boolean | undefined;
  readonly known?: readonly Listed[] | undefined;
  /** Cases that may fail, and pass when they are run again. */
  readonly flaky?: readonly Listed[] | undefined;
  /** The command that repeats a case. */
  readonly rerun?: ((id: string) => string) | undefined;
  /** Called for each case when it is over, so also before an error ends the run. */
  readonly onResult?: ((result: Result) => void) | undefined;
  /** Milliseconds that one case may take. @default five times `wait`, at least 5 s */
  readonly caseWithin?: number | undefined;
  /** Milliseconds after which no other case begins. @default 30 min */
  readonly runWithin?: number | undefined;
  /** Ends the run before its next case; the one that runs is not judged. */
  readonly signal?: AbortSignal | undefined;
}

/** Cases without an answer, after which a program that has never answered is given up. */
const SILENT = 3;

/**
 * Puts the cases to the peers, one after the other. Throws `Broken` where a peer has not answered one of its first three cases, and `Spent` where
 * the run has taken all that it may.
 */
export async function runCases({ samples }: Suite, cases: readonly Case[], options: RunOptions): Promise<Result[]> {
  const { wait = 5000, signal, runWithin = RUN_WITHIN, caseWithin = defaultCaseWithin(wait) } = options;
  const budget = new Budget(runWithin);
  const trace = new Trace(() => performance.now(), samples.contract.auth?.header, budget);
  const run: Run = { samples, trace, options, wait, plain: new Map(), heard: { answers: 0, last: "" } };
  const mask = new Mask(samples.contract, options.token);
  const results: Result[] = [];
  const known = listed(options.known);
  const flaky = listed(options.flaky);
  let silent = 0;
  for (const one of cases) {
    budget.begin();
    const attempt = () =>
      limited(budget, caseWithin, known(one.id) !== undefined, (over) =>
        one.side === "server" ? serverCase(run, one, over) : clientCase(run, one, over),
      );
    const judged = await judge(one, attempt, trace, known, flaky);
    if (signal?.aborted) return results;
    const rerun = "expected" in judged && options.rerun && { rerun: options.rerun(one.id) };
    const result = mask.result({ ...judged, ...rerun });
    results.push(result);
    options.onResult?.(result);
    if (run.heard.answers === 0 && result.outcome === "failed" && ++silent === SILENT)
      throw new Broken(`answer to its first ${SILENT} cases`, mask.text(run.heard.last));
  }
  return results;
}

/** Runs one case within its limits. `over` aborts when it is over them. A case that is known to fail may end at a limit each time. */
async function limited(
  budget: Budget,
  within: number,
  isKnown: boolean,
  run: (over: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), within);
  try {
    await run(over.signal);
    budget.end("passed");
  } catch (error) {
    const isStuck = over.signal.aborted || budget.isFull || (error instanceof Unmet && error.isLimit);
    budget.end(isStuck && !isKnown ? "stuck" : "other");
    if (over.signal.aborted) throw new Unmet("the end of the case", `none within ${within} ms`, true);
    if (budget.isFull) throw new Unmet("the end of the case", `more than ${MAX_CASE_BYTES >> 20} MiB`, true);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

interface Run extends Pick<TestedClient, "wait" | "plain"> {
  readonly samples: Samples;
  readonly trace: Trace;
  readonly options: RunOptions;
  /** Counts the answers of a peer, and keeps its last failure to answer. */
  readonly heard: { answers: number; last: string };
}

/** Notes whether a peer answers. */
async function hearing<T>({ heard }: Run, answer: Promise<T>): Promise<T> {
  try {
    const value = await answer;
    heard.answers++;
    return value;
  } catch (error) {
    if (error instanceof Broken || error instanceof Unmet) heard.last = error.came;
    throw error;
  }
}

/** How often a case on the list of flaky ones is run, at most. */
const RUNS = 3;

type List = (id: string) => Listed | undefined;

function listed(list: readonly Listed[] = []): List {
  const all = list.map((entry) => ({ entry, fits: matcher(entry.pattern) }));
  return (id) => all.find(({ fits }) => fits(id))?.entry;
}

async function judge(one: Case, attempt: () => Promise<void>, trace: Trace, known: List, flaky: List): Promise<Result> {
  const began = performance.now();
  const { id, side, level, title, at, kill } = one;
  const about = { id, side, level, title, at, kill };
  const listedAs = known(id);
  const mayFlake = flaky(id);
  const done = (outcome: Outcome, more: Partial<Result> = {}): Result => ({
    ...about,
    outcome,
    ms: Math.round((performance.now() - began) * 10) / 10,
    ...more,
  });
  let flaw: Partial<Result> | undefined;
  for (let run = 1; run <= (mayFlake ? RUNS : 1); run++)
    try {
      trace.begin();
      await attempt();
      if (flaw) return done("flaky", { ...flaw, reason: mayFlake?.reason });
      if (!listedAs) return done("passed");
      const expected = `a failure: ${listedAs.pattern} is on the list of known failures`;
      return done("fixed", { expected, came: "it passed: take it off the list", reason: listedAs.reason });
    } catch (error) {
      if (error instanceof NotOffered) return done("skipped", { reason: error.message });
      flaw = { ...flawOf(error), trace: trace.lines };
    }
  return listedAs ? done("known", { ...flaw, reason: listedAs.reason }) : done("failed", flaw);
}

function flawOf(error: unknown): { expected: string; came: string } {
  if (error instanceof Unmet || error instanceof Broken) return { expected: error.expected, came: error.came };
  if (error instanceof Violation) return { expected: "what the contract defines", came: error.message };
  // A peer may send a value too deep to compare or to print.
  if (error instanceof RangeError) return { expected: "a value that can be read", came: error.message };
  throw error;
}

async function serverCase(run: Run, one: ServerCase, over: AbortSignal): Promise<void> {
  const { samples, trace, options, wait, heard } = run;
  const { fixture } = options.server!;
  const { auth } = samples.contract;
  const token = options.token ?? (auth ? "conformance" : undefined);
  if (!fixture && one.live === undefined) throw new NotOffered("needs a fixture (--server-cmd)");
  if (fixture && one.acts.length === 0) throw new NotOffered("is for live servers (--server)");
  const sent = auth?.header === undefined ? { Authorization: `Bearer ${token}` } : { [auth.header]: token! };
  if (fixture)
    await hearing(run, fixture.begin({ case: one.id, acts: one.acts, ...(token !== undefined && { token }) }));
  else heard.answers++;
  // A fixture that was started again has another URL.
  const { url } = options.server!;
  const requester = new Requester({ url, headers: token === undefined ? {} : sent, wait }, trace);
  over.addEventListener("abort", () => requester.cut());
  const mayWrite = fixture !== undefined || options.allowWrites === true;
  const peer: TestedServer = {
    live: fixture === undefined,
    wait,
    request: async (asking) => requester.request(harmless(asking, mayWrite)),
    open: async (asking) => requester.open(harmless(asking, mayWrite)),
    socket: async (asking) => requester.socket(harmless(asking, mayWrite, true)),
    report: () => fixture!.report(one.id),
  };
  try {
    await one.run(peer);
  } catch (error) {
    const how = error instanceof NotOffered ? undefined : await fixture?.ended?.();
    if (how === undefined) throw error;
    const { expected, came } = flawOf(error);
    throw new Unmet(expected, `${came}: the program is over, ${how}`);
  } finally {
    requester.close();
  }
}

/**
 * Lets only a request without an effect reach a live server, whatever the case sends: a server that does not check its input would act on
 * wrong input too.
 */
function harmless(asking: Asking, mayWrite: boolean, isSocket = false): Asking {
  if (!mayWrite && (asking.method !== "GET" || isSocket)) throw new NotOffered("may have an effect (--allow-writes)");
  return asking;
}

async function clientCase(run: Run, one: ClientCase, over: AbortSignal): Promise<void> {
  const { samples, trace, options, wait, plain } = run;
  // A port of its own, because a client may keep the connections of the case before.
  const responder = await Responder.listen(trace, wait);
  over.addEventListener("abort", () => void responder.close());
  const peer: TestedClient = {
    wait,
    plain,
    async call(call, serve) {
      let failure: unknown;
      const exchanges: Promise<void>[] = [];
      let didCall = false;
      const isUpload = samples.contract.operations[call.operation]?.binary !== undefined;
      const uploaded = isUpload && { bytes: base64(BYTES) };
      responder.serve = (exchange) => {
        didCall ||= isCall(samples, call.operation, exchange);
        const served = serve(exchange, exchanges.length).catch((error) => {
          failure ??= error;
          exchange.cut();
        });
        exchanges.push(served);
        return served;
      };
      const line = { case: one.id, url: responder.url, ...call, token: options.token ?? "conformance", ...uploaded };
      try {
        const told = await hearing(run, options.client!.call(line));
        // A client that answered twice answers one line behind from then on.
        if (!didCall) await options.client!.restart?.();
        // What a case expects of the request, or of what follows it, was never asked of a client that made none.
        if (failure === undefined)
          meet(
            didCall,
            `a request of ${call.operation}`,
            `the client did not call: it reported ${JSON.stringify(told)}`,
          );
        // A client may report before the suite has seen all that the case is about.
        await within(wait, `the whole exchange of ${call.operation}`, Promise.all(exchanges));
        if (failure !== undefined) throw failure;
        return told;
      } catch (error) {
        if (error instanceof Broken) throw error;
        throw failure ?? error;
      }
    },
  };
  try {
    await one.run(peer);
  } finally {
    await responder.close();
  }
}

/** Whether a request is that of an operation or channel, by its method and path. */
function isCall(samples: Samples, name: string, { method, target, isSocket }: Exchange): boolean {
  if (isSocket !== (samples.contract.channels[name] !== undefined)) return false;
  return samples.talk.namesAt(method, target)?.includes(name) ?? false;
}
