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

/** A Lua script as a function. ioredis sends its hash, and its text where the server does not have it. */
export function defineScript(redis: RedisClient, name: string, numberOfKeys: number, lua: string) {
  redis.defineCommand(name, { lua, numberOfKeys });
  return (...words: readonly (string | number)[]): Promise<unknown> =>
    (redis as unknown as Record<string, (...words: readonly (string | number)[]) => Promise<unknown>>)[name]!(...words);
}
