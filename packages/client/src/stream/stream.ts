import type { AnyContract, AnyMessage, ConnectionChange, DisconnectedCode, SseDecoder, Stream } from "@parlance/wire";
import { brief, Disconnected, disconnected, notify, quoteBody, Refusal } from "@parlance/wire/errors";
import { RESUME } from "@parlance/wire/resume-key";
import { type Lifetime, lifetime, type Silence, silence, within } from "../lifetime.js";
import { type ConnectOptions, IDLE_TIMEOUT } from "../options.js";
import { type Buffer, buffer } from "./buffer.js";
import { decoding, type Last } from "./decoding.js";
import type { Joined, Resuming } from "./resuming.js";

export interface StreamOptions {
  /** Names the stream in errors. */
  readonly what: string;
  readonly stream: Stream;
  /** The stream's lifetime, under the caller's signals. */
  readonly life: Lifetime;
  /** Sends the request. */
  readonly send: (request: Lifetime) => Promise<Response>;
  /** Loads what resumes the stream. Absent when resume is off. */
  readonly resume?: ((fail: (error: unknown) => void) => Promise<Resuming>) | undefined;
  /** Ends the stream on the server. `offered`: whether the server has offered to resume it. */
  readonly abandon: (offered: boolean) => void;
  /** Whether this client ended the session. Called when the body ends on a stream that declares no end. */
  readonly sessionEnded: () => Promise<boolean>;
  /** Called once, with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Made once, not for each chunk. */
const STREAM = { stream: true };

/** Milliseconds for a body to end after its stream. */
const END_WITHIN = 1000;

/** Leaves a body. One whose stream is over is read to its end, because only then its connection is used again. */
function leave(bytes: ReadableStreamDefaultReader<Uint8Array>, isOver: boolean): void {
  const cancel = () => void bytes.cancel().catch(() => {});
  if (!isOver) return cancel();
  const timer = setTimeout(cancel, END_WITHIN);
  bytes
    .read()
    .catch(() => {})
    .then(() => {
      clearTimeout(timer);
      cancel();
    });
}

/**
 * The state of a stream. The transitions are in `#attach`, `#rejoin` and `close`, and nowhere else.
 *
 *     connecting ─attach→ open ─rejoin→ rejoining ─attach→ open
 *     any ─close→ closed
 */
type State = "connecting" | "open" | "rejoining" | "closed";

/**
 * Whether a failed request may have started its handler. `fetch` repeats a GET whose connection was lost and reports only the second
 * answer. An HTTP parser sends a bare 400 for a request cut in transit.
 */
function mayRun(error: unknown): boolean {
  if (error instanceof Refusal) return error.status === 400 && !!error.bare;
  return error instanceof Disconnected && error.code === "unreachable" && !error.retryable;
}

/** The messages of one Server-Sent Events answer. At most one chunk is read ahead, so a slow reader slows the network. */
export class StreamReader {
  readonly messages: Buffer<AnyMessage> = buffer(() => this.#read?.());
  /** Settles when the server has accepted the request. */
  readonly opened: Promise<void>;
  readonly #source: StreamOptions;
  readonly #connection: ConnectOptions;
  readonly #decoder: (onRetry: (milliseconds: number) => void) => SseDecoder;
  #state: State = "connecting";
  #request: Lifetime;
  #bytes: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Reads from the body once. Absent while there is none. */
  #read: (() => Promise<unknown> | undefined) | undefined;
  #silence: Silence | undefined;
  #offered = false;
  /** Present once the server has offered to resume this stream, or when its answer was lost. */
  #resumed: Resuming | undefined;
  #retry = 0;
  readonly last: Last = {};

  constructor(contract: AnyContract, connection: ConnectOptions, name: string, source: StreamOptions) {
    this.#source = source;
    this.#connection = connection;
    const { life, stream } = source;
    this.#decoder = decoding(contract, connection, name, stream, this.last, {
      // The path of every message: no extra calls when resume is off.
      isNext: (id) => this.#state === "open" && (id === undefined || !this.#resumed || this.#resumed.isNext(id)),
      push: this.messages.push,
      ended: () => this.close({}),
      fail: (error) => this.#fail(error),
    });
    this.#request = lifetime(life.signal);
    this.opened = this.#open().then((joined) => this.#attach(joined));
    this.opened.then(
      () => this.#begin(),
      (error: unknown) => this.close({ error }, error, this.#offered || this.#request.signal.aborted),
    );
    const { signal } = life;
    const onAbort = () => this.close({ error: signal.reason }, signal.reason, true);
    if (signal.aborted) this.close({ error: signal.reason }, signal.reason);
    else signal.addEventListener("abort", onAbort);
  }

  /** Ends the stream. A `reason` aborts the request. With `tell`, sends a DELETE to a server that would wait for its reader. */
  close(how: { readonly error?: unknown }, reason?: unknown, tell = false): void {
    if (this.#state === "closed") return;
    const { life, abandon, over } = this.#source;
    // Before the abort, which looks like a cut.
    if (tell && (this.#offered || this.#state === "connecting")) abandon(this.#offered);
    this.#state = "closed";
    this.messages.end(how);
    this.#drop(reason);
    if (reason !== undefined) life.abort(reason);
    life.release();
    over(this.#retry);
    this.#notify({ type: "ended", ...how });
  }

  /** A callback may have closed it. */
  get #isClosed(): boolean {
    return this.#state === "closed";
  }

  #notify(change: ConnectionChange): void {
    notify(this.#connection.onConnection, { call: this.#source.what, ...change }, (error) => this.#fail(error));
  }

  async #open(): Promise<Joined> {
    const request = this.#request;
    const { send, resume } = this.#source;
    try {
      return { request, response: await within(request, () => send(request), this.#limit, this.#idle) };
    } catch (error) {
      if (!resume || !mayRun(error)) throw error;
      // A request that may have been received is never sent again; the stream is joined if the server knows its key.
      const lost = error instanceof Disconnected ? error : this.#lost("was refused", "unreachable", error);
      const resumed = await this.#resume().catch((failure: Error) => {
        failure.cause = error;
        throw failure;
      });
      this.#notify({ type: "lost", cause: lost });
      const joined = await resumed.join(lost, 0).catch((failure: unknown) => {
        throw failure === lost ? error : failure;
      });
      this.#notify({ type: "joined" });
      return joined;
    }
  }

  async #resume(): Promise<Resuming> {
    this.#resumed ??= await this.#source.resume!((error) => this.#fail(error));
    return this.#resumed;
  }

  async #attach({ request, response: { headers, body } }: Joined): Promise<void> {
    this.#request = request;
    this.#bytes = (body ?? new Response("").body!).getReader();
    // Some servers repeat headers: that would be the key.
    if (this.#source.resume && headers.get(RESUME)?.includes(";")) {
      this.#offered = true;
      // Loaded before the body is read: after a cut, nothing may be there to load from. Without that code the stream is read plainly.
      const resumed = await this.#resume().catch(() => undefined);
      resumed?.joined(headers);
    }
    if (this.#state === "closed") return this.#drop(this.#source.life.signal.reason);
    this.#state = "open";
  }

  /** Begins to read an open body. */
  #begin(): void {
    if (this.#state !== "open") return;
    this.#read = this.#reading(this.#bytes!);
    this.messages.arrived();
    if (this.#resumed) this.#readAhead(this.#bytes!);
  }

  /** Makes the reader of a body, with one timer and the same two functions for all of its chunks. */
  #reading(bytes: ReadableStreamDefaultReader<Uint8Array>): () => Promise<unknown> | undefined {
    const text = new TextDecoder();
    const events = this.#decoder((milliseconds) => {
      this.#retry = milliseconds;
    });
    const isOver = () => this.#bytes !== bytes || this.#state !== "open";
    const limit = this.#limit;
    const quiet = silence(limit, () => this.#rejoin(this.#idle()));
    this.#silence = quiet;
    // `fetch` implementations name the errors of a body differently: each is a cut.
    const cut = (cause: unknown) => {
      quiet.end();
      if (!isOver()) this.#rejoin(this.#lost("was cut", "ended_early", cause));
      return this.messages.arrived();
    };
    const chunk = ({ done, value }: ReadableStreamReadResult<Uint8Array>) => {
      quiet.end();
      if (isOver()) return this.messages.arrived();
      let decoded = "";
      try {
        decoded = text.decode(value, STREAM);
      } catch (error) {
        return cut(error);
      }
      if (done) this.#ended();
      else events.push(decoded);
      return this.messages.arrived();
    };
    return () => {
      quiet.begin();
      const read = bytes.read().then(chunk, cut);
      // A cancel settles the reads of a web stream. Another reader, which has no `closed`, may leave them pending.
      return "closed" in bytes ? read : undefined;
    };
  }

  /**
   * Notices a cut while the reader works on a message, so that the stream is joined within the server's grace. A stream that cannot be
   * resumed is read on demand: its server may be silent for as long as its reader works.
   */
  #readAhead(bytes: ReadableStreamDefaultReader<Uint8Array>): void {
    this.messages.readAhead(1);
    // While a chunk is held, no read is pending that would fail.
    const rest = () => this.#bytes === bytes && this.messages.readAhead(Number.POSITIVE_INFINITY);
    bytes.closed?.then(rest, rest);
  }

  /** Resumes after a cut, where the server supports it. */
  async #rejoin(lost: Disconnected): Promise<void> {
    this.#drop(lost);
    this.#notify({ type: "lost", cause: lost });
    if (this.#isClosed) return;
    if (!this.#resumed) return this.close({ error: lost }, lost);
    this.#state = "rejoining";
    try {
      const joined = await this.#resumed.join(lost, this.#retry);
      // First, so that a callback that fails ends the stream before anything of its next body is read.
      this.#notify({ type: "joined" });
      await this.#attach(joined);
      this.#begin();
    } catch (error) {
      this.close({ error }, error);
    }
  }

  /** Ends the stream with an error of this side, even with its end still unread: an async callback may reject after the last message. */
  #fail(error: unknown): void {
    this.messages.end({ error });
    this.close({ error }, error, true);
  }

  /** Releases the connection. */
  #drop(reason: unknown): void {
    this.#read = undefined;
    this.#silence?.stop();
    if (reason === undefined) this.#request.release();
    else this.#request.abort(reason);
    if (this.#bytes) leave(this.#bytes, reason === undefined);
  }

  /** Handles the end of the body. */
  async #ended(): Promise<void> {
    this.#read = undefined;
    try {
      if (this.#mayBeOver || (await this.#source.sessionEnded())) this.close({});
      else await this.#rejoin(this.#unended());
    } catch (error) {
      this.#fail(error);
    }
  }

  get #limit(): number {
    return this.#resumed?.silence || (this.#connection.idleTimeout ?? IDLE_TIMEOUT);
  }

  /** Whether the body may end after the last message. */
  get #mayBeOver(): boolean {
    const { type } = this.last;
    return type !== undefined && this.#source.stream.mayEnd?.includes(type) === true;
  }

  #unended(): Disconnected {
    const { end = [], sentinel } = this.#source.stream;
    const ends = sentinel ? [...end, sentinel] : end;
    const stopped = ends[0] ? `stopped without ${ends.join(" or ")}` : "stopped";
    const { unknown } = this.last;
    if (!unknown) return this.#lost(stopped, "ended_early");
    // Newer servers send other end messages, such as `canceled`. Quoting them explains the error.
    const { event = "", body } = unknown;
    const { text = "", details } = quoteBody(JSON.stringify(body));
    const how = `${stopped}, after the unknown event ${brief(`${event} ${text}`)}`;
    return Object.assign(this.#lost(how, "ended_early"), { details });
  }

  #lost(how: string, code: DisconnectedCode, cause?: unknown): Disconnected {
    const { what, stream } = this.#source;
    return disconnected(`${what} ${how}`, code, (stream.end ?? stream.sentinel) === undefined, cause);
  }

  readonly #idle = (): Disconnected => this.#lost(`sent nothing for ${this.#limit} ms`, "idle");
}
