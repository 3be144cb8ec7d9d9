import type { Port } from "@parlance/wire";
import { Queue } from "@parlance/wire/link";
import { formatResumeFrame, isControl, parseResumeFrame } from "@parlance/wire/resume";
import { rawOf } from "../blocks.js";
import { bytesIn } from "../bodies.js";
import { type Entry, leftOutAs } from "../recording.js";
import type { FramePort, Opened, Replayed } from "./answering.js";
import type { Gate } from "./gate.js";
import { nameOf, type RecordedConnection, type Step } from "./loaded.js";
import type { Replaying } from "./replay.js";

/** Headers of the connection or the moment: the replay does not send the recorded ones. */
const HELD = /^(connection|keep-alive|transfer-encoding|content-length|date|upgrade|sec-websocket-.*)$/i;

/** Plays the server's side of recorded connections. */
export class Player {
  readonly #run: Replaying;
  readonly #gate: Gate | undefined;

  /** Without a gate, no message waits for the client's other requests. */
  constructor(run: Replaying, gate?: Gate) {
    this.#run = run;
    this.#gate = gate;
  }

  async answer(connection: RecordedConnection): Promise<Replayed> {
    const { steps } = connection;
    const first = steps.findIndex(({ entry }) => entry.kind === "response");
    const response = steps[first]?.entry;
    if (response?.kind !== "response") {
      const lost = steps.find(({ entry }) => entry.kind === "error");
      if (lost?.entry.from === "server") return { status: 502, headers: [], body: nothing };
      // The client left before there was an answer.
      return { status: 200, headers: [], body: (signal) => this.#park(signal) };
    }
    await this.#run.pause(steps[first]!.at);
    const kept = (name: string) => !HELD.test(name) && !(leftOut(connection) && /^content-encoding$/i.test(name));
    return {
      status: response.status,
      headers: response.headers.filter(([name]) => kept(name)),
      body: (signal) => this.#body(connection, steps.slice(first + 1), signal),
    };
  }

  /** `offers`: the client can resume the channel, so it gets the recorded server's announcement. */
  accept(connection: RecordedConnection, offers: boolean): Opened {
    const [head, body] = connection.steps.map(({ entry }) => entry).filter(({ from }) => from === "server");
    if (head?.kind !== "response") return { refused: { status: 502, body: "" } };
    if (head.status !== 101)
      return { refused: { status: head.status, body: body?.kind === "body" ? (body.text ?? "") : "" } };
    return {
      run: (port) =>
        void this.#converse(port, connection, offers).catch(() => port.close(1011, "the replay has failed")),
    };
  }

  /** Waits for the recorded pause and, on a stream or channel, for the client's actions since it was opened. */
  async #turn(connection: RecordedConnection, { entry, at }: Step): Promise<void> {
    if (isLong(connection)) await this.#meanwhile(connection.at, at, entry);
    await this.#run.pause(at);
  }

  async #meanwhile(from: number, to: number, entry: Entry): Promise<void> {
    const gate = this.#gate;
    if (!gate) return;
    try {
      await this.#run.within("the client", () => gate.until(from, to));
    } catch (error) {
      const pending = gate.pending(from, to);
      if (pending && !this.#run.scope.closed)
        this.#run.found(
          "left",
          `the client's ${describe(pending)} was recorded before the server's ${describe(entry)}, and did not come`,
        );
      throw error;
    }
  }

  async *#body(
    connection: RecordedConnection,
    steps: readonly Step[],
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    for (const step of steps) {
      const { entry } = step;
      if (entry.from === "client") continue;
      await this.#turn(connection, step);
      if (signal.aborted) return;
      if (entry.kind === "end") return;
      if (entry.kind === "error") throw new Error(entry.text);
      if (isLeftOut(entry))
        this.#run.found("left", `${describe(entry)} of ${nameOf(connection)} is not in the recording`);
      const bytes = this.#bytes(entry);
      if (bytes) yield bytes;
    }
    // Nothing more: the client left, or the recording ended.
    yield* this.#park(signal);
  }

  #bytes(entry: Entry): Uint8Array | undefined {
    const { matcher } = this.#run;
    if (entry.kind === "event" && entry.size === undefined) {
      matcher.sent(entry.text ?? "");
      return encoder.encode(matcher.rewrite(rawOf(entry)));
    }
    if (entry.kind !== "body" && entry.kind !== "comment") return undefined;
    if (entry.base64 !== undefined) return bytesIn(entry.base64);
    return encoder.encode(matcher.send(entry.text ?? ""));
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

  #frame(port: Port, text: string, offers: boolean): void {
    const resumable = parseResumeFrame(text);
    if (!resumable) return port.send(this.#run.matcher.send(text));
    // A replay sends no signs of life.
    if (offers) port.send(formatResumeFrame({ ...resumable, beat: 0 }));
  }

  async #converse(port: FramePort, connection: RecordedConnection, offers: boolean): Promise<void> {
    const { matcher } = this.#run;
    const incoming = new Queue<string>({ limit: Number.POSITIVE_INFINITY });
    port.listen({
      frame: (text) => void (isControl(text) || incoming.push(text, text.length)),
      close: () => incoming.end(),
    });
    this.#run.scope.add(() => port.close(1001, "the replay has closed"));
    for (const step of connection.steps) {
      const { entry } = step;
      if (entry.kind === "frame" && entry.from === "client") {
        const { value, done } = await this.#run
          .within(`a message of the client on ${nameOf(connection)}`, () => incoming.next())
          .catch(() => ({ done: true, value: undefined }));
        if (done)
          return void this.#run.found(
            "left",
            `${describe(entry)} on ${nameOf(connection)} was recorded and did not come`,
          );
        this.#run.learn([], "", value);
        const differences = matcher.text(entry.text, value);
        if (differences.length > 0)
          this.#run.found("differs", `a message of the client on ${nameOf(connection)}`, differences);
        this.#gate?.pass(entry);
      } else if (entry.from === "server" && (entry.kind === "frame" || entry.kind === "close")) {
        await this.#turn(connection, step);
        const binary = entry.kind === "frame" ? entry.base64 : undefined;
        if (binary !== undefined && port.binary) port.binary(bytesIn(binary));
        else if (isLeftOut(entry))
          this.#run.found("left", `${describe(entry)} of ${nameOf(connection)} is not in the recording`);
        else if (entry.kind === "frame") this.#frame(port, entry.text!, offers);
        else {
          port.close(entry.code === 1005 || entry.code === 1006 ? 1000 : entry.code, entry.reason);
          break;
        }
      } else if (entry.kind === "error" && entry.from === "server") {
        await this.#turn(connection, step);
        port.cut ? port.cut() : port.close(1006, "");
        break;
      }
    }
    for (const text of incoming.rest(Number.POSITIVE_INFINITY))
      this.#run.found("more", `the client sent ${text.slice(0, 200)} on ${nameOf(connection)}`);
  }
}

/** Whether the server continues to send after it has answered the request. */
function isLong({ request, steps }: RecordedConnection): boolean {
  return request.socket === true || steps.some(({ entry }) => entry.kind === "event");
}

const encoder = new TextEncoder();

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Whether there is nothing to send: a left-out text, or a binary frame on a port that has none. */
const isLeftOut = (entry: Entry) =>
  ("size" in entry && entry.size !== undefined) || (entry.kind === "frame" && entry.base64 !== undefined);

const leftOut = ({ steps }: RecordedConnection) =>
  steps.some(({ entry }) => entry.from === "server" && isLeftOut(entry));

function describe(entry: Entry): string {
  if (entry.kind === "request") return `${entry.method} ${entry.target}`;
  if ("size" in entry && entry.size !== undefined) return `${entry.kind} (${leftOutAs(entry)})`;
  return "text" in entry && entry.text !== undefined ? `${entry.kind} ${entry.text.slice(0, 80)}` : entry.kind;
}
