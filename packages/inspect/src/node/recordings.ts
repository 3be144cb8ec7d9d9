import { createHash, randomUUID } from "node:crypto";
import {
  type Conversations,
  formatProblem,
  loadRecording,
  ReplayServer,
  read,
  replayClient,
} from "@parlance/recordings";
import { Exchanges, har, markdown } from "@parlance/recordings/internal/export";
import { type RedactOptions, Redactor } from "@parlance/recordings/internal/redaction";
import { frameSocket, listenReplay } from "@parlance/recordings/node";
import { BadRequest } from "./guard.js";
import { Log, type LogLimits } from "./log.js";

/** Opens a recording as a log. Its secrets are looked for again: somebody else may have made the file. */
export async function openRecording(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  talk: Conversations,
  redact: RedactOptions,
  limits?: LogLimits,
): Promise<Log> {
  const redactor = new Redactor(redact);
  const log = new Log(randomUUID(), name, talk, limits);
  const { state, reason, ...ending } = await read(chunks, {
    hash: createHash("sha256"),
    onHeader: (header) => log.begin(header),
    onEntry: (entry) => log.add(redactor.entry(entry)),
  });
  if (!log.header) throw new BadRequest(reason ?? "this is not a recording");
  // Now the secrets of the file are known.
  log.name = redactor.scrub(name);
  log.end({ ...ending, state, ...(reason !== undefined && { reason: redactor.scrub(reason) }) });
  return log;
}

/** The forms that a log is exported in. */
export function* exported(log: Log, as: string | null): Generator<string> {
  if (as === "jsonl") return yield* log.lines();
  if (!log.header || (as !== "har" && as !== "md")) throw new BadRequest("say as=jsonl, har or md");
  const { header } = log;
  const form = as === "har" ? har : markdown;
  const texts: string[] = [];
  const exchanges = new Exchanges((exchanged) => texts.push(form.connection(header, exchanged, "http://localhost")));
  for (const entry of log.entries()) exchanges.entry(entry);
  exchanges.end();
  const ending = log.ended ?? { state: "complete", lines: 0 };
  yield form.begin(header) + texts.join(form.separator) + form.end(ending);
}

/** Replays of logs: as the client against a server, or as a server on a port. */
export class Replays {
  readonly #talk: Conversations;
  readonly #serving = new Map<
    string,
    { readonly replay: ReplayServer; readonly listening: Awaited<ReturnType<typeof listenReplay>> }
  >();

  constructor(talk: Conversations) {
    this.#talk = talk;
  }

  /** Plays the recorded client against a server, and returns what was not as recorded. */
  async asClient(log: Log, baseUrl: string, headers: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const conversation = await recordingOf(log);
    const problems = await replayClient(conversation, {
      contract: this.#talk.contract,
      baseUrl,
      headers,
      fetch,
      webSocket: frameSocket,
    });
    return problems.map(formatProblem);
  }

  /** Answers as the recorded server did, until it is stopped. */
  async serve(log: Log): Promise<{ readonly id: string; readonly url: string }> {
    const replay = new ReplayServer(await recordingOf(log), { contract: this.#talk.contract });
    const listening = await listenReplay(replay, {});
    const id = randomUUID();
    this.#serving.set(id, { replay, listening });
    return { id, url: listening.url };
  }

  async stop(id: string): Promise<readonly string[]> {
    const serving = this.#serving.get(id);
    if (!serving) throw new BadRequest("this replay has ended");
    this.#serving.delete(id);
    await serving.listening.close();
    return serving.replay.problems.map(formatProblem);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#serving.keys()].map((id) => this.stop(id)));
  }
}

function recordingOf(log: Log) {
  return loadRecording([new TextEncoder().encode([...log.lines()].join(""))]).catch((error) => {
    throw new BadRequest((error as Error).message);
  });
}
