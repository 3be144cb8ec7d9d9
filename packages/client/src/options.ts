import type { AnyContract, CallOptions, OnConnection, OpenSocket, Unknown, Violation } from "@parlance/wire";
import { assertForms, assertLimits, assertProfile, type Forms, misuse } from "@parlance/wire/errors";
import type { Pace } from "@parlance/wire/link";

export interface ConnectOptions {
  /**
   * Where the server is. Its path is prepended to the contract's paths. Where it ends with the part they begin with
   * (`/api` in emacs-agent's document), that part counts once. A token for another host than this one by plain http is warned about. @default the contract's own URL
   */
  readonly baseUrl?: string | undefined;
  /**
   * A bearer token (RFC 6750), or the API key where the contract has one, or a function that returns it. It is called again after a 401.
   * When it fails, the call is `Disconnected` with its error as the cause; a `Refusal` is passed on.
   */
  readonly token?: (string | (() => string | Promise<string>)) | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Sends requests, as `fetch(request, init)`. `init` repeats the request for the `fetch` of another package, such as undici. When it fails,
   * the call is `Disconnected`. @default the global `fetch`
   */
  readonly fetch?: ((request: Request, init?: RequestInit) => Promise<Response>) | undefined;
  /** Opens sockets. In Node 20 pass `webSocket` from `@parlance/client/node`. @default the global `WebSocket` */
  readonly webSocket?: OpenSocket | undefined;
  /** The name of a writing profile of the contract, which writes a superset of the documented form. */
  readonly profile?: string | undefined;
  /** Called for messages the contract does not define. Returning continues the stream or channel; throwing or rejecting ends it with that error. */
  readonly onUnknown?: ((unknown: Unknown) => void) | undefined;
  /**
   * Called for a known message that breaks its schema. Returning drops the message. Throwing or rejecting ends the stream or channel
   * with that error, or has no effect once it has ended. @default throws the violation
   *
   * On a channel with methods the server has got an error as the answer to its request before, and a call whose result breaks its schema
   * rejects: there the default prints each kind of violation once, and the channel goes on.
   */
  readonly onViolation?: ((violation: Violation) => void) | undefined;
  /**
   * Called when the connection of a stream or channel is lost, before each attempt to join it again, when it is joined and when it is over.
   * An editor shows from it that an agent is away.
   *
   * @example
   * ```ts
   * connect(coven, { onConnection: ({ call, type }) => showStatus(`${call}: ${type}`) });
   * ```
   */
  readonly onConnection?: OnConnection | undefined;
  /** Ends every call, stream and channel of this client. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds before each retry of an operation that may be repeated; `[]` for no retries. @default the contract's own */
  readonly retryWaits?: readonly number[] | undefined;
  /** Maximum characters of one incoming message or answer. @default 16 Mi */
  readonly maxMessageSize?: number | undefined;
  /** Maximum characters queued on a channel, unread or unsent. Streams use the network's back-pressure instead. @default 64 Mi */
  readonly maxQueued?: number | undefined;
  /**
   * Whether streams and channels are resumed after a cut, where the server supports it.
   * @default true; in a browser only with the page's own origin, because other servers may not allow the header. A channel with a `token` asks
   * any origin, because a page's WebSocket can only carry the ticket that such a server issues.
   */
  readonly resume?: boolean | undefined;
  /** Milliseconds that a stream or channel may spend on reconnecting. Each delivered message resets them. @default 120,000 */
  readonly reconnectFor?: number | undefined;
  /** Returns a number between 0 and 1, for the jitter of reconnects. @default `Math.random` */
  readonly random?: (() => number) | undefined;
  /** Milliseconds without a byte after which a stream or the body of an answer is `Disconnected`; 0 for never. @default 300,000 */
  readonly idleTimeout?: number | undefined;
  /**
   * Milliseconds for the answer to an operation, including its token and retries, before it is `Disconnected`; 0 for never. A `call` on a channel
   * with methods has no such limit, because a turn may take hours: give it a `signal`. @default 300,000
   */
  readonly answerTimeout?: number | undefined;
}

export const MAX_MESSAGE_SIZE = 16 * 1024 * 1024;
export const MAX_QUEUED = 64 * 1024 * 1024;
export const IDLE_TIMEOUT = 300_000;
export const ANSWER_TIMEOUT = 300_000;
export const RECONNECT_FOR = 120_000;
/** Milliseconds for the answer to a join, a handshake or a cancel. */
export const ANSWER_WITHIN = 30_000;

const SHARED: Forms = {
  headers: "an object of names and texts",
  onConnection: "a function",
  signal: "an AbortSignal object",
};
const OF_CALLS: Forms = { ...SHARED, reopen: "a boolean or a function", open: "an object" };
const OF_CLIENTS: Forms = {
  ...SHARED,
  baseUrl: "a string",
  token: "a string or a function",
  fetch: "a function",
  webSocket: "a function",
  profile: "a string",
  onUnknown: "a function",
  onViolation: "a function",
  random: "a function",
  resume: "a boolean",
};

/** @throws `TypeError` that names the option of a client that has another form */
export function assertOptions(contract: AnyContract, options: ConnectOptions): void {
  assertShared(options, OF_CLIENTS);
  assertProfile(contract, options.profile);
  assertLimits(options, "maxMessageSize", "maxQueued", "reconnectFor", "idleTimeout", "answerTimeout");
  const { retryWaits: waits = [] } = options as { readonly retryWaits?: unknown };
  if (!Array.isArray(waits) || !waits.every((wait) => Number.isFinite(wait) && wait >= 0))
    throw misuse(`retryWaits is a list of seconds, not ${JSON.stringify(waits)}`);
}

/** The same for the options of a call, stream or channel. */
export const assertCallOptions = (options: object): void => assertShared(options, OF_CALLS);

function assertShared(options: CallOptions, forms: Forms): void {
  assertForms(options, forms);
  const { headers = {}, signal } = options;
  if (signal && !("addEventListener" in signal)) throw misuse(`signal must be ${forms.signal}`);
  const [name] = Object.entries(headers).find(([, text]) => typeof text !== "string") ?? [];
  if (name !== undefined) throw misuse(`headers must be ${forms.headers}: ${name} is none`);
}

/** Unsent bytes above which `send` should be awaited. */
const ROOM = 1024 * 1024;

/** Milliseconds that a server may accept none of them. */
const STALL = 30_000;

/** Limits how far a channel's sender may be ahead of the server. */
export function paceOf({ maxQueued = MAX_QUEUED }: ConnectOptions): Pace {
  return { room: Math.min(ROOM, maxQueued), most: maxQueued, stall: STALL };
}

/** The default of `onViolation`. */
export function rethrow(violation: Violation): never {
  throw violation;
}
