import { RESUME } from "@parlance/wire";
import type { Conversations } from "../conversation.js";
import { headerOf } from "../recording.js";
import type { Answering, Arriving, Opened, Replayed } from "../replay/answering.js";
import { askedIn, type LoadedRecording, type RecordedConnection, resumes } from "../replay/loaded.js";
import { Matcher } from "../replay/match.js";
import { Player } from "../replay/play.js";
import { Replaying, type ReplayOptions } from "../replay/replay.js";

/** A recorded connection, and how often it was played. */
interface Candidate {
  readonly conversation: LoadedRecording;
  readonly connection: RecordedConnection;
  plays: number;
}

/**
 * Answers each request as the most similar recorded call of the same operation was answered, again and again. Undefined for an operation
 * that was not recorded.
 */
export class Recorded {
  readonly #talk: Promise<Conversations>;
  readonly #options: ReplayOptions;
  readonly #all: readonly Candidate[];
  readonly #runs = new Set<Replaying>();

  constructor(conversations: readonly LoadedRecording[], talk: Promise<Conversations>, options: ReplayOptions) {
    this.#talk = talk;
    this.#options = options;
    this.#all = conversations.flatMap((conversation) =>
      conversation.connections
        .filter(
          ({ request, status, answerLeftOut }) =>
            !resumes(request.headers) && status !== undefined && answerLeftOut === undefined,
        )
        .map((connection) => ({ conversation, connection, plays: 0 })),
    );
  }

  async answer(asked: Arriving): Promise<Replayed | undefined> {
    // No ticket, so that the client opens the channel as its document says.
    if (headerOf(asked.headers, RESUME.toLowerCase()) !== undefined && (await this.#recorded(asked, true)).length > 0)
      return { status: 404, headers: [["Content-Type", "text/plain"]], body: nothing };
    const connection = await this.#nearest(asked, false);
    if (!connection) return undefined;
    const run = await this.#start(connection, asked);
    const { status, headers, body } = await new Player(connection.conversation, run).answer(connection.connection);
    const kept = headers.filter(([name]) => name.toLowerCase() !== RESUME.toLowerCase());
    return { status, headers: kept, body: (signal) => this.#whole(run, body(signal)) };
  }

  async accept(asked: Arriving): Promise<Opened | undefined> {
    const connection = await this.#nearest(asked, true);
    if (!connection) return undefined;
    const run = await this.#start(connection, asked);
    return new Player(connection.conversation, run).accept(connection.connection, asked.headers, false);
  }

  close(): void {
    for (const run of this.#runs) run.scope.close(new Error("the mock has closed"));
  }

  async *#whole(run: Replaying, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes;
    } finally {
      this.#runs.delete(run);
    }
  }

  /** The recorded calls of the same operation. */
  async #recorded({ method, target }: Arriving, socket: boolean): Promise<Candidate[]> {
    const talk = await this.#talk;
    const names = talk.namesAt(method, target) ?? [];
    return this.#all.filter(
      ({ connection: { request } }) =>
        (request.socket ?? false) === socket &&
        request.method === method &&
        talk.namesAt(request.method, request.target)?.some((name) => names.includes(name)),
    );
  }

  /** Of equally similar calls, the one that was played least. */
  async #nearest(asked: Arriving, socket: boolean): Promise<Candidate | undefined> {
    const compared = (await this.#recorded(asked, socket)).map((candidate) => {
      const differences = new Matcher(this.#options).request(askedIn(candidate.connection), asked, true);
      return { candidate, far: differences.length };
    });
    const [nearest] = compared.sort((a, b) => a.far - b.far || a.candidate.plays - b.candidate.plays);
    if (nearest) nearest.candidate.plays++;
    return nearest?.candidate;
  }

  async #start({ connection }: Candidate, asked: Arriving): Promise<Replaying> {
    const talk = await this.#talk;
    const run = new Replaying({ ...this.#options, lenient: true, wait: Number.POSITIVE_INFINITY });
    this.#runs.add(run);
    const both = [connection.request, asked];
    const [recorded, came] = both.map(({ method, target }) => Object.values(talk.pathAt(method, target)));
    bindPath(run.matcher, recorded!, came!);
    run.matcher.request(askedIn(connection), asked, true);
    return run;
  }
}

/** Ids of the path, such as a session's, stand for the recorded ones in the messages. */
function bindPath(matcher: Matcher, recorded: readonly string[], came: readonly string[]): void {
  for (const [at, value] of recorded.entries()) {
    const other = came[at];
    if (other === undefined || other === value) continue;
    matcher.bind(JSON.stringify(value), JSON.stringify(other));
    // A shorter one may be part of any word.
    if (value.length >= 8) matcher.bind(value, other);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A server that answers by the recording, and by another where nothing is recorded. */
export function recordedOr(
  recorded: Recorded,
  other: Answering,
  onAnswer: (asked: Arriving, source: "recording" | "examples") => void,
): Answering {
  return {
    async answer(asked) {
      const found = await recorded.answer(asked);
      onAnswer(asked, found ? "recording" : "examples");
      return found ?? other.answer(asked);
    },
    async accept(asked) {
      const found = await recorded.accept(asked);
      onAnswer(asked, found ? "recording" : "examples");
      return found ?? other.accept(asked);
    },
    close() {
      recorded.close();
      other.close();
    },
  };
}
