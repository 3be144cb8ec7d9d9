import { Disconnected } from "./errors.js";
import { Books, everything, type Gauge, type Measure, type Stats } from "./gauges.js";

/** The longest delay that a timer takes (2^31 - 1 ms): a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;
/** Milliseconds by which timers of a busy process are late. */
const STANDSTILL = 100;

type Timer = ReturnType<typeof setTimeout>;

/** One thing that a scope owns, in the list of all that it owns: thousands of connections have some scopes each. */
class Held {
  /** Undefined once it is released: what is kept to release it earlier keeps nothing else then. */
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
 * Acquire and `add` in one step. `close(reason)` aborts `signal`, then releases in reverse order, whatever throws; `close()` says that the
 * work is done, and aborts nothing. What is added to a closed scope is released at once, so a step that finishes too late holds nothing.
 */
export class Scope {
  readonly #books: Books;
  readonly #parent: Scope | undefined;
  /** This scope among what its parent owns. */
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

  /** Opens a scope without a parent. `report` gets what a release throws. */
  static open(report: (error: unknown) => void): Scope {
    return new Scope(new Books(report));
  }

  /** Opens a scope that closes with this one, for the same reason. It is counted until then. */
  child(gauge?: Gauge): Scope {
    const child = new Scope(this.#books, this, gauge);
    this.#take(child.#place!);
    return child;
  }

  get closed(): boolean {
    return !this.#open;
  }

  /** What `close` was given. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborted when the scope closes for a reason. Made when it is first asked for. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined && !this.#controller.signal.aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Owns a release. */
  add(release: () => unknown, gauge?: Gauge): void {
    this.#take(new Held(release, gauge));
  }

  /** Owns a release, and returns a function that releases earlier. Either way it runs once. */
  hold(release: () => unknown, gauge?: Gauge): () => void {
    return this.#hold(new Held(release, gauge));
  }

  /**
   * Runs a function after a delay unless the scope closes first. Returns a function that cancels it.
   *
   * A half of the delay through which the process stood still does not count, so that the process can hear others for at least the other half:
   * timers run before what has come meanwhile is read, and an answer may need several turns.
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

  /** Runs a function again and again until the scope closes. Returns a function that stops it. */
  interval(milliseconds: number, run: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return nothing;
    return this.#hold(new Held(unref(setInterval(() => this.#run(run), Math.min(milliseconds, LONGEST))), "timers"));
  }

  /** Runs a function when a signal aborts, which may be now. The listener goes with the scope. */
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

  /** Releases everything, newest first; with a reason, aborts the signal before. The first call counts. */
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

  /** What this scope's root and all below it hold. */
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

  /** False where it is released already. */
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
 * Starts something outside and waits for it within a limit.
 *
 * Rejects with a `Disconnected` of code `timeout` after the limit, and with the scope's reason when the scope closes first. `attempt` is a
 * scope of its own, closed when the wait is over; where it has failed, its signal is aborted. `late` gets a value that comes after that.
 */
export async function within<T>(
  scope: Scope,
  limit: number,
  what: string,
  start: (attempt: Scope) => T | PromiseLike<T>,
  late?: (value: T) => unknown,
): Promise<T> {
  if (scope.closed) throw reasonOf(scope);
  const attempt = scope.child();
  try {
    const started = start(attempt);
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
      // A value that comes too late cannot fail anybody.
      if (over) return late && void (async () => late(value))().catch(() => {});
      over = true;
      stop();
      resolve(value);
      forget();
    }, fail);
  });
}

/** Waits for a promise until a scope closes: after the limit at the latest. Resolves with undefined where nothing came before. Closes the scope. */
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

function isThenable(value: unknown): value is PromiseLike<never> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

export { type Gauge, type Measure, type Stats, totals } from "./gauges.js";
