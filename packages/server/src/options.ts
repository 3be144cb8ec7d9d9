import type { CallbackOptions } from "./hooks.js";
import type { OriginOptions } from "./http/origin.js";
import type { IdentityOptions } from "./identity.js";
import type { LimitOptions } from "./limits.js";
import type { Cluster } from "./ports.js";
import type { EventLog } from "./resume/event-log.js";

export interface ServeOptions extends CallbackOptions, IdentityOptions, LimitOptions, OriginOptions {
  /** Whether handlers may be left out: their operations and channels are answered with 501. @default false: `serve` throws `TypeError` */
  readonly partial?: boolean | undefined;
  /** Serves a contract that requires a bearer token or an API key, such as loco, without `authenticate`. @default false: `serve` throws `TypeError` */
  readonly allowAnonymous?: boolean | undefined;
  /** Writes a superset of the documented form, by the name that the contract gives it. */
  readonly profile?: string | undefined;
  /** Whether a client may resume a cut stream or channel. @default true */
  readonly resume?: boolean | undefined;
  /** Keeps the messages of resumable streams. @default that of `cluster`, else `memoryLog()`, in this process */
  readonly log?: EventLog | undefined;
  /**
   * Joins this server with others behind the same balancer: sessions, answers to asks, resumable channels, and, with a shared log,
   * resumable streams work on whichever server a request reaches. `redisCluster` of `@parlance/store-redis`, or `clusterOn` of `./cluster`.
   */
  readonly cluster?: Cluster | undefined;
  /**
   * Whether the app keeps the questions that its streams yield. Its handlers then get each decision on them, also late and double ones.
   * @default false: a decision is refused with 404 where its question was never asked, and with 409 where it is decided or its stream has ended
   */
  readonly keepsAsks?: boolean | undefined;
}
