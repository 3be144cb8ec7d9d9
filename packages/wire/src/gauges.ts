/** The kinds of things that are counted while held. */
export type Gauge =
  | "calls"
  | "streams"
  | "channels"
  | "readers"
  | "sessions"
  | "asks"
  | "places"
  | "timers"
  | "subscriptions"
  /** Finished streams that are kept for readers that may come back. */
  | "kept";

/**
 * Characters queued for readers, in the event log, and queued or kept on channels, in sessions and in large answers (`held`); bytes of requests whose handlers
 * are not done (`received`); tickets that may be redeemed; keys of streams cancelled a moment ago (`tombstones`).
 */
export type Measure = "queued" | "logged" | "held" | "received" | "tickets" | "tombstones";

/** Counts of everything held, and sums of its sizes. */
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
  "kept",
];
const MEASURES: readonly Measure[] = ["queued", "logged", "held", "received", "tickets", "tombstones"];

/** The counts of one root scope, and the receiver of its failures. */
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
    const stats: Record<string, number> = {};
    for (const measure of MEASURES) stats[measure] = 0;
    for (const gauge of GAUGES) stats[gauge] = this.#counts.get(gauge) ?? 0;
    for (const { of, read } of this.measures) stats[of]! += read();
    return stats as Stats;
  }
}

/** Everything that any scope of this process holds. */
export const everything = new Books(() => {});

/** Returns the total counts of all scopes in this process: zero at rest. */
export function totals(): Stats {
  return everything.stats();
}
