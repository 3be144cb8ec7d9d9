import type { PubSub } from "@parlance/server/cluster";
import { makeCalls } from "./calls.js";
import { checkClient, defineScript, type RedisClient } from "./client.js";
import { PUBLISH, sharded } from "./scripts.js";
import { makeSubscriptions } from "./subscriptions.js";

export interface RedisPubSubOptions {
  /** An ioredis `Redis` or `Cluster`. It is never closed. Further connections are made from it to subscribe. */
  readonly redis: RedisClient;
  /** Prefix of every channel. @default "parlance:" */
  readonly prefix?: string | undefined;
  /** Milliseconds for an answer of Redis. @default 5000 */
  readonly timeout?: number | undefined;
}

/** Counts of a pub/sub. At rest all but `connections` are zero; after `stop()` all are. */
export interface RedisPubSubStats {
  readonly subscriptions: number;
  /** Pending waits on Redis. */
  readonly calls: number;
  readonly timers: number;
  /** Connections that subscribe: one, or one for each node of a cluster that has been needed. */
  readonly connections: number;
}

export interface RedisPubSub extends PubSub {
  stats(): RedisPubSubStats;
  /** Unsubscribes everything and rejects pending calls. The `redis` client stays open. */
  stop(): void;
}

/** Maximum texts of one script call. */
const PAGE = 1000;

interface Outgoing {
  readonly text: string;
  resolve(reached: number): void;
  reject(error: unknown): void;
}

/** Connects servers through Redis Pub/Sub, or sharded Pub/Sub in a Redis Cluster. */
export function redisPubSub({ redis, prefix = "parlance:", timeout = 5000 }: RedisPubSubOptions): RedisPubSub {
  checkClient(redis, true);
  const calls = makeCalls(redis, timeout);
  const subscriptions = makeSubscriptions(redis, calls, timeout);
  const inCluster = "nodes" in redis;
  const send = defineScript(redis, "parlancePublish", 1, inCluster ? sharded(PUBLISH) : PUBLISH);
  /** Unsent texts of each topic. One call at a time keeps them in order, even when it is repeated. */
  const outgoing = new Map<string, Outgoing[]>();

  async function flush(channel: string, queue: Outgoing[]): Promise<void> {
    while (queue.length > 0) {
      // An answer to the text must be received.
      await subscriptions.settled();
      const batch = queue.splice(0, PAGE);
      const texts = batch.map(({ text }) => text);
      try {
        const reached = await calls.ask(`publish to ${channel}`, () => send(channel, channel, ...texts));
        for (const [i, { resolve }] of batch.entries()) resolve((reached as number[])[i]!);
      } catch (error) {
        // Redis does not answer, and a timeout for each text would add up.
        for (const { reject } of [...batch, ...queue.splice(0)]) reject(error);
      }
    }
    outgoing.delete(channel);
  }

  return {
    publish(topic, text) {
      const channel = prefix + topic;
      return new Promise((resolve, reject) => {
        const one = { text, resolve, reject };
        const queue = outgoing.get(channel);
        if (queue) return void queue.push(one);
        const made = [one];
        outgoing.set(channel, made);
        void flush(channel, made);
      });
    },
    async subscribe(topic, receive, onInterrupted = () => {}) {
      const { ready, unsubscribe } = subscriptions.subscribe(prefix + topic, { receive, onInterrupted });
      await ready;
      return unsubscribe;
    },
    stats: () => ({
      subscriptions: subscriptions.count(),
      calls: calls.pending(),
      timers: calls.timers(),
      connections: subscriptions.connections(),
    }),
    stop() {
      subscriptions.stop();
      calls.stop();
    },
  };
}
