import type { RedisClient } from "./client.js";
import { RedisStoreError } from "./error.js";
import { makeTimers } from "./timers.js";

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
  /** The same, for a timeout on a peer. */
  limit(milliseconds: number, run: () => void): () => void;
  /** The number of pending waits. */
  pending(): number;
  timers(): number;
  stop(): void;
}

/** A wait that has begun. */
interface Wait {
  /** The last transient error. */
  cause?(): unknown;
  cancel?(): void;
}

export function makeCalls(redis: RedisClient, timeout: number): Calls {
  const ends = new Set<(error: RedisStoreError) => void>();
  const timers = makeTimers();
  let stopped = false;

  /** Settles once, at the latest after the limit. `begin` receives the functions that settle it. */
  function bounded<T>(
    what: string,
    begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => Wait,
  ): Promise<T> {
    if (stopped) return Promise.reject(stopError(what));
    return new Promise<T>((resolve, reject) => {
      let wait: Wait = {};
      const finish = (settle: () => void) => {
        if (!ends.delete(fail)) return;
        cancelLimit();
        cancelRefresh();
        wait.cancel?.();
        settle();
      };
      const fail = (error: unknown) => finish(() => reject(error));
      ends.add(fail);
      const expire = () => fail(timeoutError(what, timeout, wait.cause?.()));
      const cancelLimit = timers.limit(timeout, expire);
      // A hanging master keeps its connections, so a cluster's client would wait for it although another node has its slots.
      const cancelRefresh = "nodes" in redis ? every(timeout / 4, () => redis.refreshSlotsCache?.(), timers) : () => {};
      wait = begin((value) => finish(() => resolve(value)), fail);
    });
  }

  return {
    get stopped() {
      return stopped;
    },
    ask: (what, send) =>
      bounded(what, (resolve, reject) => {
        let cause: unknown;
        let over = false;
        let cancelRetry = () => {};
        const onError = (error: unknown) => {
          cause = error;
          if (over) return;
          if (passes(error) && redis.status !== "end") cancelRetry = timers.after(RETRY, attempt);
          else reject(refusal(what, error));
        };
        const attempt = () => void send().then(resolve, onError);
        const cancel = () => {
          over = true;
          cancelRetry();
        };
        attempt();
        return { cause: () => cause, cancel };
      }),
    within: (what, promise) =>
      bounded(what, (resolve, reject) => {
        promise.then(resolve, reject);
        return {};
      }),
    after: timers.after,
    limit: timers.limit,
    pending: () => ends.size,
    timers: timers.count,
    stop() {
      stopped = true;
      for (const fail of [...ends]) fail(stopError("a pending call"));
      timers.stop();
    },
  };
}

/** Calls a function at intervals. Returns a function that cancels it. */
function every(interval: number, run: () => void, timers: Pick<Calls, "after">): () => void {
  let cancel = timers.after(interval, repeat);
  function repeat(): void {
    run();
    cancel = timers.after(interval, repeat);
  }
  return () => cancel();
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
