import { Disconnected } from "./errors.js";

/** What is counted while it is held. */
export type Gauge =
  | "calls"
  | "streams"
  | "channels"
  | "readers"
  | "sessions"
  | "asks"
  | "places"
  | "timers"
  | "subscriptions";

/** Characters that wait for a reader, and characters that are kept for one that may come back. */
export type Measure = "queued" | "logged";

/** Counts of everything that is held, and sums of the characters that wait. */
export type Stats = Readonly<Record<Gauge | Measure, number>>;

const GAUGES: readonly Gauge[] = [
  "calls",
  "streams",
  "channels",
  "readers",
  "sessions",
  "asks",
  "places",
  "timers",
  "subscriptions",
];

/** The longest delay that a timer takes (2^31 - 1 ms): a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Counts and measures of one root scope. */
class Books {
  readonly counts = new Map<Gauge, number>();
  readonly measures = new Set<{ readonly of: Measure; readonly read: () => number }>();

  add(gauge: Gauge | undefined, difference: number): void {
    if (gauge) this.counts.set(gauge, (this.counts.get(gauge) ?? 0) + difference);
  }

  stats(): Stats {
    const stats: Record<string, number> = { queued: 0, logged: 0 };
    for (const gauge of GAUGES) stats[gauge] = this.counts.get(gauge) ?? 0;
    for (const { of, read } of this.measures) stats[of]! += read();
    return stats as Stats;
  }
}

/** Everything that any scope of this process holds. */
const everything = new Books();

/** What all scopes of this process hold together: zero at rest. */
export function totals(): Stats {
  return everything.stats();
}

const NOTHING: Held[] = [];
/** More are a set, where each is found at once. */
const FEW = 8;

interface Held {
  readonly release: () => unknown;
  readonly gauge: Gauge | undefined;
}

/**
 * Owns what one call, stream, reader, channel, session or ask acquires, and releases it once.
 *
 * Acquire and `add` in one step. `close(reason)` aborts `signal`, then releases in reverse order, whatever throws; `close()` says that the
 * work is done, and aborts nothing. What is added to a closed scope is released at once, so a step that finishes too late holds nothing.
 */
export class Scope {
  readonly #books: Books;
  readonly #report: (error: unknown) => void;
  readonly #leaveParent: (() => void) | undefined;
  /** A few are a list, which is smaller: thousands of connections have some scopes each. */
  #held: Held[] | Set<Held> = NOTHING;
  #controller: AbortController | undefined;
  #open = true;
  #reason: unknown;

  private constructor(books: Books, report: (error: unknown) => void, leaveParent?: () => void) {
    this.#books = books;
    this.#report = report;
    this.#leaveParent = leaveParent;
  }

  /** Opens a scope without a parent. `report` gets what a release throws. */
  static open(report: (error: unknown) => void): Scope {
    return new Scope(new Books(), report);
  }

  /** Opens a scope that closes with this one, for the same reason. It is counted until then. */
  child(gauge?: Gauge): Scope {
    const held: Held = { gauge, release: () => child.close(this.#reason) };
    const child: Scope = new Scope(this.#books, this.#report, () => this.#forget(held));
    this.#take(held);
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
    this.#take({ release, gauge });
  }

  /** Owns a release, and returns a function that releases earlier. Either way it runs once. */
  hold(release: () => unknown, gauge?: Gauge): () => void {
    const held: Held = { release, gauge };
    this.#take(held);
    return () => {
      if (this.#forget(held)) this.#run(release);
    };
  }

  /** Runs a function after a delay unless the scope closes first. Returns a function that cancels it. */
  timeout(milliseconds: number, run: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return () => {};
    const timer = setTimeout(
      () => {
        cancel();
        this.#run(run);
      },
      Math.min(milliseconds, LONGEST),
    );
    (timer as { unref?: () => void }).unref?.();
    const cancel = this.hold(() => clearTimeout(timer), "timers");
    return cancel;
  }

  /** Runs a function again and again until the scope closes. Returns a function that stops it. */
  interval(milliseconds: number, run: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return () => {};
    const timer = setInterval(() => this.#run(run), Math.min(milliseconds, LONGEST));
    (timer as { unref?: () => void }).unref?.();
    return this.hold(() => clearInterval(timer), "timers");
  }

  /** Runs a function when a signal aborts, which may be now. The listener goes with the scope. */
  onAbort(signal: AbortSignal, run: () => void): () => void {
    if (!this.#open) return () => {};
    if (signal.aborted) {
      this.#run(run);
      return () => {};
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
    this.#leaveParent?.();
    if (reason !== undefined) this.#controller?.abort(reason);
    for (const held of [...this.#held].reverse()) if (this.#forget(held)) this.#run(held.release);
  }

  /** What this scope's root and all below it hold. */
  stats(): Stats {
    return this.#books.stats();
  }

  #take(held: Held): void {
    if (!this.#open) return this.#run(held.release);
    if (this.#held === NOTHING) this.#held = [held];
    else if (!Array.isArray(this.#held)) this.#held.add(held);
    else if (this.#held.length < FEW) this.#held.push(held);
    else this.#held = new Set(this.#held).add(held);
    this.#count(held, 1);
  }

  #forget(held: Held): boolean {
    if (Array.isArray(this.#held)) {
      const index = this.#held.indexOf(held);
      if (index < 0) return false;
      this.#held.splice(index, 1);
    } else if (!this.#held.delete(held)) return false;
    this.#count(held, -1);
    return true;
  }

  #count({ gauge }: Held, difference: number): void {
    this.#books.add(gauge, difference);
    everything.add(gauge, difference);
  }

  #run(release: () => unknown): void {
    try {
      const done = release();
      if (isThenable(done)) done.then(undefined, this.#report);
    } catch (error) {
      this.#report(error);
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
    const forget = attempt.hold(() => fail(reasonOf(attempt)));
    const stop = attempt.timeout(limit, () => {
      fail(new Disconnected(`${what} did not finish within ${limit} ms`, { code: "timeout", retryable: true }));
    });
    started.then((value) => {
      // A value that comes too late cannot fail anybody.
      if (over) return late && void (async () => late(value))().catch(() => {});
      stop();
      resolve(value);
      forget();
    }, fail);
  });
}

function reasonOf({ reason }: Scope): unknown {
  return reason ?? new DOMException("it is over", "AbortError");
}

function isThenable(value: unknown): value is PromiseLike<never> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
