import type { Calls } from "./calls.js";
import { makeChannels, type Subscriber, type Subscription } from "./channel.js";
import type { RedisClient } from "./client.js";
import { makePlacing } from "./placing.js";

/** Milliseconds that a publisher waits for its own interrupted subscriptions. */
const SETTLE = 1000;

/** Subscriptions to any number of channels, over one connection to each node that has some of them. */
export interface Subscriptions {
  /** Subscribes at once, or once Redis is available. */
  subscribe(channel: string, subscriber: Subscriber): Joining;
  /** Resolves once every interrupted channel is received again, at most after a second. */
  settled(): Promise<void>;
  /** Subscriptions, waiting ones included. */
  count(): number;
  connections(): number;
  stop(): void;
}

/** A subscription that its owner ends once, at any time. */
export interface Joining {
  /**
   * Resolves once everything published from now on is received, or when it has ended.
   * @throws {RedisStoreError} `timeout`, `refused` or `stopped`; the subscription then ends
   */
  readonly ready: Promise<void>;
  unsubscribe(): void;
}

/** A node is checked every `heartbeat` milliseconds. */
export function makeSubscriptions(redis: RedisClient, calls: Calls, heartbeat: number): Subscriptions {
  const channels = makeChannels();
  const placing = makePlacing({ redis, calls, channels, heartbeat });

  return {
    subscribe(name, subscriber) {
      const subscription: Subscription = { subscriber, wait: undefined };
      const known = channels.get(name);
      const channel = known ?? channels.add(name);
      if (!known) void placing.place([channel]);
      channel.subscriptions.add(subscription);
      const unsubscribe = () => channels.remove(channel, subscription);
      if (channel.ready) return { ready: Promise.resolve(), unsubscribe };
      const first = new Promise<void>((resolve, reject) => {
        subscription.wait = { resolve, reject };
      });
      const ready = calls.within(`subscribe to ${name}`, first).catch((error) => {
        unsubscribe();
        throw error;
      });
      return { ready, unsubscribe };
    },
    async settled() {
      if (channels.isWhole()) return;
      await new Promise<void>((resolve) => {
        const cancel = calls.after(SETTLE, () => {
          forget();
          resolve();
        });
        const forget = channels.onceWhole(() => {
          cancel();
          resolve();
        });
      });
    },
    count: channels.count,
    connections: placing.connections,
    stop() {
      placing.stop();
      channels.clear();
    },
  };
}
