import type { Relay } from "@parlance/server";
import { ears, type RedisClient } from "./client.js";

export interface RedisRelayOptions {
  /** A client of ioredis. It is used, not closed; a second connection is made from it to listen on. */
  readonly redis: RedisClient;
  /** In front of every channel: `parlance:` unless told. */
  readonly prefix?: string;
}

export interface RedisRelay extends Relay {
  /** Lets go of the connection that listens. The client that was passed stays open. */
  stop(): void;
}

/**
 * Joins servers through Pub/Sub. One Redis with its replicas, not a Redis Cluster: there, PUBLISH does not know how many it reached
 * (its documentation: "only clients that are connected to the same node as the publishing client are included in the count").
 */
export function redisRelay({ redis, prefix = "parlance:" }: RedisRelayOptions): RedisRelay {
  const listening = ears(redis);
  return {
    async publish(topic, text) {
      // Whoever is answered must hear it.
      await listening.whole();
      return redis.publish(prefix + topic, text);
    },
    subscribe: (topic, hear, onMissed) => listening.listen(prefix + topic, { hear, missed: () => onMissed?.() }),
    stop: () => listening.stop(),
  };
}
