import type { OpenSocket, Unknown, Violation } from "@parlance/wire";

export interface ConnectOptions {
  /** Where the server is; the contract's own URL unless told. A path in it is kept in front of the contract's paths. */
  readonly baseUrl?: string;
  /** A bearer token (RFC 6750), or a function that is asked for one, and for a new one when the server has refused it with 401. */
  readonly token?: string | (() => string | Promise<string>);
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How sockets are opened: the global WebSocket unless told. In Node 20 pass `webSocket` from `@parlance/client/node`. */
  readonly webSocket?: OpenSocket;
  /** Writes a superset of the documented form, by the name that the contract gives it. */
  readonly profile?: string;
  /** Hears what the contract does not know. The stream goes on either way. */
  readonly onUnknown?: (unknown: Unknown) => void;
  /** Hears a known message that breaks its schema. Throwing (the default) ends the stream; returning drops the message. */
  readonly onViolation?: (violation: Violation) => void;
  /** Ends everything that this client does. */
  readonly signal?: AbortSignal;
  /** Seconds to wait before each further attempt of what may be repeated; the contract's own unless told, `[]` for none. */
  readonly retryWaits?: readonly number[];
  /** Characters of one incoming message or answer: 16 Mi unless told. */
  readonly maxMessageSize?: number;
  /** Characters that may wait to be read on a channel: 64 Mi unless told. Streams wait in the network instead. */
  readonly maxQueued?: number;
  /** Whether streams and channels are joined again after a cut, where the server knows how; true unless told. In a browser only with the page's own origin: other servers may not allow the header. */
  readonly resume?: boolean;
  /** Milliseconds for which a cut stream or channel is asked for again: 120,000 unless told. */
  readonly reconnectFor?: number;
  /** Between 0 and 1: the jitter of reconnects; `Math.random` unless told. */
  readonly random?: () => number;
  /** Milliseconds without a byte after which a stream is `Disconnected`: 300,000 unless told, 0 for never. */
  readonly idleTimeout?: number;
}

export const MAX_MESSAGE_SIZE = 16 * 1024 * 1024;
export const MAX_QUEUED = 64 * 1024 * 1024;
export const IDLE_TIMEOUT = 300_000;
export const RECONNECT_FOR = 120_000;
