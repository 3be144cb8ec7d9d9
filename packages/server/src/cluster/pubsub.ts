/**
 * Carries texts between the servers of one deployment: in order from one sender, and once unless a connection
 * breaks: then perhaps not at all, perhaps twice. `memoryRelay` joins apps of
 * one process; `redisRelay` joins servers that have a Redis.
 */
export interface Relay {
  /** Resolves to the number of subscribers that it reached, this server's own among them. */
  publish(topic: string, text: string): Promise<number>;
  /**
   * Resolves once everything that is published from now on will be heard. `onMissed` is called when that was interrupted and is
   * true again.
   */
  subscribe(topic: string, hear: (text: string) => void, onMissed?: () => void): Promise<() => void>;
}

/** Joins apps of one process, as tests do. */
export function memoryRelay(): Relay {
  const topics = new Map<string, Set<(text: string) => void>>();
  return {
    async publish(topic, text) {
      const heard = [...(topics.get(topic) ?? [])];
      for (const hear of heard) queueMicrotask(() => hear(text));
      return heard.length;
    },
    async subscribe(topic, hear) {
      // Each subscription is one, even of the same function.
      const own = (text: string) => hear(text);
      topics.set(topic, (topics.get(topic) ?? new Set()).add(own));
      return () => {
        topics.get(topic)?.delete(own);
        if (topics.get(topic)?.size === 0) topics.delete(topic);
      };
    },
  };
}
