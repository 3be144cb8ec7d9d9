import { assertLimits } from "@parlance/wire/errors";
import type { Pace } from "@parlance/wire/link";

/**
 * Every limit of `serve`, with its default. Times are milliseconds; 0 or Infinity lifts a time limit whose docstring allows it.
 * docs/limits.md lists what happens when each is reached.
 */
export interface Limits {
  /** Bytes of a request body, characters of a frame. @default 1 MiB */
  readonly maxMessageSize: number;
  /** Bytes of an upload, which its handler reads at its own pace. @default 64 MiB */
  readonly maxUploadSize: number;
  /** Characters queued for one reader before its sender waits, for one handler, or for a session without a reader. @default 1 Mi */
  readonly maxQueued: number;
  /** Characters queued for one reader whose sender does not await `send`. @default 16 Mi */
  readonly maxBuffered: number;
  /** Characters of sent frames that a resumable channel keeps for its client. @default 4 Mi */
  readonly maxKept: number;
  /** Streams and channels that one principal may have open at a time; without `authenticate` they are not counted. @default 64 */
  readonly maxStreams: number;
  /** Streams and channels that all principals may have open together. @default 20,000 */
  readonly maxTotalStreams: number;
  /** Calls of one principal whose answers are not complete; without `authenticate` they are not limited. @default 1,000 */
  readonly maxCalls: number;
  /**
   * Handlers of operations that run at a time for one principal, because the results of all of them are in memory; later calls wait for their turn.
   * Those that decide an ask or end a session do not wait; 0 or Infinity for no limit. Without `authenticate` they are not limited. @default 32
   */
  readonly maxHandlers: number;
  /**
   * Bytes that requests and large frames of one principal may hold until their handlers are done with them; JSON of many small values counts more.
   * @default 32 MiB
   */
  readonly maxReceived: number;
  /** Bytes that those of all may hold together. @default 128 MiB */
  readonly maxTotalReceived: number;
  /**
   * Characters queued or kept on channels and in sessions of one principal, above which each of them gets a fair share, and those of large answers
   * that it has not read, above which calls are refused. @default 32 Mi
   */
  readonly maxHeld: number;
  /** The same for all principals together. @default 128 Mi */
  readonly maxTotalHeld: number;
  /** Finished resumable streams of one principal that are kept for `grace`. @default 1,000 */
  readonly maxFinished: number;
  /** Finished resumable streams of all principals together. @default 10,000 */
  readonly maxTotalFinished: number;
  /** Sessions of one principal that have a reader, an unread message or an open ask. @default 1,000 */
  readonly maxSessions: number;
  /** Sessions of all principals together. @default 10,000 */
  readonly maxTotalSessions: number;
  /** Open asks of one principal. @default 1,000 */
  readonly maxAsks: number;
  /** Open asks of all principals together. @default 10,000 */
  readonly maxTotalAsks: number;
  /** Settled asks kept to refuse late answers with 409. @default 10,000 */
  readonly maxSettled: number;
  /** Keys kept of cancelled streams, and of finished ones, so that a late request does not begin one again. @default 1,000 each */
  readonly maxTombstones: number;
  /** Time between the comments that keep an idle stream alive; 0 for none. @default 15 s */
  readonly heartbeat: number;
  /** How long a reader may take nothing before it is cut. With a key it may come back. @default 30 s */
  readonly stall: number;
  /** How long a resumable stream or channel goes on without its client. Then its handler is cancelled. @default 30 s */
  readonly grace: number;
  /** How long a ticket for a socket is valid. @default 30 s */
  readonly ticketLife: number;
  /** How long a key is remembered that was cancelled before its request, and how long an unanswered POST waits for its client. @default 5 s */
  readonly tombstoneLife: number;
  /** How long to stay subscribed to a session after the last reader leaves. @default 60 s */
  readonly lingerFor: number;
  /** How long a session keeps messages that nobody reads; 0 or Infinity for no limit. @default 60 min */
  readonly unreadFor: number;
  /** How long queries are repeated after pub/sub was interrupted, and a reader's server may be unreachable. @default 5 s */
  readonly interruptedFor: number;
  /** How long `authenticate` may take. @default 10 s */
  readonly authenticateWithin: number;
  /** How long `hooks.request` may take. @default 10 s */
  readonly hookWithin: number;
  /** How long a handler may take to answer an operation. @default 10 min */
  readonly answerWithin: number;
  /** How long an ask of the server waits for its answer, which a person may give; 0 or Infinity for no limit. @default 60 min */
  readonly askWithin: number;
  /** How long each piece of a request's body may take. @default 60 s */
  readonly bodyWithin: number;
  /** How long an accepted handshake may take to become an open socket, and a channel to close. @default 10 s */
  readonly socketWithin: number;
  /** How long each call to the event log or pub/sub may take. @default 5 s */
  readonly storeWithin: number;
  /** How long other servers may take to answer a query, and to confirm messages. @default 1 s */
  readonly queryWithin: number;
}

/** The limits as options: each may be left out, or undefined. */
export type LimitOptions = { readonly [Name in keyof Limits]?: Limits[Name] | undefined };

const KI = 1024;
const MI = 1024 * 1024;

/** The default of each limit of `serve`. */
export const LIMITS: Limits = {
  maxMessageSize: MI,
  maxUploadSize: 64 * MI,
  maxQueued: MI,
  maxBuffered: 16 * MI,
  maxKept: 4 * MI,
  maxStreams: 64,
  maxTotalStreams: 20_000,
  maxCalls: 1000,
  maxHandlers: 32,
  maxReceived: 32 * MI,
  maxTotalReceived: 128 * MI,
  maxHeld: 32 * MI,
  maxTotalHeld: 128 * MI,
  maxFinished: 1000,
  maxTotalFinished: 10_000,
  maxSessions: 1000,
  maxTotalSessions: 10_000,
  maxAsks: 1000,
  maxTotalAsks: 10_000,
  maxSettled: 10_000,
  maxTombstones: 1000,
  heartbeat: 15_000,
  stall: 30_000,
  grace: 30_000,
  ticketLife: 30_000,
  tombstoneLife: 5000,
  lingerFor: 60_000,
  unreadFor: 3_600_000,
  interruptedFor: 5000,
  authenticateWithin: 10_000,
  hookWithin: 10_000,
  answerWithin: 600_000,
  askWithin: 3_600_000,
  bodyWithin: 60_000,
  socketWithin: 10_000,
  storeWithin: 5000,
  queryWithin: 1000,
};

/** How far the sender on a channel may be ahead of its reader. */
export function paceOf({ maxQueued, maxBuffered, stall }: Limits): Pace {
  return { room: maxQueued, most: Math.max(maxBuffered, maxQueued), stall };
}

/** How long a stream's headers wait for its first message: a heartbeat, or 5 s without heartbeats. */
export function headersDueAfter({ heartbeat }: Limits): number {
  return heartbeat || 5000;
}

/** The defaults of `listen`, and its fixed limits on headers and fragments. */
export const LISTEN_LIMITS = {
  maxConnections: 10_000,
  maxHeaders: 100,
  maxHeaderSize: 16 * KI,
  maxFragments: 1024,
  headersWithin: 10_000,
  requestWithin: 60_000,
  keepAlive: 150_000,
  closeAfter: 5000,
} as const;

/** The defaults of `memoryLog`, in characters: of one stream, and of all together. */
export const LOG_LIMITS = { maxSize: 4 * MI, maxTotal: 128 * MI } as const;

/** Takes the limits out of the options; throws `TypeError` for one that is not a number of at least 0. */
export function resolveLimits(options: LimitOptions): Limits {
  const names = Object.keys(LIMITS) as (keyof Limits)[];
  assertLimits(options, ...names);
  return Object.fromEntries(names.map((name) => [name, options[name] ?? LIMITS[name]])) as unknown as Limits;
}
