import type { Port } from "@parlance/wire";
import { Queue } from "@parlance/wire/link";
import { formatResumeFrame, isControl, parseResumeFrame } from "@parlance/wire/resume";
import { rawOf } from "../blocks.js";
import { bytesIn, dataOf } from "../bodies.js";
import { isLeftOut, leftOutAs } from "../left-out.js";
import type { Content, Entry, HeaderList } from "../recording.js";
import { type FramePort, type Opened, preferred, protocolsIn, type Replayed, unanswerable } from "./answering.js";
import type { Gate } from "./gate.js";
import { type LoadedRecording, nameOf, type RecordedConnection, type Step } from "./loaded.js";
import type { Replaying } from "./replay.js";

/** Headers of the connection or the moment: the replay does not send the recorded ones. */
const HELD = /^(connection|keep-alive|transfer-encoding|content-length|date|upgrade|sec-websocket-.*)$/i;

type Steps = AsyncGenerator<Step, void>;

/** Plays the server's side of recorded connections. */
export class Player {
  readonly #recording: LoadedRecording;
  readonly #run: Replaying;
  readonly #gate: Gate | undefined;

  /** Without a gate, no message waits for the client's other requests. */
  constructor(recording: LoadedRecording, run: Replaying, gate?: Gate) {
    this.#recording = recording;
    this.#run = run;
    this.#gate = gate;
  }

  async answer(connection: RecordedConnection): Promise<Replayed> {
    if (connection.answerLeftOut !== undefined) {
      const what = `the answer of ${nameOf(connection)} is not in the recording: ${connection.answerLeftOut}`;
      this.#run.found("left", what);
      return unanswerable(`replay: ${what}\n`);
    }
    const steps = this.#stepsOf(connection);
    for (let { done, value } = await steps.next(); !done; { done, value } = await steps.next()) {
      const { entry } = value!;
      if (entry.kind === "error" && entry.from === "server") return { status: 502, headers: [], body: nothing };
      if (entry.kind !== "response") continue;
      await this.#run.pause(value!);
      const kept = (name: string) => !HELD.test(name);
      return {
        status: entry.status,
        headers: entry.headers.filter(([name]) => kept(name)),
        body: (signal) => this.#body(connection, steps, signal),
      };
    }
    // The client left before there was an answer.
    return { status: 200, headers: [], body: (signal) => this.#park(signal) };
  }

  /** `offers`: the client can resume the channel, so it gets the recorded server's announcement. */
  async accept(connection: RecordedConnection, asked: HeaderList, offers: boolean): Promise<Opened> {
    const steps = this.#stepsOf(connection);
    const next = async (): Promise<Entry | undefined> => {
      for (let { done, value } = await steps.next(); !done; { done, value } = await steps.next())
        if (value!.entry.from === "server") return value!.entry;
      return undefined;
    };
    const head = await next();
    if (head?.kind !== "response") return { refused: { status: 502, body: "" } };
    if (head.status !== 101) {
      const body = await next();
      return { refused: { status: head.status, body: body?.kind === "body" ? (body.text ?? "") : "" } };
    }
    return {
      protocol: selected(connection, head.headers, protocolsIn(asked)),
      run: (port) =>
        void this.#converse(port, connection, steps, offers).catch(() => port.close(1011, "the replay has failed")),
    };
  }

  /** The entries after a request on its connection. The recording is read as far as it is played. */
  #stepsOf({ request: { c }, place, last }: RecordedConnection): Steps {
    const all = this.#recording.steps(place);
    const { scope } = this.#run;
    const own = async function* (): Steps {
      for await (const step of all) {
        if (step.at > place.at && step.entry.c === c) yield step;
        if (step.at >= last) return;
      }
      if (scope.closed) throw new Error("the replay has closed");
    };
    scope.add(() => void all.return());
    return own();
  }

  /** Waits for the recorded pause and, on a stream or channel, for the client's actions since it was opened. */
  async #turn(connection: RecordedConnection, step: Step): Promise<void> {
    if (connection.isLong) await this.#meanwhile(connection, step);
    await this.#run.pause(step);
  }

  async #meanwhile({ place }: RecordedConnection, { at: to, entry }: Step): Promise<void> {
    const gate = this.#gate;
    if (!gate) return;
    try {
      await this.#run.within("the client", () => gate.until(place.at, to));
    } catch (error) {
      const pending = gate.pending(place.at, to);
      if (pending !== undefined && !this.#run.scope.closed)
        for await (const step of this.#recording.steps(place)) {
          if (step.at !== pending) continue;
          const what = `the client's ${describe(step.entry)} was recorded before the server's ${describe(entry)}`;
          this.#run.found("left", `${what}, and did not come`);
          break;
        }
      throw error;
    }
  }

  async *#body(connection: RecordedConnection, steps: Steps, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const step of steps) {
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

  async #converse(port: FramePort, connection: RecordedConnection, steps: Steps, offers: boolean): Promise<void> {
    const name = nameOf(connection);
    const incoming = new Queue<string>({ limit: Number.POSITIVE_INFINITY });
    const push = (text: string) => incoming.push(text, text.length);
    port.listen({
      frame: (text) => void (isControl(text) || push(text)),
      binary: (bytes) => void push(dataOf(bytes)),
      close: () => incoming.end(),
    });
    this.#run.scope.add(() => port.close(1001, "the replay has closed"));
    for await (const step of steps) {
      const { entry, at } = step;
      if (entry.kind === "frame" && entry.from === "client") {
        const { value, done } = await this.#run
          .within(`a message of the client on ${name}`, () => incoming.next())
          .catch(() => ({ done: true, value: undefined }));
        if (done) return void this.#run.found("left", `${describe(entry)} on ${name} was recorded and did not come`);
        this.#compare(entry, value!, name);
        this.#gate?.pass(at);
      } else if (entry.from === "server" && (entry.kind === "frame" || entry.kind === "close")) {
        await this.#turn(connection, step);
        const binary = entry.kind === "frame" ? entry.base64 : undefined;
        if (binary !== undefined && port.binary) port.binary(bytesIn(binary));
        else if (isLeftOut(entry) || binary !== undefined)
          this.#run.found("left", `${describe(entry)} of ${name} is not in the recording`);
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
      this.#run.found("more", `the client sent ${text.slice(0, 200)} on ${name}`);
  }

  #compare({ text, base64 }: Content, came: string, name: string): void {
    this.#run.learn([], "", came);
    const recorded = base64 === undefined ? text : dataOf(bytesIn(base64));
    const differences = this.#run.matcher.text(recorded, came);
    if (differences.length > 0) this.#run.found("differs", `a message of the client on ${name}`, differences);
  }
}

const encoder = new TextEncoder();

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The subprotocol that the recorded server selected; the client's own in the same place, where the recorded one is left out. */
function selected({ request }: RecordedConnection, answer: HeaderList, offered: readonly string[]): string | undefined {
  const before = protocolsIn(request.headers);
  const [chosen] = protocolsIn(answer);
  // A transcript has no headers.
  if (before.length === 0) return preferred(offered);
  if (chosen === undefined) return undefined;
  return offered.includes(chosen) ? chosen : offered[before.indexOf(chosen)];
}

function describe(entry: Entry): string {
  if (entry.kind === "request") return `${entry.method} ${entry.target}`;
  if (isLeftOut(entry)) return `${entry.kind} (${leftOutAs(entry as Content)})`;
  return "text" in entry && entry.text !== undefined ? `${entry.kind} ${entry.text.slice(0, 80)}` : entry.kind;
}
