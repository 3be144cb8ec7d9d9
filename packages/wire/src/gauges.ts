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

/** Counts and measures of one root scope, and where its failures go. */
export class Books {
  readonly report: (error: unknown) => void;
  readonly measures = new Set<{ readonly of: Measure; readonly read: () => number }>();
  readonly #counts = new Map<Gauge, number>();

  constructor(report: (error: unknown) => void) {
    this.report = report;
  }

  add(gauge: Gauge, difference: number): void {
    this.#counts.set(gauge, (this.#counts.get(gauge) ?? 0) + difference);
  }

  stats(): Stats {
    const stats: Record<string, number> = { queued: 0, logged: 0 };
    for (const gauge of GAUGES) stats[gauge] = this.#counts.get(gauge) ?? 0;
    for (const { of, read } of this.measures) stats[of]! += read();
    return stats as Stats;
  }
}

/** Everything that any scope of this process holds. */
export const everything = new Books(() => {});

/** What all scopes of this process hold together: zero at rest. */
export function totals(): Stats {
  return everything.stats();
}
