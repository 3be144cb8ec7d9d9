import type { EventLog } from "@parlance/server/resume";
import { makeCalls } from "./calls.js";
import { checkClient, type RedisClient } from "./client.js";
import { makeStreamScripts } from "./streams.js";
import { makeSubscriptions } from "./subscriptions.js";
import { followStream } from "./tail.js";
import { makeWriters } from "./writers.js";

export interface RedisLogOptions {
  /** An ioredis `Redis` or `Cluster`. It is never closed. Further connections are made from it to subscribe. */
  readonly redis: RedisClient;
  /** Prefix of every key and channel. @default "parlance:" */
  readonly prefix?: string | undefined;
  /** Entries kept of a stream, give or take one Redis node (100). @default 30000 */
  readonly maxLength?: number | undefined;
  /** Milliseconds of silence after which a writer counts as dead, and its stream as closed. @default 10000 */
  readonly lease?: number | undefined;
  /** Milliseconds that a stream outlives its writer. @default 300000 */
  readonly keep?: number | undefined;
  /** Milliseconds for an answer of Redis. @default 5000 */
  readonly timeout?: number | undefined;
}

/** Counts of a log. Once all streams are closed or dropped all but `connections` are zero; after `stop()` all are. */
export interface RedisLogStats {
  /** Streams that this log writes. */
  readonly streams: number;
  readonly tails: number;
  readonly subscriptions: number;
  /** Pending waits on Redis. */
  readonly calls: number;
  readonly timers: number;
  /** Connections that subscribe: one, or one for each node of a cluster that has been needed. */
  readonly connections: number;
}

/** An `EventLog` that servers share. */
export interface RedisLog extends EventLog {
  stats(): RedisLogStats;
  /** Ends every tail and rejects pending calls. Leases expire. The `redis` client stays open. */
  stop(): void;
}

/** Keeps streams in Redis, each as a Redis Stream with ids `<seq>-0`, a hash and a lease. Everything expires by itself. */
export function redisLog({
  redis,
  prefix = "parlance:",
  maxLength = 30_000,
  lease = 10_000,
  keep = 300_000,
  timeout = 5000,
}: RedisLogOptions): RedisLog {
  if (prefix.includes("{}"))
    throw new RangeError(`the prefix ${prefix} has "{}", which takes the streams' hash tags away`);
  checkClient(redis, false);
  const calls = makeCalls(redis, timeout);
  const subscriptions = makeSubscriptions(redis, calls, timeout);
  const scripts = makeStreamScripts({ redis, calls, prefix, maxLength, lease, keep });
  const writers = makeWriters({ calls, scripts, lease, maxLength });
  const tails = new Set<() => void>();

  return {
    open: writers.open,
    async state(stream) {
      const found = await scripts.look(stream, 0, 0);
      return found && { epoch: found.epoch, first: found.first, last: found.last, closed: found.closed };
    },
    async read(stream, after, limit = Number.MAX_SAFE_INTEGER) {
      const found = limit > 0 ? await scripts.look(stream, after, limit) : undefined;
      return found?.entries ?? [];
    },
    tail: (stream, after, signal) =>
      followStream({ calls, scripts, subscriptions, lease, tails }, stream, after, signal),
    stats: () => ({
      streams: writers.count(),
      tails: tails.size,
      subscriptions: subscriptions.count(),
      calls: calls.pending(),
      timers: calls.timers(),
      connections: subscriptions.connections(),
    }),
    stop() {
      writers.stop();
      subscriptions.stop();
      calls.stop();
      for (const end of [...tails]) end();
    },
  };
}
