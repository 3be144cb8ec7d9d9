import { branded } from "@parlance/wire/errors";

/**
 * - `timeout`: Redis did not answer within the limit: it hangs, is down, or refuses connections.
 * - `refused`: Redis answered with an error, such as a full memory or a missing permission. It is the `cause`.
 * - `not_writer`: the entry does not follow the last one, or the stream is closed.
 * - `lease_lost`: the writer was silent for longer than its lease, so its stream is closed.
 * - `entries_lost`: Redis no longer has entries that it has acknowledged, or that a reader needs.
 * - `stopped`: `stop()` was called.
 */
export type RedisStoreErrorCode = "timeout" | "refused" | "not_writer" | "lease_lost" | "entries_lost" | "stopped";

/** Characters of a message: an error of Redis may quote a script. */
const MAX_MESSAGE = 500;

/** A failure of `redisLog` or `redisPubSub`. */
export class RedisStoreError extends Error {
  static {
    branded(RedisStoreError, "RedisStoreError");
  }

  declare readonly name: "RedisStoreError";
  readonly code: RedisStoreErrorCode;

  constructor(code: RedisStoreErrorCode, message: string, options?: ErrorOptions) {
    // On one line, because logs are read line by line. The whole error of Redis is the `cause`.
    super(message.replace(/[\s\p{Cc}]+/gu, " ").slice(0, MAX_MESSAGE), options);
    this.code = code;
  }
}
