import { type Cluster, clusterOn } from "@parlance/server/cluster";
import { type RedisLogOptions, type RedisLogStats, redisLog } from "./log.js";
import { type RedisPubSubOptions, type RedisPubSubStats, redisPubSub } from "./pubsub.js";

/** Servers that share a Redis. */
export interface RedisStore extends Cluster {
  /** Counts of the log and of pub/sub. */
  stats(): { readonly log: RedisLogStats; readonly pubSub: RedisPubSubStats };
  /** Ends every tail and subscription and rejects pending calls, once the apps are closed. The `redis` client stays open. */
  stop(): void;
}

/**
 * Joins servers through one Redis: the option `cluster` of `serve`, the same on every server. It is `redisLog` and `redisPubSub` together.
 *
 * @example
 * ```ts
 * const cluster = redisCluster({ redis });
 * const app = serve(foldGateway, handlers, { cluster });
 * ```
 */
export function redisCluster(options: RedisLogOptions & RedisPubSubOptions): RedisStore {
  const [log, pubSub] = [redisLog(options), redisPubSub(options)];
  return {
    ...clusterOn(pubSub, log),
    stats: () => ({ log: log.stats(), pubSub: pubSub.stats() }),
    stop() {
      log.stop();
      pubSub.stop();
    },
  };
}
