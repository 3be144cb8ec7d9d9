import type { Entry } from "../recording.js";

/** Lets what the server did pass when the client has done all that it did before. So an event that a second request caused waits for that request. */
export class Gate {
  /** What the client has yet to do, in the recorded order, and where it stands. */
  readonly #pending: Map<Entry, number>;
  readonly #waiting = new Set<{ readonly at: number; readonly resolve: () => void }>();

  constructor(entries: readonly Entry[]) {
    const asked = entries.flatMap((entry, at) => (isAsk(entry) ? [[entry, at] as const] : []));
    this.#pending = new Map(asked);
  }

  /** The first thing that the client has yet to do. */
  get pending(): Entry | undefined {
    return this.#pending.keys().next().value;
  }

  /** The client has done this. */
  pass(entry: Entry): void {
    this.#pending.delete(entry);
    const first = this.#first();
    for (const waiting of this.#waiting)
      if (waiting.at < first) {
        this.#waiting.delete(waiting);
        waiting.resolve();
      }
  }

  /** Resolves when the client has done all that stands before a place. */
  until(at: number): Promise<void> {
    if (at < this.#first()) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add({ at, resolve }));
  }

  #first(): number {
    return this.#pending.values().next().value ?? Number.POSITIVE_INFINITY;
  }
}

function isAsk({ kind, from }: Entry): boolean {
  return from === "client" && (kind === "request" || kind === "frame");
}
