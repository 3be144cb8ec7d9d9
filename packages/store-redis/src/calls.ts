import { Disconnected } from "@parlance/wire/errors";
import { Scope, within } from "@parlance/wire/scope";
import type { RedisClient } from "./client.js";
import { RedisStoreError } from "./error.js";

/** Milliseconds between two attempts of one call. */
const RETRY = 50;
/** Errors of a server that is starting, or of a cluster that is failing over. The same command succeeds soon. */
const PASSING = /^(CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|TRYAGAIN|MOVED|ASK|NOREPLICAS|BUSY)\b/;

/** Limits the waits on Redis of one log or pub/sub. `stop` ends them all. */
export interface Calls {
  readonly stopped: boolean;
  /** Sends a command, and repeats it after a transient error. @throws {RedisStoreError} `timeout`, `refused` or `stopped` */
  ask<T>(what: string, send: () => Promise<T>): Promise<T>;
  /** Bounds a wait. @throws {RedisStoreError} `timeout` or `stopped`, or what the promise rejects with */
  within<T>(what: string, promise: Promise<T>): Promise<T>;
  /** Calls a function once, later. Returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
  /** The number of pending waits. */
  pending(): number;
  timers(): number;
  stop(): void;
}

export function makeCalls(redis: RedisClient, timeout: number): Calls {
  const scope = Scope.open((error) => {
    throw error;
  });
  let pending = 0;

  /** Waits within the limit. `cause` gives the last transient error, for the error of a timeout. */
  async function bounded<T>(
    what: string,
    begin: (attempt: Scope) => Promise<T>,
    cause: () => unknown = () => undefined,
  ): Promise<T> {
    if (scope.closed) throw stopError(what);
    pending++;
    try {
      return await within(scope, timeout, what, (attempt) => {
        // A hanging master keeps its connections, so a cluster's client would wait for it although another node has its slots.
        if ("nodes" in redis) attempt.interval(timeout / 4, () => redis.refreshSlotsCache?.());
        return begin(attempt);
      });
    } catch (error) {
      throw error instanceof Disconnected ? timeoutError(what, timeout, cause()) : error;
    } finally {
      pending--;
    }
  }

  function ask<T>(what: string, send: () => Promise<T>): Promise<T> {
    let cause: unknown;
    const repeat = (attempt: Scope) =>
      new Promise<T>((resolve, reject) => {
        const onError = (error: unknown) => {
          cause = error;
          if (attempt.closed) return;
          if (passes(error) && redis.status !== "end") attempt.timeout(RETRY, run);
          else reject(refusal(what, error));
        };
        const run = () => void send().then(resolve, onError);
        run();
      });
    return bounded(what, repeat, () => cause);
  }

  return {
    get stopped() {
      return scope.closed;
    },
    ask,
    within: (what, promise) => bounded(what, () => promise),
    after: (milliseconds, run) => scope.timeout(milliseconds, run),
    // Once stopped, all have their error.
    pending: () => (scope.closed ? 0 : pending),
    timers: () => scope.stats().timers,
    stop: () => scope.close(stopError("a pending call")),
  };
}

/** Whether a retry may succeed soon: the connection broke, or the server is not ready yet. */
export function passes(error: unknown): boolean {
  return !(error instanceof Error && error.name === "ReplyError") || PASSING.test(error.message);
}

export function refusal(what: string, cause: unknown): RedisStoreError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new RedisStoreError("refused", `Redis refused: ${what}: ${text}`, { cause });
}

function timeoutError(what: string, timeout: number, cause: unknown): RedisStoreError {
  const options = cause === undefined ? undefined : { cause };
  return new RedisStoreError("timeout", `no answer within ${timeout} ms to: ${what}`, options);
}

function stopError(what: string): RedisStoreError {
  return new RedisStoreError("stopped", `stop() was called before: ${what}`);
}
