/** Options of a connection that subscribes. This package reconnects it, not ioredis. */
export interface ConnectionOptions {
  readonly retryStrategy: null;
  readonly autoResubscribe: false;
  readonly autoResendUnfulfilledCommands: false;
  readonly enableOfflineQueue: true;
  readonly lazyConnect: false;
  readonly readOnly: false;
  readonly keyPrefix: "";
}

interface Commands {
  /** ioredis's state of the connection; `end` when it will not come back. */
  readonly status: string;
  defineCommand(name: string, definition: { lua: string; numberOfKeys: number }): void;
}

/** The used part of an ioredis `Redis`. */
export interface RedisConnection extends Commands {
  duplicate(options: ConnectionOptions): RedisConnection;
  cluster(subcommand: "MYID"): Promise<unknown>;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  ssubscribe(...channels: string[]): Promise<unknown>;
  sunsubscribe(...channels: string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  on(event: "message" | "smessage", receive: (channel: string, text: string) => void): unknown;
  on(event: "error" | "end" | "moved", listener: () => void): unknown;
  disconnect(): void;
}

/** The used part of an ioredis `Cluster`. */
export interface RedisCluster extends Commands {
  nodes(role: "master"): RedisConnection[];
  refreshSlotsCache?(): void;
}

/** A `Redis` or a `Cluster` of ioredis. */
export type RedisClient = RedisConnection | RedisCluster;

interface Options {
  readonly stringNumbers?: boolean | undefined;
  readonly monitor?: boolean | undefined;
  readonly keyPrefix?: string | undefined;
}

/**
 * Checks the options of a client: with some of them an answer is not what this package reads, and callers would hang.
 *
 * @throws `TypeError` for `stringNumbers` and `monitor`, and for `keyPrefix` of a `Cluster` that publishes
 */
export function checkClient(redis: RedisClient, publishes: boolean): void {
  const { options } = redis as { readonly options?: Options & { readonly redisOptions?: Options } };
  const { stringNumbers, monitor, keyPrefix } = { ...options?.redisOptions, ...options };
  if (stringNumbers || options?.redisOptions?.stringNumbers)
    throw new TypeError("`redis` turns numbers into texts (option stringNumbers): give another client without it");
  if (monitor || options?.redisOptions?.monitor)
    throw new TypeError("`redis` only monitors (option monitor): give another client without it");
  // A channel's node is found by its name, which the client would change.
  if (publishes && "nodes" in redis && keyPrefix)
    throw new TypeError("`redis` is a Cluster with a keyPrefix: give redisPubSub a `prefix` and a client without one");
}

/** A Lua script as a function. ioredis sends its hash, and its text where the server does not have it. */
export function defineScript(redis: RedisClient, name: string, numberOfKeys: number, lua: string) {
  redis.defineCommand(name, { lua, numberOfKeys });
  return (...words: readonly (string | number)[]): Promise<unknown> =>
    (redis as unknown as Record<string, (...words: readonly (string | number)[]) => Promise<unknown>>)[name]!(...words);
}
