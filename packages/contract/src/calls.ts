/** The surfaces that generated interfaces are made of: what a caller holds (client) and what a handler is given (server). */

export interface CallOptions {
  /** Ends the call: the request is aborted, a stream's body is cancelled, a channel is closed. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options of a stream that a GET asks for: to ask again has no effect on the server (RFC 9110, section 9.2.1). */
export interface ReopenOptions extends CallOptions {
  /**
   * Opens the stream again after each `Disconnected`, within `reconnectFor`, once it has been open. It begins anew each time: what the
   * server sent meanwhile may be missing, and what it sends to every new reader comes again. A function is called with each loss
   * first; what it throws or rejects with ends the stream. @default false
   */
  readonly reopen?: boolean | ((lost: Error & { readonly code: string }) => void);
}

// As in the library "ESNext.Disposable", which TypeScript has from 5.2 and a program may leave out.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>;
  }
}

/** What is used of a `ReadableStream` of bytes: the types of the web's and of Node's are not each other's. */
export interface ByteStream {
  readonly locked: boolean;
  getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> };
}

/** Bytes that are sent: a stream is read at the pace of the network. */
export type Bytes = ByteStream | Uint8Array | Blob;

/** What `connect(...).someStream(input)` returns. The request is sent at once; messages are read as they are asked for. */
export interface MessageStream<M> extends AsyncIterable<M> {
  /** Settles when the server has accepted the request; rejects with what refused it. */
  readonly opened: Promise<void>;
  /**
   * Reads the stream to its end and returns its text as the protocol defines it: what was appended, or the final text where
   * the protocol has one. Rejects with `Refusal` when the stream ends in the protocol's error.
   */
  text(): Promise<string>;
  /**
   * The messages in arrays: all that one read of the network brought, never none. Errors and ends are those of `for await` over the stream,
   * and leaving the loop ends the stream. For a program that folds many messages: it waits once an array, not once a message.
   */
  batches(): AsyncIterable<M[]>;
  /** Ends the stream. Leaving a `for await` loop does the same. */
  cancel(): void;
}

/** How a channel ended. */
export interface Closed {
  /** WebSocket close code (RFC 6455, section 7.4). */
  readonly code: number;
  readonly reason: string;
}

/** One side of an open socket: `Out` is what this side sends, `In` what it receives, `Asks` maps an ask's type to its answers. */
export interface Channel<Out, In, Asks = Record<never, never>> extends AsyncIterable<In>, AsyncDisposable {
  /**
   * Sends a message. Throws `Violation` if it is not a message of this side, `Disconnected` when the channel has ended. A server also
   * throws `Violation` if it breaks its schema; a client does not load the schemas of what it sends, and the server refuses it.
   *
   * Resolves when there is room for another message: at once while the peer keeps up. Rejects when the channel ends before. A sender of
   * much awaits it; ignoring it is safe until so much waits that `send` throws `Disconnected` with code `slow_reader`, and sends nothing.
   */
  send(message: Out): Promise<void>;
  /**
   * Sends one message after the other, each when there is room, and resolves when the last was sent. Rejects with what `send` or the source
   * fails with, and when the channel ends; the source is left then.
   */
  sendAll(messages: Iterable<Out> | AsyncIterable<Out>): Promise<void>;
  /**
   * Sends a message and returns its answer. Answers by order wait for the asks before them. An answer is not iterated;
   * one that settles only a part is, and leaves the ask open.
   */
  ask<T extends keyof Asks & string>(
    message: Out & { readonly type: T },
    options?: { readonly signal?: AbortSignal },
  ): Promise<Asks[T]>;
  /** Closes the channel and resolves when it is closed. @default 1000 */
  close(code?: number, reason?: string): Promise<void>;
  /** Resolves when the channel ended normally (code 1000 or this side's close), rejects with `Disconnected` or `Violation` otherwise. */
  readonly closed: Promise<Closed>;
}

/** A session's stream or channel, reached by its key from any handler. */
export interface Session<Out, Asks = Record<never, never>> {
  /**
   * Sends to the session's readers. Without a reader the message waits, within the server's limits. Resolves when every reader has room for
   * another message, or is gone. Never rejects; a reader for which too much waits, because this was not awaited, is cut.
   */
  send(message: Out): Promise<void>;
  ask<T extends keyof Asks & string>(
    message: Out & { readonly type: T },
    options?: { readonly signal?: AbortSignal },
  ): Promise<Asks[T]>;
}

/** What a handler is given beside its input. */
export interface Call<S = never> {
  readonly request: Request;
  /**
   * Aborted when the caller has gone, the call is cancelled, its session ends or the server closes. Its `reason` is a `Disconnected` where the caller was cut
   * and did not come back within the grace period, else an `AbortError`.
   */
  readonly signal: AbortSignal;
  /** What `authenticate` returned. */
  readonly principal: unknown;
  /** The streams and channels of a session of this principal. */
  session(key: string): S;
  /** The open ask that this operation answers, if there is one. It is settled with the input when the handler returns, unless the handler settles it. */
  readonly ask?: OpenAsk;
}

export interface OpenAsk {
  readonly message: { readonly type: string };
  settle(answer: { readonly type: string }): void;
}
