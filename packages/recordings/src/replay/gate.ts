/** Holds back the server's messages until the client's earlier recorded actions. An event caused by a second request waits for that request. */
export class Gate {
  /** The positions of the client's actions, in the recorded order. */
  readonly #places: readonly number[];
  /** For each action, itself while pending, else a later one: finds the next pending one without a search. */
  readonly #next: number[];
  readonly #waiting = new Set<{ readonly from: number; readonly to: number; readonly resolve: () => void }>();

  constructor(asks: readonly number[]) {
    this.#places = asks;
    this.#next = [...asks.keys(), asks.length];
  }

  /** Marks an action of the client as done. */
  pass(at: number): void {
    const number = this.#firstAt(at);
    if (this.#places[number] === at) this.#next[number] = number + 1;
    for (const waiting of this.#waiting)
      if (this.pending(waiting.from, waiting.to) === undefined) {
        this.#waiting.delete(waiting);
        waiting.resolve();
      }
  }

  /** Resolves when the client has done all actions between two positions. */
  until(from: number, to: number): Promise<void> {
    if (this.pending(from, to) === undefined) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add({ from, to, resolve }));
  }

  /** The position of the client's first pending action between two positions. */
  pending(from: number, to: number): number | undefined {
    const first = this.#places[this.#pendingFrom(this.#firstAt(from))];
    return first !== undefined && first < to ? first : undefined;
  }

  /** The first action at a position or after it. */
  #firstAt(position: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#places[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #pendingFrom(number: number): number {
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
