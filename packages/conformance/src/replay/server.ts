import { type OpenSocket, type Port, parseTicket, type SocketRefused } from "@parlance/wire";
import { pair, Queue } from "@parlance/wire/link";
import { rawOf } from "../blocks.js";
import type { Entry, HeaderList } from "../recording.js";
import { Gate } from "./gate.js";
import { formatProblem, type Problem, Replaying, type ReplayOptions } from "./replay.js";
import { nameOf, resumes, type Step, type Take, type Tape } from "./tape.js";

/** A request as a replay gets it. */
export interface Arriving {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly body?: string | undefined;
}

/** An answer of a replay: whole lines of the recording, at its pace. */
export interface Replayed {
  readonly status: number;
  readonly headers: HeaderList;
  /** Throws where the recorded answer was cut. */
  body(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Headers of the connection or the moment: the replay does not send the recorded ones. */
const HELD = /^(connection|keep-alive|transfer-encoding|content-length|date|upgrade|sec-websocket-.*)$/i;

/** The server of a recording. It matches each request to a recorded one, equal ones in order, and sends the recorded answer. */
export class ReplayServer {
  readonly #run: Replaying;
  readonly #all: readonly Take[];
  /** The connections not requested yet. */
  readonly #takes: Take[];
  readonly #gate: Gate;
  #closed = false;

  constructor(tape: Tape, options: ReplayOptions = {}) {
    this.#run = new Replaying(tape, options);
    this.#all = tape.takes;
    this.#takes = [...tape.takes];
    this.#gate = new Gate(tape.entries);
  }

  /** The differences from the recording so far. */
  get problems(): readonly Problem[] {
    return this.#run.problems;
  }

  async answer(asked: Arriving): Promise<Replayed> {
    const take = this.#take(asked, false);
    if (!take) return this.#miss(asked);
    const { steps } = take;
    const first = steps.findIndex(({ entry }) => entry.kind === "response");
    const response = steps[first]?.entry;
    if (response?.kind !== "response") {
      const lost = steps.find(({ entry }) => entry.kind === "error");
      if (lost?.entry.from === "server") return { status: 502, headers: [], body: nothing };
      // The client left before there was an answer.
      return { status: 200, headers: [], body: (signal) => this.#park(signal) };
    }
    await this.#run.pause(steps[first]!.at);
    return {
      status: response.status,
      headers: response.headers.filter(([name]) => !HELD.test(name)),
      body: (signal) => this.#body(take, steps.slice(first + 1), signal),
    };
  }

  /** Decides on a WebSocket. `run` holds the conversation on the port. */
  async accept(asked: Arriving): Promise<{ readonly refused: SocketRefused } | { run(port: Port): void }> {
    const take = this.#take(asked, true);
    if (!take) {
      const { status, text } = this.#missed(asked);
      return { refused: { status, body: text } };
    }
    const [head, body] = take.steps.map(({ entry }) => entry).filter(({ from }) => from === "server");
    if (head?.kind !== "response") return { refused: { status: 502, body: "" } };
    if (head.status !== 101)
      return { refused: { status: head.status, body: body?.kind === "body" ? (body.text ?? "") : "" } };
    return { run: (port) => void this.#converse(port, take).catch(() => port.close(1011, "the replay has failed")) };
  }

  /** Answers in memory: the `fetch` of `connect`. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = request.body ? await request.text() : undefined;
    const {
      status,
      headers,
      body: play,
    } = await this.answer({ method: request.method, target: pathname + search, headers: [...request.headers], body });
    const left = new AbortController();
    const signal = AbortSignal.any([request.signal, left.signal]);
    const bytes = play(signal)[Symbol.asyncIterator]();
    const empty = [101, 204, 205, 304].includes(status);
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await bytes.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => left.abort(),
      },
      { highWaterMark: 0 },
    );
    return new Response(empty ? null : stream, {
      status,
      headers: headers.map(([name, value]) => [name, value] as [string, string]),
    });
  };

  /** Opens channels in memory: the `webSocket` of `connect`. */
  readonly webSocket: OpenSocket = async (url, { headers, protocols }) => {
    const { pathname, search } = new URL(url);
    const offered = protocols.length > 0 ? [["sec-websocket-protocol", protocols.join(", ")] as const] : [];
    const accepted = await this.accept({
      method: "GET",
      target: pathname + search,
      headers: [...Object.entries(headers), ...offered],
    });
    if ("refused" in accepted) return accepted;
    const [near, far] = pair();
    accepted.run(far);
    return near;
  };

  /** Ends open connections, and returns every problem; a recorded request that did not come is one. */
  close(): readonly Problem[] {
    if (this.#closed) return this.problems;
    this.#closed = true;
    for (const take of this.#takes) this.#run.found("left", `${nameOf(take)} was recorded, and was not asked for`);
    this.#run.scope.close(new Error("the replay has closed"));
    return this.problems;
  }

  #take(asked: Arriving, socket: boolean): Take | undefined {
    const able = this.#takes.filter(
      ({ request }) => (request.socket ?? false) === socket && resumes(request.headers) === resumes(asked.headers),
    );
    const { matcher } = this.#run;
    this.#run.learn(asked.headers, asked.target, asked.body);
    const came = { method: asked.method, target: asked.target, body: asked.body };
    const same = (fresh: boolean) =>
      able.find(({ request, body }) => matcher.request({ ...request, body }, came, fresh).length === 0);
    const take = same(false) ?? same(true);
    if (!take) return undefined;
    this.#takes.splice(this.#takes.indexOf(take), 1);
    this.#gate.pass(take.request);
    return take;
  }

  #miss(asked: Arriving): Replayed {
    const { status, text } = this.#missed(asked);
    return { status, headers: [["Content-Type", "text/plain; charset=utf-8"]], body: () => bytesOf(text) };
  }

  /** 501, which is not a status of the protocol. */
  #missed({ method, target, body }: Arriving): { status: number; text: string } {
    const compared = this.#all.map((take) => {
      const differences = this.#run.matcher.request(
        { ...take.request, body: take.body },
        { method, target, body },
        false,
      );
      return { take, differences, far: differences.reduce((sum, { at }) => sum + (FAR[at] ?? 1), 0) };
    });
    const nearest = compared.sort((a, b) => a.far - b.far)[0];
    const over = nearest && !this.#takes.includes(nearest.take) ? ", which has been answered" : "";
    const message = nearest
      ? `nothing recorded is left for ${method} ${target}; the nearest is ${nameOf(nearest.take)}${over}`
      : `nothing is recorded, and ${method} ${target} came`;
    const problem = this.#run.found("miss", message, nearest?.differences);
    return { status: 501, text: `replay: ${formatProblem(problem)}\n` };
  }

  /** Waits for the recorded pause and, on a stream or channel, for the client's actions since it was opened. */
  async #turn(take: Take, { entry, at }: Step): Promise<void> {
    if (isLong(take)) await this.#meanwhile(take.at, at, entry);
    await this.#run.pause(at);
  }

  async #meanwhile(from: number, to: number, entry: Entry): Promise<void> {
    try {
      await this.#run.within("the client", () => this.#gate.until(from, to));
    } catch (error) {
      const pending = this.#gate.pending(from, to);
      if (pending && !this.#run.scope.closed)
        this.#run.found(
          "left",
          `the client's ${describe(pending)} was recorded before the server's ${describe(entry)}, and did not come`,
        );
      throw error;
    }
  }

  async *#body(take: Take, steps: readonly Step[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const step of steps) {
      const { entry } = step;
      if (entry.from === "client") continue;
      await this.#turn(take, step);
      if (signal.aborted) return;
      if (entry.kind === "end") return;
      if (entry.kind === "error") throw new Error(entry.text);
      const bytes = this.#bytes(entry);
      if (bytes) yield bytes;
    }
    // Nothing more: the client left, or the recording ended.
    yield* this.#park(signal);
  }

  #bytes(entry: Entry): Uint8Array | undefined {
    const { matcher } = this.#run;
    if (entry.kind === "event" && entry.size === undefined) return encoder.encode(matcher.rewrite(rawOf(entry)));
    if (entry.kind !== "body" && entry.kind !== "comment") return undefined;
    if (entry.base64 !== undefined) return Uint8Array.from(atob(entry.base64), (one) => one.charCodeAt(0));
    return encoder.encode(matcher.rewrite(entry.text ?? ""));
  }

  /** Resolves when the client has left, or the replay has closed. */
  async *#park(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { scope } = this.#run;
    await new Promise<void>((resolve) => {
      if (signal.aborted || scope.closed) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
      scope.onAbort(scope.signal, resolve);
    });
  }

  async #converse(port: Port, take: Take): Promise<void> {
    const { matcher } = this.#run;
    const incoming = new Queue<string>({ limit: Number.POSITIVE_INFINITY });
    port.listen({ frame: (text) => void incoming.push(text, text.length), close: () => incoming.end() });
    this.#run.scope.add(() => port.close(1001, "the replay has closed"));
    for (const step of take.steps) {
      const { entry } = step;
      if (entry.kind === "frame" && entry.from === "client") {
        const { value, done } = await this.#run
          .within(`a message of the client on ${nameOf(take)}`, () => incoming.next())
          .catch(() => ({ done: true, value: undefined }));
        if (done)
          return void this.#run.found("left", `${describe(entry)} on ${nameOf(take)} was recorded and did not come`);
        this.#run.learn([], "", value);
        const differences = matcher.text(entry.text, value);
        if (differences.length > 0)
          this.#run.found("differs", `a message of the client on ${nameOf(take)}`, differences);
        this.#gate.pass(entry);
      } else if (entry.from === "server" && (entry.kind === "frame" || entry.kind === "close")) {
        await this.#turn(take, step);
        if (entry.kind === "frame") port.send(matcher.rewrite(entry.text ?? ""));
        else {
          port.close(entry.code === 1005 || entry.code === 1006 ? 1000 : entry.code, entry.reason);
          break;
        }
      } else if (entry.kind === "error" && entry.from === "server") {
        await this.#turn(take, step);
        port.cut ? port.cut() : port.close(1006, "");
        break;
      }
    }
    for (const text of incoming.rest(Number.POSITIVE_INFINITY))
      this.#run.found("more", `the client sent ${text.slice(0, 200)} on ${nameOf(take)}`);
  }
}

/** The weight of a difference in these parts, when searching for the nearest request. */
const FAR: Readonly<Record<string, number>> = { method: 100, path: 100 };

/** Whether the server continues to send after it has answered the request. */
function isLong({ request, steps }: Take): boolean {
  return request.socket === true || steps.some(({ entry }) => entry.kind === "event");
}

const encoder = new TextEncoder();

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield encoder.encode(text);
}

function describe(entry: Entry): string {
  if (entry.kind === "request") return `${entry.method} ${entry.target}`;
  return "text" in entry && entry.text !== undefined ? `${entry.kind} ${entry.text.slice(0, 80)}` : entry.kind;
}

/** The subprotocol to select for a client that offers a ticket: the client's own, as recorded. */
export function selected(protocols: Iterable<string>): string | false {
  return [...protocols].find((one) => parseTicket([one]) !== undefined || one.startsWith("parlance.")) ?? false;
}
