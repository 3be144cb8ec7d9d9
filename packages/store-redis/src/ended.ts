import type { RedisStoreError } from "./error.js";

/** A stream that was written and is not dropped. Its epoch guards a newer stream of the same name against `close` and `drop`. */
export interface Ended {
  readonly epoch: string;
  readonly at: number;
  /** Why the stream could not be written further. */
  readonly error: RedisStoreError | undefined;
}

/** The streams that one log has closed and not dropped. */
export interface EndedStreams {
  add(stream: string, epoch: string, error: RedisStoreError | undefined): void;
  get(stream: string): Ended | undefined;
  delete(stream: string): void;
  count(): number;
  clear(): void;
}

/** Redis forgets a stream after `keep` milliseconds. Nothing is left to drop then, so it is forgotten here as well. */
export function makeEnded(keep: number): EndedStreams {
  const ended = new Map<string, Ended>();

  function forgetExpired(): void {
    for (const [stream, { at }] of ended) {
      if (performance.now() - at < keep) return;
      ended.delete(stream);
    }
  }

  return {
    add(stream, epoch, error) {
      forgetExpired();
      // The oldest are first.
      ended.delete(stream);
      ended.set(stream, { epoch, at: performance.now(), error });
    },
    get: (stream) => ended.get(stream),
    delete: (stream) => void ended.delete(stream),
    count() {
      forgetExpired();
      return ended.size;
    },
    clear: () => ended.clear(),
  };
}
