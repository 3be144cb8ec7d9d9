import type { AnyContract, AnyMessage, ConnectionChange } from "@parlance/wire";
import { Disconnected, misuse, notify, Refusal } from "@parlance/wire/errors";
import { newKey } from "@parlance/wire/resume-key";
import { coded, type Lifetime, lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import { type Rejoins, rejoining } from "../rejoin.js";
import { type Buffer, buffer } from "./buffer.js";
import type { Opening, StreamSource } from "./source.js";

/** Three times the seconds that each further opening may take: see `Rejoins`. */
const GRACE = 90;
/** Milliseconds after which an open stream resets the budget, even when it sent only comments. */
const PROVED = 30_000;

export type BeginAgain = (how: Partial<Opening>, connection: ConnectOptions) => StreamSource<AnyMessage>;

/** How a stream is opened again. */
export interface Again {
  readonly begin: BeginAgain;
  /** Whether another opening can make up for a loss. */
  readonly canFollow: (lost: Disconnected) => boolean;
  /** The error of a stream whose opening is refused for good. */
  readonly refused: (error: unknown, lost: Disconnected) => unknown;
  /** The text of the messages. */
  readonly text: (messages: AsyncIterable<AnyMessage>) => Promise<string>;
}

/** Sends a GET whose answer is a stream, and sends it again after each loss. */
export function openAgain(
  contract: AnyContract,
  connection: ConnectOptions,
  name: string,
  opening: Opening,
  begin: BeginAgain,
): StreamSource<AnyMessage> {
  const what = `${contract.name}.${name}`;
  const { method } = contract.operations[name]!;
  if (method !== "GET")
    throw misuse(`${what} is a ${method}: to open it again would do it twice. Call it again if that is meant`);
  return new ReopenedStream(what, connection, opening, {
    begin,
    canFollow: () => true,
    refused: (error) => error,
    text: () => {
      throw misuse(`${what} may repeat its text when it is opened again: read its messages`);
    },
  });
}

/** Presents the streams opened after each loss as one stream. Each has its own key and its own joins. */
export class ReopenedStream implements StreamSource<AnyMessage> {
  readonly opened: Promise<unknown>;
  readonly messages: Buffer<AnyMessage>;
  readonly #what: string;
  readonly #connection: ConnectOptions;
  readonly #onConnection: ConnectOptions["onConnection"];
  readonly #opening: Opening;
  readonly #again: Again;
  readonly #life: Lifetime;
  readonly #rejoins: Rejoins;
  readonly #batches = this.#read();
  #current: StreamSource<AnyMessage>;
  /** The time at which the current stream opened; 0 before the first. */
  #openedAt = 0;
  /** Milliseconds that the server asked for before a reconnect. */
  #retry = 0;
  #cancelled = false;
  #finished = false;

  constructor(what: string, connection: ConnectOptions, opening: Opening, again: Again) {
    this.#what = what;
    this.#opening = opening;
    this.#again = again;
    this.messages = buffer(() => {
      this.#batches
        .next()
        .then(
          ({ done, value }) => {
            if (done) this.messages.end({});
            else for (const message of value) this.messages.push(message);
          },
          (error) => this.messages.end({ error }),
        )
        .then(this.messages.arrived);
      return undefined;
    });
    this.#life = lifetime(connection.signal, opening.options.signal);
    this.#life.signal.addEventListener("abort", () => opening.over(0));
    this.#rejoins = rejoining(connection, this.#life, what);
    const { onConnection, onUnknown, onViolation } = connection;
    this.#onConnection = onConnection;
    this.#connection = {
      ...connection,
      // The end of one opening is not that of the stream.
      ...(onConnection && { onConnection: (event) => event.type !== "ended" && onConnection(event) }),
      ...(onUnknown && { onUnknown: this.#ending(onUnknown) }),
      ...(onViolation && { onViolation: this.#ending(onViolation) }),
    };
    this.#current = this.#next(lifetime(this.#life.signal), this.#connection, opening.key);
    this.opened = this.#current.opened.then(() => {
      this.#openedAt = Date.now();
    });
    this.opened.catch((error: unknown) => this.#finish({ error }));
  }

  async text(messages: AsyncIterable<AnyMessage>): Promise<string> {
    const text = await this.#again.text(messages);
    // What came before the cancel is not the text.
    if (this.#cancelled) throw coded(new DOMException("the stream was cancelled", "AbortError"));
    const refusal = await this.failure();
    if (refusal) throw refusal;
    return text;
  }

  failure(): Promise<Refusal | undefined> {
    return this.#current.failure();
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  close(): void {
    this.#cancelled ||= !this.messages.drained;
    this.messages.clear();
    this.#current.close();
    this.#life.abort(new DOMException("the stream was cancelled", "AbortError"));
    this.#finish({});
  }

  async *#read(): AsyncGenerator<AnyMessage[], void> {
    let how = {};
    try {
      for (;;) {
        try {
          const { done, value } = await this.#current.messages.batch();
          if (done) return;
          this.#rejoins.delivered();
          yield value;
        } catch (error) {
          if (this.#cancelled) return;
          if (!this.#openedAt || !(error instanceof Disconnected) || !this.#again.canFollow(error)) throw error;
          if (!(await this.#reopen(error))) return;
        }
      }
    } catch (error) {
      how = { error };
      throw error;
    } finally {
      this.#finish(how);
    }
  }

  /** Resolves with false when the stream is over. Rejects when it cannot be reopened. */
  async #reopen(lost: Disconnected): Promise<boolean> {
    const { sessionEnded, key, options } = this.#opening;
    const isOver = async () => this.#cancelled || sessionEnded();
    if (await isOver()) return false;
    if (typeof options.reopen === "function") notify(options.reopen, lost, this.#life.abort);
    if (Date.now() - this.#openedAt > PROVED) this.#rejoins.delivered();
    const once = { ...this.#connection, retryWaits: [] };
    const attempt = async (request: Lifetime) => {
      if (await sessionEnded()) throw lost;
      const next = this.#next(request, once, key && newKey());
      const refused = await next.opened.then(
        () => undefined,
        (error: unknown) => {
          if (!(error instanceof Refusal && error.retryable)) throw this.#again.refused(error, lost);
          lost.cause = error;
          return (error.retryAfter ?? 0) * 1000;
        },
      );
      return refused ?? next;
    };
    try {
      this.#current = await this.#rejoins.run(lost, GRACE, attempt, this.#retry);
      this.#openedAt = Date.now();
      this.#notify({ type: "joined" });
      return true;
    } catch (error) {
      // The server no longer knows a session that this client has ended meanwhile.
      if (await isOver()) return false;
      throw error;
    }
  }

  /** Wraps a callback so that its failure ends the whole stream, even after its own connection is over. */
  #ending<T>(callback: (value: T) => void): (value: T) => void {
    return (value) => notify(callback, value, this.#life.abort);
  }

  #next(request: Lifetime, connection: ConnectOptions, key: string | undefined): StreamSource<AnyMessage> {
    const over = (retry: number) => {
      this.#retry = retry;
      request.release();
    };
    return this.#again.begin({ key, options: { ...this.#opening.options, signal: request.signal }, over }, connection);
  }

  #notify(change: ConnectionChange): void {
    notify(this.#onConnection, { call: this.#what, ...change }, this.#life.abort);
  }

  #finish(how: { readonly error?: unknown }): void {
    this.#life.release();
    this.#opening.over(0);
    if (!this.#finished) this.#notify({ type: "ended", ...how });
    this.#finished = true;
  }
}
