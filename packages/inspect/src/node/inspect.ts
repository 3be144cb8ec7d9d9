import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { Conversations, Recorder } from "@parlance/recordings";
import type { RedactOptions } from "@parlance/recordings/internal/redaction";
import { proxy } from "@parlance/recordings/node";
import type { AnyContract, Contract, ContractDocument } from "@parlance/wire";
import type { PageContract, PageState } from "../state.js";
import { loadAssets } from "./assets.js";
import { Caller, type Clean } from "./calls.js";
import { Credentials } from "./credentials.js";
import type { EditText } from "./edit-texts.js";
import { Connections } from "./faults.js";
import { Log, type LogLimits } from "./log.js";
import { openRecording, Replays } from "./recordings.js";
import { Review } from "./review.js";
import { applyRoutes, routesOf } from "./routes.js";
import { type Site, serveSite } from "./site.js";

export interface InspectOptions {
  /** The contract with its checks, such as `contractValue(document)` of `@parlance/language`. */
  readonly contract: AnyContract & Pick<Contract, "secrets"> & { readonly accepts: () => Promise<Accepted> };
  /** The same contract with its schemas and sentences, for the page's forms. */
  readonly document: Pick<ContractDocument, "source" | "schemas">;
  /** The server's URL. Without it, recordings are opened only. */
  readonly target?: string | undefined;
  /** A recording to open. */
  readonly open?: string | undefined;
  /** The port that clients connect to. @default 0: any free one */
  readonly port?: number | undefined;
  /** The page's port. @default 0: any free one */
  readonly pagePort?: number | undefined;
  /** The folder that accepted edits are written to. Without it they are only shown. */
  readonly root?: string | undefined;
  /** The folder that conformance cases are written to. */
  readonly cases?: string | undefined;
  /** Headers of the page's own calls, such as a token. They never reach the page. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Left out wherever they match, beside what recordings leave out. */
  readonly patterns?: readonly RegExp[] | undefined;
  /** Left out wherever they are, in any encoding. Each has 8 characters or more. */
  readonly secrets?: readonly string[] | undefined;
  readonly limits?: LogLimits | undefined;
  /** The folder of the built page. @default that of this package */
  readonly page?: string | undefined;
}

type Accepted = ConstructorParameters<typeof Conversations>[1];

export interface Inspector {
  /** The page's address, with its token. */
  readonly url: string;
  /** Where clients connect; absent without a target. */
  readonly proxy?: string | undefined;
  close(): Promise<void>;
}

/** Starts the page, and the proxy behind it, on the loopback interface. */
export async function inspect(options: InspectOptions): Promise<Inspector> {
  const { contract, document, target, headers = {}, patterns, secrets, limits, root, cases } = options;
  const assets = await loadAssets(options.page);
  const talk = new Conversations(contract, await contract.accepts());
  const redact: RedactOptions = { contract, ...(patterns && { patterns }), ...(secrets && { secrets }) };
  const logs = new Map<string, Log>();
  const replays = new Replays(talk);
  const open = (name: string, chunks: AsyncIterable<Uint8Array>) => openRecording(name, chunks, talk, redact, limits);
  const recording =
    options.open === undefined ? undefined : await open(basename(options.open), createReadStream(options.open));
  const live = target === undefined ? undefined : await listenLive(target, options, talk, redact);
  for (const log of [live?.log, recording]) if (log) logs.set(log.id, log);
  const state = (): PageState => ({
    contract: pageContract(contract, document),
    ...(live && { target: target!, proxy: live.url }),
    ...(cases !== undefined && { cases }),
    logs: [...logs.values()].map(({ id, name }) => ({ id, name, live: id === live?.log.id })),
  });
  const routes = routesOf({
    logs,
    replays,
    open,
    ...(live && { live: { ...live, headers, contract: pageContract(contract, document) } }),
    ...(root !== undefined && { root }),
    ...(cases !== undefined && { cases }),
  });
  const all = { "GET /api/state": async () => state(), ...routes };
  const site = await serveSite(assets, all, options.pagePort).catch(async (error) => {
    await live?.close();
    throw error;
  });
  return {
    url: site.url,
    ...(live && { proxy: live.url }),
    async close() {
      await site.close();
      live?.caller.close();
      await replays.close();
      await live?.close();
    },
  };
}

async function listenLive(target: string, options: InspectOptions, talk: Conversations, redact: RedactOptions) {
  const log = new Log("live", target, talk, options.limits);
  const connections = new Connections(log);
  const recorder = new Recorder(log.write, { ...redact, about: { name: talk.contract.name } });
  const credentials = new Credentials(redact);
  const open = await proxy({
    target,
    recorder,
    port: options.port ?? 0,
    onConnection(connected) {
      connections.add(connected);
      credentials.observe(connected.id, connected.target, connected.headers);
    },
  });
  log.listen(() => {
    const last = log.row(log.last);
    if (last?.kind === "end" || last?.kind === "error" || last?.kind === "close") connections.remove(last.c);
  });
  const clean: Clean = (text, headers) => recorder.clean(text, headers);
  const caller = new Caller(talk, open.url, options.headers ?? {}, clean);
  return { log, connections, credentials, caller, url: open.url, close: open.close };
}

function pageContract(contract: AnyContract, { source, schemas }: InspectOptions["document"]): PageContract {
  const { name, tag, session, messages, operations, channels, exchanges, methods } = contract;
  type Source = { readonly summary?: string; readonly parameters?: PageContract["parameters"][string] };
  const calls = [source.operations, source.channels].flatMap((ones) =>
    Object.entries((ones ?? {}) as Record<string, Source>),
  );
  return {
    name,
    tag,
    session,
    messages,
    operations,
    channels,
    exchanges,
    ...(methods && { methods }),
    schemas,
    summaries: Object.fromEntries(calls.map(([call, { summary = "" }]) => [call, summary])),
    parameters: Object.fromEntries(calls.map(([call, one]) => [call, one.parameters ?? {}])),
  };
}

export interface ReviewOptions {
  /** The folder that accepted edits are written to. */
  readonly root: string;
  /** What the model wrote, in any form of edits. */
  readonly text: string;
  readonly port?: number | undefined;
  /** The folder of the built page. @default that of this package */
  readonly page?: string | undefined;
}

/** Serves the review of one text's edits, without a conversation. Nothing is written before the user applies it. */
export async function review(options: ReviewOptions): Promise<Site> {
  const texts: EditText[] = [{ text: options.text }];
  const own = new Review("review", texts, options.root);
  const assets = await loadAssets(options.page);
  const state = async (): Promise<PageState> => ({ logs: [], review: await own.view() });
  return serveSite(assets, { "GET /api/state": state, ...applyRoutes(() => own) }, options.port);
}
