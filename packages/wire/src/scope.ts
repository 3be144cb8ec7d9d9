import { Disconnected } from "./errors.js";
import { Books, everything, type Gauge, type Measure, type Stats } from "./gauges.js";

/** The longest delay that a timer takes (2^31 - 1 ms): a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;
/** Milliseconds by which timers of a busy process are late. */
const STANDSTILL = 100;

type Timer = ReturnType<typeof setTimeout>;

/** An entry in a scope's linked list. The list is small, because thousands of connections have several scopes each. */
class Held {
  /** Undefined once released, so that a kept handle holds no memory. */
  what: (() => unknown) | Scope | Timer | undefined;
  readonly gauge: Gauge | undefined;
  older: Held | undefined;
  newer: Held | undefined;

  constructor(what: (() => unknown) | Scope | Timer, gauge: Gauge | undefined) {
    this.what = what;
    this.gauge = gauge;
  }
}

/**
 * Owns what one call, stream, reader, channel, session or ask acquires, and releases it once.
 *
 * Acquire and `add` in one step. `close(reason)` aborts `signal`, then releases in reverse order, even if a release throws. `close()`
 * aborts nothing: the work is done. A closed scope releases additions at once, so a step that finishes late holds nothing.
 */
export class Scope {
  readonly #books: Books;
  readonly #parent: Scope | undefined;
  /** This scope's entry in its parent's list. */
  readonly #place: Held | undefined;
  #newest: Held | undefined;
  #controller: AbortController | undefined;
  #open = true;
  #reason: unknown;

  private constructor(books: Books, parent?: Scope, gauge?: Gauge) {
    this.#books = books;
    this.#parent = parent;
    this.#place = parent && new Held(this, gauge);
  }

  /** Opens a scope without a parent. `report` receives errors of releases. */
  static open(report: (error: unknown) => void): Scope {
    return new Scope(new Books(report));
  }

  /** Opens a child scope, which closes with this one for the same reason. It is counted while open. */
  child(gauge?: Gauge): Scope {
    const child = new Scope(this.#books, this, gauge);
    this.#take(child.#place!);
    return child;
  }

  get closed(): boolean {
    return !this.#open;
  }

  /** The reason passed to `close`. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborted when the scope closes for a reason. Created on first use. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined && !this.#controller.signal.aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Owns a release. */
  add(release: () => unknown, gauge?: Gauge): void {
    this.#take(new Held(release, gauge));
  }

  /** Owns a release and returns a function that runs it earlier. It runs once in either case. */
  hold(release: () => unknown, gauge?: Gauge): () => void {
    return this.#hold(new Held(release, gauge));
  }

  /**
   * Runs a function after a delay unless the scope closes first. Returns a function that cancels it.
   *
   * A half of the delay in which the process was suspended does not count, so that it can receive data for at least the other half:
   * timers run before data that arrived meanwhile is read, and an answer may need several turns.
   */
  timeout(milliseconds: number, run: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return nothing;
    const delay = Math.min(milliseconds, LONGEST);
    const halves = [Math.ceil(delay / 2), Math.floor(delay / 2)];
    let began: number;
    const wait = (): Timer => {
      began = performance.now();
      return unref(setTimeout(fire, halves[0]));
    };
    const fire = (): void => {
      if (performance.now() - began < 2 * halves[0]! + STANDSTILL) halves.shift();
      if (halves.length > 0) {
        held.what = wait();
        return;
      }
      cancel();
      this.#run(run);
    };
    const held = new Held(wait(), "timers");
    const cancel = this.#hold(held);
    return cancel;
  }

  /** Runs a function repeatedly until the scope closes. Returns a function that stops it. */
  interval(milliseconds: number, run: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return nothing;
    return this.#hold(new Held(unref(setInterval(() => this.#run(run), Math.min(milliseconds, LONGEST))), "timers"));
  }

  /** Runs a function when a signal aborts, or now if it has. The listener is removed with the scope. */
  onAbort(signal: AbortSignal, run: () => void): () => void {
    if (!this.#open) return nothing;
    if (signal.aborted) {
      this.#run(run);
      return nothing;
    }
    const listener = () => this.#run(run);
    signal.addEventListener("abort", listener, { once: true });
    return this.hold(() => signal.removeEventListener("abort", listener));
  }

  /** Adds a number to the stats for as long as the scope is open. */
  measure(of: Measure, read: () => number): void {
    if (!this.#open) return;
    const measure = { of, read };
    for (const books of [this.#books, everything]) books.measures.add(measure);
    this.add(() => {
      for (const books of [this.#books, everything]) books.measures.delete(measure);
    });
  }

  /** Releases everything, newest first. With a reason, aborts the signal first. Only the first call counts. */
  close(reason?: unknown): void {
    if (!this.#open) return;
    this.#open = false;
    this.#reason = reason;
    if (this.#parent && this.#place) this.#parent.#forget(this.#place);
    if (reason !== undefined) this.#controller?.abort(reason);
    for (let held = this.#newest; held; held = this.#newest) {
      this.#forget(held);
      this.#release(held);
    }
  }

  /** Counts of everything that the root scope and its descendants hold. */
  stats(): Stats {
    return this.#books.stats();
  }

  #take(held: Held): void {
    if (!this.#open) return this.#release(held);
    held.older = this.#newest;
    if (held.older) held.older.newer = held;
    this.#newest = held;
    this.#count(held, 1);
  }

  #hold(held: Held): () => void {
    this.#take(held);
    return () => {
      if (this.#forget(held)) this.#release(held);
    };
  }

  /** Returns false when it is already released. */
  #forget(held: Held): boolean {
    if (held.what === undefined) return false;
    const { older, newer } = held;
    if (older) older.newer = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    held.older = held.newer = undefined;
    this.#count(held, -1);
    return true;
  }

  #count({ gauge }: Held, difference: number): void {
    if (gauge === undefined) return;
    this.#books.add(gauge, difference);
    everything.add(gauge, difference);
  }

  #release(held: Held): void {
    const { what } = held;
    held.what = undefined;
    if (typeof what === "function") this.#run(what);
    else if (what instanceof Scope) what.close(this.#reason);
    else clearTimeout(what);
  }

  #run(release: () => unknown): void {
    try {
      const done = release();
      if (isThenable(done)) done.then(undefined, this.#books.report);
    } catch (error) {
      this.#books.report(error);
    }
  }
}

/**
 * Starts an external operation, or takes one that has started, and waits for it within a limit.
 *
 * Rejects with a `Disconnected` of code `timeout` after the limit, and with the scope's reason when the scope closes first; what the
 * operation itself rejects with is handled in each case. `attempt` is a child scope, closed when the wait is over; after a failure its
 * signal is aborted. `late` receives a value that arrives afterwards.
 */
export async function within<T>(
  scope: Scope,
  limit: number,
  what: string,
  start: PromiseLike<T> | ((attempt: Scope) => T | PromiseLike<T>),
  late?: (value: T) => unknown,
): Promise<T> {
  if (scope.closed) {
    if (typeof start !== "function") start.then(undefined, nothing);
    throw reasonOf(scope);
  }
  const attempt = scope.child();
  try {
    const started = typeof start === "function" ? start(attempt) : start;
    const value = isThenable(started) ? await settled(attempt, limit, what, started as PromiseLike<T>, late) : started;
    attempt.close();
    return value;
  } catch (error) {
    attempt.close(error);
    throw error;
  }
}

function settled<T>(
  attempt: Scope,
  limit: number,
  what: string,
  started: PromiseLike<T>,
  late?: (value: T) => unknown,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let over = false;
    const fail = (error: unknown): void => {
      over = true;
      reject(error);
    };
    const forget = attempt.hold(() => over || fail(reasonOf(attempt)));
    const stop = attempt.timeout(limit, () =>
      fail(new Disconnected(`${what} did not finish within ${limit} ms`, { code: "timeout", retryable: true })),
    );
    started.then((value) => {
      // Nothing depends on a late value, so its error is ignored.
      if (over) return late && void (async () => late(value))().catch(() => {});
      over = true;
      stop();
      resolve(value);
      forget();
    }, fail);
  });
}

/** Waits for a promise until a scope closes or a limit passes. A late promise gives undefined. Closes the scope. */
export async function until<T>(scope: Scope, limit: number, coming: Promise<T>): Promise<T | undefined> {
  const closed = new Promise<undefined>((resolve) => scope.add(() => resolve(undefined)));
  scope.timeout(limit, () => scope.close());
  try {
    return await Promise.race([coming, closed]);
  } finally {
    scope.close();
  }
}

/** A timer that keeps no process alive. */
function unref(timer: Timer): Timer {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

function nothing(): void {}

function reasonOf({ reason }: Scope): unknown {
  return reason ?? new DOMException("it is over", "AbortError");
}

export function isThenable(value: unknown): value is PromiseLike<never> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

export { type Gauge, type Measure, type Stats, totals } from "./gauges.js";
