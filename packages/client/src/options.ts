import type { OpenSocket, Unknown, Violation } from "@parlance/wire";

export interface ConnectOptions {
  /** Where the server is. A path in it is kept in front of the contract's paths. @default the contract's own URL */
  readonly baseUrl?: string;
  /**
   * A bearer token (RFC 6750), or the API key where the contract has one, or a function that returns it. It is called again when the server has refused its token with 401.
   * When it fails, the call is `Disconnected` with its error as the cause; a `Refusal` is passed on.
   */
  readonly token?: string | (() => string | Promise<string>);
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends requests. When it fails, the call is `Disconnected`. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Opens sockets. In Node 20 pass `webSocket` from `@parlance/client/node`. @default the global `WebSocket` */
  readonly webSocket?: OpenSocket;
  /** A writing profile of the contract, by name: a superset of the documented form. */
  readonly profile?: string;
  /** Called for messages the contract does not define. The stream or channel goes on, or ends with what this throws or rejects with. */
  readonly onUnknown?: (unknown: Unknown) => void;
  /**
   * Called for a known message that breaks its schema. Returning drops the message. Throwing or rejecting ends the stream or channel
   * with that error; after its end it has no effect. @default throws the violation
   */
  readonly onViolation?: (violation: Violation) => void;
  /** Ends everything that this client does. */
  readonly signal?: AbortSignal;
  /** Seconds to wait before each further attempt of what may be repeated; `[]` for none. @default the contract's own */
  readonly retryWaits?: readonly number[];
  /** Characters of one incoming message or answer. @default 16 Mi */
  readonly maxMessageSize?: number;
  /** Characters that may wait on a channel, to be read or to be sent. Streams wait in the network instead. @default 64 Mi */
  readonly maxQueued?: number;
  /**
   * Whether streams and channels are joined again after a cut, where the server knows how.
   * @default true; in a browser only with the page's own origin, because other servers may not allow the header. A channel with a `token` asks
   * any origin, because a page's WebSocket can only carry the ticket that such a server gives.
   */
  readonly resume?: boolean;
  /** Milliseconds that a stream or channel may spend on joining again. Each delivered message gives all of them back. @default 120,000 */
  readonly reconnectFor?: number;
  /** Between 0 and 1: the jitter of reconnects. @default `Math.random` */
  readonly random?: () => number;
  /** Milliseconds without a byte after which a stream or the body of an answer is `Disconnected`; 0 for never. @default 300,000 */
  readonly idleTimeout?: number;
  /** Milliseconds for the answer to a call, with its token and its retries, before it is `Disconnected`; 0 for never. @default 300,000 */
  readonly answerTimeout?: number;
}

export const MAX_MESSAGE_SIZE = 16 * 1024 * 1024;
export const MAX_QUEUED = 64 * 1024 * 1024;
export const IDLE_TIMEOUT = 300_000;
export const ANSWER_TIMEOUT = 300_000;
export const RECONNECT_FOR = 120_000;
/** What a join, a handshake or a cancel may take to answer at most. */
export const ANSWER_WITHIN = 30_000;

/** The default of `onViolation`. */
export function rethrow(violation: Violation): never {
  throw violation;
}
