/**
 * Carries texts between the servers of one deployment. A sender's texts arrive once and in order; when a connection breaks, one may be lost
 * or come twice. `memoryPubSub` joins apps of one process; `redisPubSub` joins servers that have a Redis.
 */
export interface PubSub {
  /** Resolves to the number of subscribers that it reached, this server's own among them. */
  publish(topic: string, text: string): Promise<number>;
  /**
   * Resolves once the subscription receives every text published from then on. `onInterrupted` is called when it was interrupted and is
   * active again, with the milliseconds of which texts may be missing; without them it counts as a short interruption.
   */
  subscribe(
    topic: string,
    receive: (text: string) => void,
    onInterrupted?: (missing?: number) => void,
  ): Promise<() => void>;
}

/** Joins apps of one process, as tests do. */
export function memoryPubSub(): PubSub {
  const topics = new Map<string, Set<(text: string) => void>>();
  return {
    async publish(topic, text) {
      const receivers = [...(topics.get(topic) ?? [])];
      for (const receive of receivers) queueMicrotask(() => receive(text));
      return receivers.length;
    },
    async subscribe(topic, receive) {
      // Wrapped, so that the same function can subscribe twice.
      const own = (text: string) => receive(text);
      const receivers = topics.get(topic) ?? new Set();
      topics.set(topic, receivers.add(own));
      return () => {
        receivers.delete(own);
        if (receivers.size === 0 && topics.get(topic) === receivers) topics.delete(topic);
      };
    },
  };
}
