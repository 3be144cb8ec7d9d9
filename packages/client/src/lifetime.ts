/** Owns one call, stream, channel or request: its signal, its timers, and its listeners on the caller's signals. */
export interface Lifetime {
  /** Aborted by the first of the caller's signals, by a time limit, or by `abort`. */
  readonly signal: AbortSignal;
  /** Ends the lifetime early. Everything started with its signal is aborted. */
  abort(reason?: unknown): void;
  /** Ends the lifetime without aborting. Removes all listeners from the caller's signals. */
  release(): void;
}

/**
 * Opens a lifetime under the caller's signals.
 *
 * The signals are never passed to a `Request` or to `AbortSignal.any`, because both keep a listener until the next garbage collection.
 */
export function lifetime(...callers: readonly (AbortSignal | undefined)[]): Lifetime {
  const controller = new AbortController();
  const releases = callers.map((caller) => caller && onceAborted(caller, () => abort(caller.reason)));

  function release(): void {
    for (const stop of releases) stop?.();
  }

  function abort(reason?: unknown): void {
    release();
    controller.abort(coded(reason));
  }

  const aborted = callers.find((caller) => caller?.aborted);
  if (aborted) abort(aborted.reason);
  return { signal: controller.signal, abort, release };
}

/** Sets an abort's `code` to the name of its reason. Every error has a string code; a DOMException's own is a number. */
export function coded(reason: unknown): unknown {
  if (reason instanceof DOMException) Reflect.defineProperty(reason, "code", { value: reason.name });
  return reason;
}

interface Under {
  readonly runs: Set<() => void>;
  /** The signal's one listener. It is removed with the last run, not with the one that added it. */
  readonly onAbort: () => void;
}

/** The lifetimes under each signal. Each signal has one listener, because Node warns about more than ten. */
const under = new WeakMap<AbortSignal, Under>();

function onceAborted(signal: AbortSignal, run: () => void): () => void {
  let found = under.get(signal);
  if (!found) {
    const runs = new Set<() => void>();
    found = { runs, onAbort: () => [...runs].forEach((one) => void one()) };
    under.set(signal, found);
  }
  const { runs, onAbort } = found;
  runs.add(run);
  // The same listener is not added twice.
  signal.addEventListener("abort", onAbort, { once: true });
  return () => {
    runs.delete(run);
    if (runs.size === 0) signal.removeEventListener("abort", onAbort);
  };
}

/** The longest delay that a timer takes: a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/**
 * Starts an external operation and waits for it. Rejects with its error, or with the lifetime's reason.
 *
 * After `limit` milliseconds the lifetime is aborted with `late()`. @default 0, no limit. No timer or listener is left behind.
 */
export function within<T>(
  { signal, abort }: Lifetime,
  start: () => T | PromiseLike<T>,
  limit = 0,
  late?: () => unknown,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = (): void => {};
  return new Promise<T>((resolve, reject) => {
    signal.throwIfAborted();
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
    const began = performance.now();
    const expire = () => {
      // After a suspension, timers run before the bytes that arrived meanwhile are read. One more turn reads them first.
      if (performance.now() - began > limit + 100) timer = setTimeout(() => abort(late?.()));
      else abort(late?.());
    };
    if (limit) timer = setTimeout(expire, Math.min(limit, LONGEST));
    Promise.resolve(start()).then(resolve, reject);
  }).finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  });
}

/** Limits waits that follow one another by one timer. A wait costs two assignments: the timer counts, and reads no clock. */
export interface Silence {
  begin(): void;
  end(): void;
  /** Clears the timer. No wait may follow. */
  stop(): void;
}

/** The longest tick, in milliseconds. A wait may take one tick more than its limit. */
const MAX_TICK = 1000;

/**
 * Calls a function once a wait has taken `limit` milliseconds; 0 for never. The timer keeps no process.
 *
 * Ticks count, or the clock where they come late, as in a hidden page. Then the wait has one tick more: after a suspension, timers run before
 * the bytes that arrived meanwhile are read.
 */
export function silence(limit: number, expire: () => void): Silence {
  const length = Math.min(limit / 16, MAX_TICK);
  let timer: (ReturnType<typeof setTimeout> & { unref?(): unknown }) | undefined;
  let isWaiting = false;
  /** Whether the wait has begun since the last tick. */
  let isNew = false;
  let isDue = false;
  let since = 0;
  let ticks = 0;
  function count(): void {
    since = performance.now();
    isNew = isDue = false;
    ticks = 0;
  }
  function start(): void {
    timer = setTimeout(tick, length);
    timer.unref?.();
  }
  function tick(): void {
    timer = undefined;
    if (!isWaiting) return;
    if (isNew) count();
    else if (++ticks * length >= limit || isDue) return expire();
    else isDue = performance.now() - since >= limit;
    start();
  }
  return {
    begin() {
      isWaiting = isNew = true;
      if (timer !== undefined || limit === 0) return;
      count();
      start();
    },
    end() {
      isWaiting = false;
    },
    stop() {
      isWaiting = false;
      clearTimeout(timer);
    },
  };
}

/** Waits for a number of milliseconds. Rejects with the lifetime's reason when the lifetime ends first. */
export function pause(milliseconds: number, life: Lifetime): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = () =>
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
  return within(life, elapsed).finally(() => clearTimeout(timer));
}
