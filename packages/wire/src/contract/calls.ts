/** The parts of generated interfaces: a caller's objects (client) and a handler's (server). */

import type { Refusal } from "../errors.js";

/** What happens to the connection of a stream or channel. Times are milliseconds. */
export type ConnectionChange =
  | {
      /** The connection was lost. It is joined again where the server resumes, else it ends. */
      readonly type: "lost";
      readonly cause: Error;
    }
  | {
      /** Another attempt to join begins in `wait`. Without a success no further one begins after `left`. */
      readonly type: "rejoining";
      /** Counts from 1 since the last message. */
      readonly attempt: number;
      /** What ended the connection, or the last attempt. */
      readonly cause: unknown;
      readonly wait: number;
      readonly left: number;
    }
  /** It is open again, and what was missed follows. A stream with `reopen` has begun anew. */
  | { readonly type: "joined" }
  /** It is over: with an `error`, or as the protocol or this side meant it. The last event. */
  | { readonly type: "ended"; readonly error?: unknown };

/** A change, and the stream or channel that it is of, such as `fold-gateway.send`. */
export type ConnectionEvent = { readonly call: string } & ConnectionChange;

/** Receives the events of connections. When it throws or rejects, the stream or channel ends with that error. */
export type OnConnection = (event: ConnectionEvent) => void;

export interface CallOptions {
  /** Ends the call: the request is aborted, a stream's body is cancelled, a channel is closed. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called when the connection of this stream or channel is lost, joined again or over, beside the client's own.
   *
   * @example
   * ```ts
   * const turn = agent.send(input, { onConnection: ({ type }) => showStatus(type === "joined" ? "" : type) });
   * ```
   */
  readonly onConnection?: OnConnection | undefined;
}

/** Options of a stream requested by GET, which may be repeated without effect (RFC 9110, section 9.2.1). */
export interface ReopenOptions extends CallOptions {
  /**
   * Opens the stream again after each `Disconnected`, within `reconnectFor`, once it has been open. Each time starts anew: messages
   * sent meanwhile may be missing, and those sent to every new reader are repeated. A function is called first with each loss;
   * throwing or rejecting ends the stream. @default false
   */
  readonly reopen?: (boolean | ((lost: Error & { readonly code: string }) => void)) | undefined;
}

// As in the library "ESNext.Disposable", which TypeScript has since 5.2 and a program may omit.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>;
  }
}

/** The used part of a `ReadableStream` of bytes. The web's and Node's types are not compatible. */
export interface ByteStream {
  readonly locked: boolean;
  getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> };
}

/** Bytes to send. A stream is read at the pace of the network. */
export type Bytes = ByteStream | Uint8Array | Blob;

/**
 * What `connect(...).someStream(input)` returns. The request is sent at once; messages are read on demand, by one loop: a second
 * reader rejects with `TypeError`, because two would share the messages.
 */
export interface MessageStream<M, Opened = void> extends AsyncIterable<M> {
  /**
   * Resolves when the server accepts the request; rejects with the error otherwise. The value is `{ headers }` where the contract has headers of
   * the answer, and `{ status }` with them where it has an answer without a body.
   */
  readonly opened: Promise<Opened>;
  /**
   * Reads the stream to its end and returns its text as the protocol defines it: the appended text, or the final text
   * where the protocol has one. Rejects with `Refusal` when the stream ends in the protocol's error.
   */
  text(): Promise<string>;
  /**
   * Returns the `Refusal` of a stream that ended in the protocol's error: a loop reads that as a message, and `text` rejects with it. Undefined for
   * another end. Call it when the messages are read.
   */
  failure(): Promise<Refusal | undefined>;
  /**
   * The messages in non-empty arrays: all those of one read of the network. Errors and ends are those of `for await` over the stream,
   * and leaving the loop ends the stream. A program that folds many messages waits once for each array, not for each message.
   */
  batches(): AsyncIterable<M[]>;
  /** Ends the stream. Leaving a `for await` loop does the same. */
  cancel(): void;
}

/** How a channel ended. */
export interface AskOptions<Answer> {
  /** Withdraws the ask, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each answer to a part of the ask, which stays open. */
  readonly onPart?: ((answer: Answer) => void) | undefined;
}

export interface Closed {
  /** WebSocket close code (RFC 6455, section 7.4). */
  readonly code: number;
  readonly reason: string;
}

/**
 * One side of an open socket: `Out` is what this side sends, `In` what it receives, `Asks` maps an ask's type to its answers.
 *
 * `for await` reads it, in one loop at a time: a second one rejects with `TypeError`. Leaving the loop does not close the channel; the next
 * loop goes on with the message after. `await using`, `close`, the call's `signal` and a server handler's return close it.
 */
export interface Channel<Out, In, Asks = Record<never, never>> extends AsyncIterable<In>, AsyncDisposable {
  /**
   * Sends a message. What cannot be sent is thrown by the call itself, so that it is not lost where `send` is not awaited: `Violation` if
   * it is not a message of this side, `Disconnected` when the channel has ended. A server also throws `Violation` if it breaks its
   * schema. A client does not load the schemas of its own messages; the server refuses a bad one.
   *
   * The promise resolves when there is room for another message: at once while the peer keeps up. It rejects when the channel ends
   * first. Await it to send much. Without that, `send` throws `Disconnected` with code `slow_reader` at the limit, and sends nothing.
   */
  send(message: Out): Promise<void>;
  /**
   * Sends messages one after the other, each when there is room. Resolves when the last is sent. Rejects with the error of `send` or of
   * the source, and when the channel ends; it then closes the source first. Never throws.
   */
  sendAll(messages: Iterable<Out> | AsyncIterable<Out>): Promise<void>;
  /**
   * Sends a message and returns its answer. Answers by order wait for the asks before them. The final answer is not iterated. A partial
   * one leaves the ask open, and goes to `onPart`, or is iterated without it. Rejects where `send` throws; never throws.
   */
  ask<T extends keyof Asks & string>(
    message: Out & { readonly type: T },
    options?: AskOptions<Asks[T]>,
  ): Promise<Asks[T]>;
  /** Closes the channel and resolves when it is closed. @default 1000 */
  close(code?: number, reason?: string): Promise<void>;
  /** Resolves when the channel ended normally (code 1000 or this side's close), rejects with `Disconnected` or `Violation` otherwise. */
  readonly closed: Promise<Closed>;
}

/** The server's side of a channel. */
export interface ServerChannel<Out, In, Asks = Record<never, never>> extends Channel<Out, In, Asks> {
  /**
   * Calls a function with each message, in turn, until the channel ends. What it throws is answered with the protocol's error message, which
   * names the message where it can, and the next message follows: the handler keeps its state. Rejects where the protocol has no such message.
   */
  handle(answer: (message: In) => unknown): Promise<void>;
}

/** A session's stream or channel, reached by its key from any handler. */
export interface Session<Out, Asks = Record<never, never>> {
  /**
   * Sends to the session's readers. Without a reader the message waits, within the server's limits. As on a channel, what cannot be sent is
   * thrown by the call itself: `Violation`, or `Disconnected` with code `slow_reader` where too much waits for a reader.
   *
   * The promise resolves when every reader has room for another message, or is gone; it never rejects. Await it: a reader with too
   * much queued is cut.
   */
  send(message: Out): Promise<void>;
  ask<T extends keyof Asks & string>(
    message: Out & { readonly type: T },
    options?: AskOptions<Asks[T]>,
  ): Promise<Asks[T]>;
}

/** What every handler gets beside its input. */
export interface CallContext<S = never> {
  readonly request: Request;
  /**
   * Aborted when the caller has gone, the call is cancelled, its session ends or the server closes. Its `reason` is a `Disconnected` when the caller was cut
   * and did not return within the grace period, or the event log has failed, else an `AbortError`.
   */
  readonly signal: AbortSignal;
  /** What `authenticate` returned. */
  readonly principal: unknown;
  /** The streams and channels of a session of this principal. */
  session(key: string): S;
}

/** The context of an operation's or a channel's handler. */
export interface Call<S = never> extends CallContext<S> {
  /** The open ask that this operation answers, if there is one. It is settled with the input when the handler returns, unless the handler settles it. */
  readonly ask?: OpenAsk | undefined;
}

/** The context of a stream's handler, which may yield messages, send them, or both. */
export interface StreamCall<Out, Asks = Record<never, never>, S = never> extends CallContext<S> {
  /**
   * Sends a message to the stream's reader, after those sent and yielded before. For callbacks, which cannot `yield`. Can be used without `call`.
   *
   * The promise resolves when the reader has room for another message, and rejects with the reason of `call.signal` when the stream ends first.
   * Await it: without that, `send` throws at the limit `maxQueued`.
   *
   * @throws `Violation` for a message that breaks its schema; `Disconnected` with code `slow_reader` at the limit, or `closed` after the end;
   * `Refusal` for a question above `maxAsks`
   * @example
   * ```ts
   * async send({ content }, call) {
   *   await runModel(content, { onText: (text) => call.send({ type: "text", text }), signal: call.signal });
   *   await call.send({ type: "done", full_response: "" });
   * }
   * ```
   */
  send(message: Out): Promise<void>;
  /**
   * Sends a question in the stream, and returns the decision on it: the input of the operation that answers it, with the operation's name as
   * `type`. The first decision counts, later ones are refused with 409. A reader that resumes is shown the question again if it missed it.
   *
   * Rejects with the reason of `call.signal` when the stream ends, with that of `options.signal`, with `Disconnected` (`timeout`) after
   * `askWithin`, an hour, and where `send` throws; never throws.
   *
   * @example
   * ```ts
   * async *send({ content }, call) {
   *   const tool = { id: "t1", name: "write_file", input_json: JSON.stringify({ content }) };
   *   const { approved } = await call.ask({ type: "tool_approval", ...tool, request_id: "1" });
   *   yield { type: "text", text: approved ? "written" : "not written" };
   *   yield { type: "done", full_response: "" };
   * }
   * ```
   */
  ask<T extends keyof Asks & string>(
    message: Out & { readonly type: T },
    options?: AskOptions<Asks[T]>,
  ): Promise<Asks[T]>;
}

/** The part of a stream's `call` where the contract has headers of the answer. */
export interface StreamHead<H> {
  /**
   * Sets headers of the answer. They are sent with the first message, or after a heartbeat without one.
   *
   * @throws `TypeError` after that, and for a value that HTTP would change
   */
  headers(values: H): void;
}

export interface OpenAsk {
  readonly message: { readonly type: string };
  settle(answer: { readonly type: string }): void;
}
