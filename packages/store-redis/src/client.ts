/** What is used of an ioredis client: `new Redis()` is one. */
export interface RedisClient {
  duplicate(): RedisClient;
  defineCommand(name: string, definition: { lua: string; numberOfKeys: number }): void;
  xrange(
    key: string,
    from: string,
    to: string,
    count: "COUNT",
    limit: number,
  ): Promise<[id: string, fields: string[]][]>;
  publish(channel: string, text: string): Promise<number>;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  on(event: "message", hear: (channel: string, text: string) => void): unknown;
  on(event: "ready" | "error" | "close", hear: () => void): unknown;
  disconnect(): void;
}

/** A Lua script as a function. ioredis sends its hash, and its text where the server does not know it yet. */
export function script(redis: RedisClient, name: string, numberOfKeys: number, lua: string) {
  redis.defineCommand(name, { lua, numberOfKeys });
  return (...words: readonly (string | number)[]): Promise<unknown> =>
    (redis as unknown as Record<string, (...words: readonly (string | number)[]) => Promise<unknown>>)[name]!(...words);
}

export interface Listener {
  hear(text: string): void;
  /** The connection was lost and is back: what was said meanwhile was not heard. */
  missed(): void;
}

/** One connection that listens on any number of channels. It is opened by the first of them. */
export interface Ears {
  /** Resolves once everything that is published from now on will be heard. */
  listen(channel: string, listener: Listener): Promise<() => void>;
  /** Resolves once a connection that was lost hears again, or after a second. */
  whole(): Promise<void>;
  stop(): void;
}

export function ears(redis: RedisClient): Ears {
  const listeners = new Map<string, Set<Listener>>();
  let connection: RedisClient | undefined;
  let lost: { readonly back: Promise<void>; end(): void } | undefined;

  function connect(): RedisClient {
    const made = redis.duplicate();
    let again = false;
    made.on("message", (channel, text) => {
      for (const listener of listeners.get(channel) ?? []) listener.hear(text);
    });
    // It comes back by itself, and whoever passed the client hears of the same trouble there.
    made.on("error", () => {});
    made.on("close", () => {
      let end = () => {};
      lost ??= { back: new Promise((resolve) => (end = resolve)), end: () => end() };
    });
    made.on("ready", () => {
      if (again && listeners.size > 0) made.subscribe(...listeners.keys()).then(rejoined, () => {});
      else heal();
      again = true;
    });
    return made;
  }

  function heal(): void {
    lost?.end();
    lost = undefined;
  }

  function rejoined(): void {
    heal();
    for (const each of listeners.values()) for (const listener of each) listener.missed();
  }

  return {
    async listen(channel, listener) {
      connection ??= connect();
      const listening = listeners.get(channel) ?? new Set();
      listeners.set(channel, listening.add(listener));
      await connection.subscribe(channel);
      return () => {
        listening.delete(listener);
        if (listening.size > 0 || listeners.get(channel) !== listening) return;
        listeners.delete(channel);
        connection?.unsubscribe(channel).catch(() => {});
      };
    },
    async whole() {
      if (!lost) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, 1000);
      });
      await Promise.race([lost.back, late]);
      clearTimeout(timer);
    },
    stop() {
      heal();
      listeners.clear();
      connection?.disconnect();
      connection = undefined;
    },
  };
}
