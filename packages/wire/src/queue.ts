export interface QueueOptions {
  /** The maximum sum of queued weights. An empty queue always accepts one item. */
  readonly limit: number;
  /** Called when a reader has taken an item. */
  readonly onTake?: () => void;
}

/** A reader that waits for an item, and those behind it. */
interface Waiting<T> {
  readonly resolve: (step: IteratorResult<T> | Promise<IteratorResult<T>>) => void;
  next: Waiting<T> | undefined;
}

/**
 * A queue from a writer to a reader, bounded by the sum of its items' weights. Leaving a loop keeps the queued items, and a new loop
 * continues with them.
 */
export class Queue<T> implements AsyncIterable<T>, AsyncIterator<T> {
  ended = false;
  /** The sum of the queued weights. */
  weight = 0;
  readonly #options: QueueOptions;
  #items: T[] = [];
  #weights: number[] = [];
  #head = 0;
  #failure: { readonly error: unknown } | undefined;
  #waiting: Waiting<T> | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Whether the queue has ended, and its reader has met the end. */
  get drained(): boolean {
    return this.ended && this.#head === this.#items.length && !this.#failure;
  }

  /** Adds an item. Returns false, without adding it, when it would exceed the limit. */
  push(item: T, weight: number): boolean {
    if (this.ended) return true;
    const reader = this.#waiting;
    if (reader) {
      this.#waiting = reader.next;
      this.#options.onTake?.();
      reader.resolve({ value: item, done: false });
      return true;
    }
    if (this.weight > 0 && this.weight + weight > this.#options.limit) return false;
    this.#items.push(item);
    this.#weights.push(weight);
    this.weight += weight;
    return true;
  }

  /** Ends the queue. The reader gets the queued items, then the error. The first call counts. */
  end(error?: unknown): void {
    if (this.ended) return;
    this.ended = true;
    if (error !== undefined) this.#failure = { error };
    for (let reader = this.#waiting; reader; reader = reader.next) reader.resolve(this.next());
    this.#waiting = undefined;
  }

  /** Takes the queued items, oldest first, up to a weight. */
  rest(limit: number): T[] {
    const taken: T[] = [];
    for (let left = limit; this.#head < this.#items.length; ) {
      left -= this.#weights[this.#head]!;
      if (left < 0) break;
      taken.push(this.#take());
    }
    return taken;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#head < this.#items.length) return Promise.resolve({ value: this.#take(), done: false });
    if (!this.ended) return new Promise((resolve) => this.#wait({ resolve, next: undefined }));
    const failure = this.#failure;
    this.#failure = undefined;
    return failure ? Promise.reject(failure.error) : Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this;
  }

  #wait(reader: Waiting<T>): void {
    let last = this.#waiting;
    if (!last) this.#waiting = reader;
    else {
      while (last.next) last = last.next;
      last.next = reader;
    }
  }

  #take(): T {
    const item = this.#items[this.#head]!;
    this.weight -= this.#weights[this.#head++]!;
    // An empty queue holds no memory, because thousands of connections have one each.
    if (this.#head === this.#items.length || (this.#head > 1024 && this.#head * 2 > this.#items.length)) {
      this.#items = this.#items.slice(this.#head);
      this.#weights = this.#weights.slice(this.#head);
      this.#head = 0;
    }
    this.#options.onTake?.();
    return item;
  }
}
