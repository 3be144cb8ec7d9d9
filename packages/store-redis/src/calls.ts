import type { RedisClient } from "./client.js";
import { RedisStoreError } from "./error.js";

/** Milliseconds between two attempts of one call. */
const RETRY = 50;
/** The longest delay that `setTimeout` takes; above it fires at once. */
const LONGEST = 2 ** 31 - 1;
/** Errors of a server that is starting, or of a cluster that is failing over. The same command succeeds soon. */
const PASSING = /^(CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|TRYAGAIN|MOVED|ASK|NOREPLICAS|BUSY)\b/;

/** The waits on Redis of one log or pub/sub: each has a limit, and `stop` ends them all. */
export interface Calls {
  readonly stopped: boolean;
  /** Sends a command, again after a passing error. @throws {RedisStoreError} `timeout`, `refused` or `stopped` */
  ask<T>(what: string, send: () => Promise<T>): Promise<T>;
  /** Bounds a wait. @throws {RedisStoreError} `timeout` or `stopped`, or what the promise rejects with */
  within<T>(what: string, promise: Promise<T>): Promise<T>;
  /** Calls a function once, later. Returns how to cancel it. */
  after(milliseconds: number, run: () => void): () => void;
  /** Waits that are not over. */
  pending(): number;
  timers(): number;
  stop(): void;
}

export function makeCalls(redis: RedisClient, timeout: number): Calls {
  const ends = new Set<(error: RedisStoreError) => void>();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let stopped = false;

  function after(milliseconds: number, run: () => void): () => void {
    if (stopped) return () => {};
    const fire = () => {
      timers.delete(timer);
      run();
    };
    const timer = setTimeout(fire, Math.min(milliseconds, LONGEST));
    (timer as { unref?: () => void }).unref?.();
    timers.add(timer);
    return () => {
      clearTimeout(timer);
      timers.delete(timer);
    };
  }

  /**
   * Makes a cluster's client ask for the masters, again and again while an answer is outstanding. A master that hangs keeps its connections, so
   * the client would wait for it although another node has its slots.
   */
  function refreshTopology(interval: number): () => void {
    if (!("nodes" in redis)) return () => {};
    let cancel = () => {};
    const refresh = () => {
      redis.refreshSlotsCache?.();
      cancel = after(interval, refresh);
    };
    cancel = after(interval, refresh);
    return () => cancel();
  }

  /** Settles once, at the latest after the limit. `begin` is given how to settle and returns how to clean up. */
  function bounded<T>(
    what: string,
    begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => { cause(): unknown; cancel(): void },
  ): Promise<T> {
    if (stopped) return Promise.reject(stopError(what));
    return new Promise<T>((resolve, reject) => {
      let over = false;
      const finish = (settle: () => void) => {
        if (over) return;
        over = true;
        cancelLimit();
        cancelRefresh();
        ends.delete(fail);
        begun?.cancel();
        settle();
      };
      const fail = (error: unknown) => finish(() => reject(error));
      const cancelLimit = after(timeout, () =>
        fail(new RedisStoreError("timeout", `no answer within ${timeout} ms to: ${what}`, causeOf(begun?.cause()))),
      );
      const cancelRefresh = refreshTopology(timeout / 4);
      ends.add(fail);
      const begun = begin((value) => finish(() => resolve(value)), fail);
    });
  }

  return {
    get stopped() {
      return stopped;
    },
    ask: (what, send) =>
      bounded(what, (resolve, reject) => {
        let cancel = () => {};
        let cause: unknown;
        let over = false;
        const attempt = () => {
          send().then(resolve, (error: unknown) => {
            cause = error;
            if (over) return;
            if (passes(error) && redis.status !== "end") cancel = after(RETRY, attempt);
            else reject(refusal(what, error));
          });
        };
        attempt();
        return {
          cause: () => cause,
          cancel() {
            over = true;
            cancel();
          },
        };
      }),
    within: (what, promise) =>
      bounded(what, (resolve, reject) => {
        promise.then(resolve, reject);
        return { cause: () => undefined, cancel() {} };
      }),
    after,
    pending: () => ends.size,
    timers: () => timers.size,
    stop() {
      stopped = true;
      for (const fail of [...ends]) fail(stopError("a pending call"));
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}

/** Whether the same command may succeed within a moment: the connection broke, or the server is not ready yet. */
export function passes(error: unknown): boolean {
  return !(error instanceof Error && error.name === "ReplyError") || PASSING.test(error.message);
}

export function refusal(what: string, cause: unknown): RedisStoreError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new RedisStoreError("refused", `Redis refused: ${what}: ${text}`, { cause });
}

function stopError(what: string): RedisStoreError {
  return new RedisStoreError("stopped", `stop() was called before: ${what}`);
}

function causeOf(cause: unknown): ErrorOptions | undefined {
  return cause === undefined ? undefined : { cause };
}
