import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Outcome } from "../ask.js";
import { type Answering, askView } from "./asks.js";
import { type Caller, callOf } from "./calls.js";
import { transcriptOf } from "./case.js";
import { streamedText, textsOfEntry } from "./edit-texts.js";
import { type Connections, type FaultName, faults } from "./faults.js";
import { BadRequest, jsonOf } from "./guard.js";
import { type Log, searchRows } from "./log.js";
import { exported, type openRecording, type Replays } from "./recordings.js";
import { Review } from "./review.js";
import { streamRows } from "./row-stream.js";
import type { RouteHandler, Routes } from "./site.js";

/** What the routes of an inspector work on. */
export interface Inspected {
  readonly logs: Map<string, Log>;
  readonly replays: Replays;
  /** Opens a recording that the page uploads. */
  readonly open: (name: string, chunks: AsyncIterable<Uint8Array>) => ReturnType<typeof openRecording>;
  /** Absent without a server to reach. */
  readonly live?: Answering & {
    readonly caller: Caller;
    readonly connections: Connections;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  /** The folder that edits are applied to. */
  readonly root?: string;
  /** The folder that transcripts are written to. */
  readonly cases?: string;
}

/** The reviews that a page may still apply. */
const MAX_REVIEWS = 50;

/** The recordings that are held at the same time. */
const MAX_LOGS = 8;

/** The most times that a call is repeated. */
const MAX_TIMES = 1000;

export function routesOf(inspected: Inspected): Routes {
  const opened: Opened = {
    ...inspected,
    logAt: (id) => {
      const log = inspected.logs.get(String(id));
      if (!log) throw new BadRequest("this log is not open");
      return log;
    },
    needLive: () => {
      if (inspected.live) return inspected.live;
      throw new BadRequest("there is no server behind the inspector: only recordings are open");
    },
  };
  return {
    ...logRoutes(opened),
    ...replayRoutes(opened),
    ...callRoutes(opened),
    ...faultRoutes(opened),
    ...caseRoutes(opened),
    ...reviewRoutes(opened),
  };
}

/** The parts of an inspector that routes reach. A request for an absent one is refused. */
interface Opened extends Inspected {
  readonly logAt: (id: unknown) => Log;
  readonly needLive: () => NonNullable<Inspected["live"]>;
}

const posted =
  (handle: (body: Readonly<Record<string, unknown>>) => Promise<object> | object): RouteHandler =>
  async (request) =>
    handle(await jsonOf(request));

function logRoutes({ logs, live, open, logAt }: Opened): Routes {
  return {
    "GET /api/feed": async (_, { searchParams }, response) => {
      await streamRows(logAt(searchParams.get("log")), Number(searchParams.get("from") ?? 1), response);
      return undefined;
    },
    "GET /api/entry": async (_, { searchParams }) => {
      const entry = logAt(searchParams.get("log")).entry(Number(searchParams.get("n")));
      if (!entry) throw new BadRequest("this entry is no longer held");
      return entry;
    },
    "GET /api/search": async (_, { searchParams }) =>
      searchRows(logAt(searchParams.get("log")), searchParams.get("text") ?? "", Number(searchParams.get("from") ?? 1)),
    "POST /api/open": async (request, { searchParams }) => {
      const log = await open(searchParams.get("name") ?? "recording", request);
      logs.set(log.id, log);
      const others = [...logs.keys()].filter((id) => id !== live?.log.id);
      if (others.length > MAX_LOGS) logs.delete(others[0]!);
      return { id: log.id, name: log.name, live: false };
    },
    "GET /api/export": async (_, { searchParams }, response) => {
      const log = logAt(searchParams.get("log"));
      response.writeHead(200, { "Content-Type": "application/octet-stream" });
      await pipeline(Readable.from(exported(log, searchParams.get("as"))), response);
      return undefined;
    },
  };
}

function replayRoutes({ replays, logAt, needLive }: Opened): Routes {
  return {
    "POST /api/replay": posted(async ({ log, as }) => {
      if (as === "server") return replays.serve(logAt(log));
      const { url, headers } = needLive();
      return { problems: await replays.asClient(logAt(log), url, headers) };
    }),
    "POST /api/replay/stop": posted(async ({ id }) => ({ problems: await replays.stop(String(id)) })),
  };
}

function callRoutes({ needLive }: Opened): Routes {
  return {
    "POST /api/check": posted(({ frame, text, ...call }) => {
      const { caller } = needLive();
      const broken = frame ? caller.checkFrame(String(frame), String(text)) : caller.check(callOf(call));
      return { broken };
    }),
    "GET /api/ask": async (_, { searchParams }) => ({ ask: askView(needLive(), Number(searchParams.get("n"))) }),
    "GET /api/credentials": async () => needLive().credentials.list(),
    "POST /api/call": posted(async ({ times = 1, force, credentials: of, ...rest }) => {
      const { caller, credentials } = needLive();
      const credential = of === undefined ? undefined : credentials.of(Number(of));
      if (of !== undefined && !credential)
        throw new BadRequest(`the credentials of connection ${of} are no longer held`);
      const call = { ...callOf(rest), ...(credential && { credential }) };
      const broken = force ? undefined : caller.check(call);
      if (broken) return { broken };
      let outcome: Outcome | undefined;
      for (let at = 0; at < timesOf(times); at++) outcome = await caller.make(call);
      return { outcome };
    }),
    "POST /api/frame": posted(({ connection, channel, text, times = 1, force }) => {
      const { caller, connections } = needLive();
      const broken = force ? undefined : caller.checkFrame(String(channel), String(text));
      if (broken) return { broken };
      for (let at = 0; at < timesOf(times); at++) connections.inject(Number(connection), String(text));
      return { outcome: { ok: true, text: `Sent on connection ${connection}.` } };
    }),
  };
}

function timesOf(times: unknown): number {
  const number = Number(times);
  if (!Number.isInteger(number) || number < 1 || number > MAX_TIMES)
    throw new BadRequest(`repeat it between 1 and ${MAX_TIMES} times`);
  return number;
}

function faultRoutes({ needLive }: Opened): Routes {
  return {
    "POST /api/fault": posted(({ connection, fault, from }) => {
      if (!faults.includes(fault as FaultName)) throw new BadRequest(`name a fault: ${faults.join(", ")}`);
      needLive().connections.disturb(Number(connection), fault as FaultName, from === "client" ? "client" : "server");
      return {};
    }),
  };
}

function caseRoutes({ cases, logAt }: Opened): Routes {
  return {
    "POST /api/case": posted(async ({ log, connection, name }) => {
      if (cases === undefined) throw new BadRequest("there is no folder for transcripts");
      if (!/^[\w-]{1,100}$/.test(String(name))) throw new BadRequest("name it with letters, digits, - and _");
      const own = logAt(log);
      const entries = [...own.entries(Number(connection))];
      const text = transcriptOf(own.talk, entries, `Taken from ${own.name}, connection ${connection}.`);
      const file = join(cases, `${name}.jsonl`);
      await writeFile(file, text, { flag: "wx" }).catch((error) => {
        throw new BadRequest(`${file} was not written: ${(error as NodeJS.ErrnoException).code}`);
      });
      return { file };
    }),
  };
}

function reviewRoutes({ root, logAt }: Opened): Routes {
  const reviews = new Map<string, Review>();
  return {
    // Of one message by its number, or of all that a stream or channel wrote.
    "POST /api/edits": posted(async ({ log, n, connection }) => {
      const own = logAt(log);
      const entry = own.entry(Number(n));
      if (!entry && !own.row(Number(n))) throw new BadRequest("this entry is no longer held");
      const call = own.row(Number(n))?.call;
      const whole = connection !== undefined && call !== undefined;
      const texts = whole
        ? [{ text: streamedText(own.talk, call, own.entries(Number(connection))) }]
        : entry
          ? textsOfEntry(entry)
          : [];
      // The page may have been loaded again since: what it applied can still be undone.
      const applied = [...reviews.values()].findLast((one) => one.isAppliedTo(texts));
      const review = applied ?? new Review(randomUUID(), texts, root);
      reviews.set(review.id, review);
      if (reviews.size > MAX_REVIEWS) reviews.delete(reviews.keys().next().value!);
      return review.view();
    }),
    ...applyRoutes((id) => {
      const review = reviews.get(id);
      if (!review) throw new BadRequest("this review is no longer open");
      return review;
    }),
  };
}

/** Applying and undoing, for the reviews of a conversation and for one that stands alone. */
export function applyRoutes(reviewAt: (id: string) => Review): Routes {
  return {
    "POST /api/apply": posted(({ review, changes }) => {
      if (!Array.isArray(changes)) throw new BadRequest("say which changes");
      return reviewAt(String(review)).apply(changes.map(String));
    }),
    "POST /api/undo": posted(({ review }) => reviewAt(String(review)).undo()),
  };
}
