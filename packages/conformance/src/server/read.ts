import { type Answer, decoder, type Side, type SseEvent } from "@parlance/wire";
import { alike, meet, NotOffered, Unmet } from "../case.js";
import type { Samples } from "../samples.js";
import type { Called, JsonMessage } from "../steps.js";
import type { Asking, Frame, Frames, Opened, TestedServer, Whole } from "../tested.js";

/** Whether an answer is a success. Its exact status has a case of its own. */
export function meetOk({ status }: { readonly status: number }, body = ""): void {
  meet(status >= 200 && status < 300, "a status of 200 to 299", `${status} ${body}`);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads the messages of a stream one by one. */
export class Messages {
  readonly #opened: Opened;
  readonly #events: SseEvent[] = [];
  readonly #decoder = decoder({
    onEvent: (event) => void this.#events.push(event),
    onTooLarge() {},
    maxSize: 1 << 24,
  });
  readonly #samples: Samples;
  readonly #name: string;

  /** Whether the sentinel has come. */
  hasSentinel = false;

  /** How the first message that was not written in its documented form was read. */
  rereading: string | undefined;

  constructor(samples: Samples, name: string, opened: Opened) {
    this.#samples = samples;
    this.#name = name;
    this.#opened = opened;
  }

  /** The next event; undefined at the end of the body. */
  async event(): Promise<SseEvent | undefined> {
    while (this.#events.length === 0) {
      const text = await this.#opened.next();
      if (text === undefined) return undefined;
      this.#decoder.push(text.replace(/^\uFEFF/, ""));
    }
    return this.#events.shift();
  }

  /** The next message that the contract knows; undefined at the end. Throws `Violation` for one that breaks its schema. */
  async next(): Promise<JsonMessage | undefined> {
    for (;;) {
      const event = await this.event();
      if (event === undefined) return undefined;
      if (event.data === this.#sentinel) {
        this.hasSentinel = true;
        return undefined;
      }
      const read = this.#samples.codec(this.#name, "server").decode(event);
      if (!("message" in read)) continue;
      this.rereading ??= this.#samples.talk.rereading("server", event.data, read.message, event.event);
      return read.message as JsonMessage;
    }
  }

  get #sentinel(): string | undefined {
    return this.#samples.contract.operations[this.#name]?.answer.stream?.sentinel;
  }

  async meet(expected: readonly JsonMessage[]): Promise<void> {
    for (const message of expected) {
      const came = await this.next();
      meet(alike(message, came), JSON.stringify(message), came ?? "the end of the stream");
    }
  }
}

export async function openStream(samples: Samples, peer: TestedServer, name: string, asking?: Asking) {
  const opened = await peer.open(asking ?? samples.asking(name, samples.input(name)));
  if (opened.status >= 300) meetOk(opened, await opened.rest());
  return { opened, messages: new Messages(samples, name, opened) };
}

export async function openSocket(
  samples: Samples,
  peer: TestedServer,
  name: string,
  input = samples.input(name),
): Promise<Frames> {
  const frames = await peer.socket(samples.asking(name, input));
  if ("status" in frames) throw new Unmet("a WebSocket to open (101)", `${frames.status} ${frames.text}`);
  return frames;
}

/** Opens a channel and holds its opening. */
export async function openChannel(samples: Samples, peer: TestedServer, name: string): Promise<Frames> {
  const frames = await openSocket(samples, peer, name);
  const { client, server } = samples.opening(name);
  for (const message of client) frames.send(samples.frame(name, "client", message));
  for (const message of server) await meetMessage(samples, name, frames, message);
  return frames;
}

/** The next message of a channel, from a side. */
export async function nextMessage(
  samples: Samples,
  name: string,
  frames: Frames,
  from: Side = "server",
): Promise<JsonMessage> {
  for (;;) {
    const frame = await frames.next();
    if ("pong" in frame) continue;
    if (!("text" in frame)) throw new Unmet("a message", shown(frame));
    const read = samples.codec(name, from).decode({ data: frame.text });
    if ("message" in read) return read.message as JsonMessage;
  }
}

export async function meetMessage(
  samples: Samples,
  name: string,
  frames: Frames,
  expected: JsonMessage,
): Promise<void> {
  const came = await nextMessage(samples, name, frames);
  meet(alike(expected, came), JSON.stringify(expected), came);
}

export function shown(frame: Frame): string {
  if ("close" in frame) return `a close with ${frame.close}`;
  return JSON.stringify(frame);
}

/** Whether a message of a channel's server reports a failure. */
export function isFaultOf(samples: Samples, name: string, type: string): boolean {
  const { fault, server } = samples.contract.channels[name]!;
  return type === fault || (server.includes(type) && samples.contract.messages[type]?.fault !== undefined);
}

/** A channel's refusal of a frame: the contract's fault, or a close that is no success. Anything else that arrives before it is passed over. */
export async function meetRefusal(samples: Samples, name: string, frames: Frames, what: string): Promise<void> {
  for (;;) {
    const frame = await frames.next().catch((error) => {
      throw error instanceof Unmet ? new Unmet(`${what} to be refused`, error.came) : error;
    });
    if ("close" in frame) {
      meet(frame.close !== 1000, `${what} to be refused`, "a close with 1000");
      return;
    }
    if (!("text" in frame)) continue;
    const read = samples.codec(name, "server").decode({ data: frame.text });
    if (!("message" in read)) continue;
    if (isFaultOf(samples, name, read.message.type)) return;
  }
}

/** An answer with one of the declared statuses. */
export function meetSuccess({ status, none }: Answer, came: number, shown: string): void {
  meet(
    came === status || came === none,
    none === undefined ? `status ${status}` : `status ${status} or ${none}`,
    shown,
  );
}

/** The statuses of a live server for an operation that it does not offer. */
const NOT_OFFERED = [404, 405, 501, 503];

/** Skips a case that a live server does not offer. */
export function meetOffered(name: string, { status }: { readonly status: number }): void {
  if (NOT_OFFERED.includes(status)) throw new NotOffered(`${name} is answered with ${status}`);
}

/** An answer that refuses with one of the statuses. */
export function meetRefused({ live }: TestedServer, answer: Whole, statuses: readonly number[], what: string): void {
  if (statuses.includes(answer.status)) return;
  if (live) meetOffered(what, answer);
  meet(false, `${statuses.join(" or ")} for ${what}`, `${answer.status} ${answer.text}`);
}

/** Waits until a handler has the expected input. `holds` throws where more time cannot help. */
export async function reported<T>(
  peer: TestedServer,
  name: string,
  expected: string,
  read: (called: Called | undefined) => T,
  holds: (value: T) => boolean,
): Promise<void> {
  const until = Date.now() + peer.wait;
  for (;;) {
    const value = read((await peer.report()).find(({ call }) => call === name));
    if (holds(value)) return;
    if (Date.now() > until) throw new Unmet(expected, value ?? "no call");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
