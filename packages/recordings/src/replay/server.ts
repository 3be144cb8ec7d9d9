import { type OpenSocket, RESUME } from "@parlance/wire";
import { headerOf } from "../recording.js";
import { type Answering, type Arriving, inMemory, type Opened, type Replayed, unanswerable } from "./answering.js";
import { Gate } from "./gate.js";
import { askedIn, type LoadedRecording, nameOf, type RecordedConnection, resumes } from "./loaded.js";
import { Player } from "./play.js";
import { formatProblem, type Problem, Replaying, type ReplayOptions } from "./replay.js";

/** The server of a recording. It matches each request to a recorded one, equal ones in order, and sends the recorded answer. */
export class ReplayServer implements Answering {
  readonly #run: Replaying;
  readonly #all: readonly RecordedConnection[];
  /** The connections not requested yet, in the order of their requests. */
  readonly #left: Set<RecordedConnection>;
  readonly #gate: Gate;
  readonly #player: Player;
  #closed = false;

  constructor(conversation: LoadedRecording, options: ReplayOptions = {}) {
    this.#run = new Replaying(options);
    this.#all = conversation.connections;
    this.#left = new Set(conversation.connections);
    this.#gate = new Gate(conversation.asks);
    this.#player = new Player(conversation, this.#run, this.#gate);
    ({ fetch: this.fetch, webSocket: this.webSocket } = inMemory({
      answer: (asked) => this.answer(asked),
      accept: (asked) => this.accept(asked),
    }));
  }

  /** Answers in memory: the `fetch` of `connect`. */
  readonly fetch: (request: Request) => Promise<Response>;

  /** Opens channels in memory: the `webSocket` of `connect`. */
  readonly webSocket: OpenSocket;

  /** The differences from the recording so far. */
  get problems(): readonly Problem[] {
    return this.#run.problems;
  }

  async answer(asked: Arriving): Promise<Replayed> {
    const connection = this.#match(asked, false);
    if (connection) return this.#player.answer(connection);
    return unanswerable(this.#missed(asked));
  }

  /** Decides on a WebSocket. `run` holds the conversation on the port. */
  async accept(asked: Arriving): Promise<Opened> {
    const connection = this.#match(asked, true);
    if (connection)
      return this.#player.accept(
        connection,
        asked.headers,
        headerOf(asked.headers, RESUME.toLowerCase()) !== undefined,
      );
    return { refused: { status: 501, body: this.#missed(asked) } };
  }

  /** Ends open connections, and returns every problem; a recorded request that did not come is one. */
  close(): readonly Problem[] {
    if (this.#closed) return this.problems;
    this.#closed = true;
    for (const connection of this.#left)
      this.#run.found("left", `${nameOf(connection)} was recorded, and was not asked for`);
    this.#run.scope.close(new Error("the replay has closed"));
    return this.problems;
  }

  #match(asked: Arriving, socket: boolean): RecordedConnection | undefined {
    const { matcher } = this.#run;
    this.#run.learn(asked.headers, asked.target, asked.body);
    const resuming = resumes(asked.headers);
    const same = (fresh: boolean) => {
      for (const connection of this.#left) {
        const { request } = connection;
        if ((request.socket ?? false) !== socket || resumes(request.headers) !== resuming) continue;
        if (matcher.request(askedIn(connection), asked, fresh).length === 0) return connection;
      }
      return undefined;
    };
    const connection = same(false) ?? same(true);
    if (!connection) return undefined;
    this.#left.delete(connection);
    this.#gate.pass(connection.place.at);
    return connection;
  }

  /** Reports a request without a recorded one, and returns what to answer. */
  #missed(live: Arriving): string {
    const compared = this.#all.map((connection) => {
      const differences = this.#run.matcher.request(askedIn(connection), live, false);
      return { connection, differences, far: differences.reduce((sum, { at }) => sum + (FAR[at] ?? 1), 0) };
    });
    const nearest = compared.sort((a, b) => a.far - b.far)[0];
    const over = nearest && !this.#left.has(nearest.connection) ? ", which has been answered" : "";
    const asked = `${live.method} ${this.#run.shown(live.target)}`;
    const message = nearest
      ? `nothing recorded is left for ${asked}; the nearest is ${nameOf(nearest.connection)}${over}`
      : `nothing is recorded, and ${asked} came`;
    const problem = this.#run.found("miss", message, nearest?.differences);
    return `replay: ${formatProblem(problem)}\n`;
  }
}

/** The weight of a difference in these parts, when searching for the nearest request. */
const FAR: Readonly<Record<string, number>> = { method: 100, path: 100 };
