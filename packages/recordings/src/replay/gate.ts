import type { Entry } from "../recording.js";

/** Holds back the server's messages until the client's earlier recorded actions. An event caused by a second request waits for that request. */
export class Gate {
  /** The client's actions, in the recorded order, and their positions. */
  readonly #asks: readonly Entry[];
  readonly #places: readonly number[];
  readonly #numbers: ReadonlyMap<Entry, number>;
  /** For each action, itself while pending, else a later one: finds the next pending one without a search. */
  readonly #next: number[];
  readonly #waiting = new Set<{ readonly from: number; readonly to: number; readonly resolve: () => void }>();

  constructor(entries: readonly Entry[]) {
    const asked = entries.flatMap((entry, at) => (isAsk(entry) ? [{ entry, at }] : []));
    this.#asks = asked.map(({ entry }) => entry);
    this.#places = asked.map(({ at }) => at);
    this.#numbers = new Map(this.#asks.map((entry, number) => [entry, number]));
    this.#next = [...this.#asks.keys(), this.#asks.length];
  }

  /** Marks an action of the client as done. */
  pass(entry: Entry): void {
    const number = this.#numbers.get(entry);
    if (number !== undefined) this.#next[number] = number + 1;
    for (const waiting of this.#waiting)
      if (!this.pending(waiting.from, waiting.to)) {
        this.#waiting.delete(waiting);
        waiting.resolve();
      }
  }

  /** Resolves when the client has done all actions between two positions. */
  until(from: number, to: number): Promise<void> {
    if (!this.pending(from, to)) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add({ from, to, resolve }));
  }

  /** The client's first pending action between two positions. */
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
