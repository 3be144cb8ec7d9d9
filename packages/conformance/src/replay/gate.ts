import type { Entry } from "../recording.js";

/** Lets what the server sends pass when the client has done all that it did meanwhile. So an event that a second request caused waits for that request. */
export class Gate {
  /** What the client does, in the recorded order, and where each stands. */
  readonly #asks: readonly Entry[];
  readonly #places: readonly number[];
  readonly #numbers: ReadonlyMap<Entry, number>;
  /** For each ask, itself while it is to come, else a later one: the next that is to come is found without a search. */
  readonly #next: number[];
  readonly #waiting = new Set<{ readonly from: number; readonly to: number; readonly resolve: () => void }>();

  constructor(entries: readonly Entry[]) {
    const asked = entries.flatMap((entry, at) => (isAsk(entry) ? [{ entry, at }] : []));
    this.#asks = asked.map(({ entry }) => entry);
    this.#places = asked.map(({ at }) => at);
    this.#numbers = new Map(this.#asks.map((entry, number) => [entry, number]));
    this.#next = [...this.#asks.keys(), this.#asks.length];
  }

  /** The client has done this. */
  pass(entry: Entry): void {
    const number = this.#numbers.get(entry);
    if (number !== undefined) this.#next[number] = number + 1;
    for (const waiting of this.#waiting)
      if (!this.pending(waiting.from, waiting.to)) {
        this.#waiting.delete(waiting);
        waiting.resolve();
      }
  }

  /** Resolves when the client has done all that stands between two places. */
  until(from: number, to: number): Promise<void> {
    if (!this.pending(from, to)) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add({ from, to, resolve }));
  }

  /** The first thing between two places that the client has yet to do. */
  pending(from: number, to: number): Entry | undefined {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#places[middle]! < from) low = middle + 1;
      else high = middle;
    }
    const first = this.#firstFrom(low);
    return first < this.#places.length && this.#places[first]! < to ? this.#asks[first] : undefined;
  }

  #firstFrom(number: number): number {
    let first = number;
    while (this.#next[first] !== first) first = this.#next[first]!;
    for (let at = number; at < first; ) {
      const next = this.#next[at]!;
      this.#next[at] = first;
      at = next;
    }
    return first;
  }
}

function isAsk({ kind, from }: Entry): boolean {
  return from === "client" && (kind === "request" || kind === "frame");
}
