/** A queue from a writer to a reader, bounded by the sum of the weights that wait. */
export interface Queue<T> extends AsyncIterable<T> {
  /** False when the item would put the queue over its limit; it is then not taken. */
  push(item: T, weight: number): boolean;
  /** Ends the queue. The reader gets the items that wait, and then the error. The first call counts. */
  end(error?: unknown): void;
  /** Takes the items that wait, oldest first, up to a weight. */
  rest(limit: number): T[];
  readonly ended: boolean;
  /** The sum of the weights that wait. */
  readonly weight: number;
}

export interface QueueOptions {
  /** The sum of weights that may wait; one item is always taken into an empty queue. */
  readonly limit: number;
  /** Called when a reader has taken an item. */
  readonly onTake?: () => void;
}

/** Leaving a loop keeps the items that wait, and a new loop goes on from there. */
export function queue<T>({ limit, onTake }: QueueOptions): Queue<T> {
  let items: { item: T; weight: number }[] = [];
  let head = 0;
  let over: { error?: unknown } | undefined;
  let wake: (() => void) | undefined;
  /** One promise for all that wait: a second `next` does not displace the first. */
  let waiting: Promise<void> | undefined;

  function take(): IteratorResult<T> | undefined {
    if (head < items.length) {
      const { item, weight } = items[head++]!;
      queue.weight -= weight;
      if (head === items.length || (head > 1024 && head * 2 > items.length)) {
        items = items.slice(head);
        head = 0;
      }
      onTake?.();
      return { value: item, done: false };
    }
    if (!over) return undefined;
    if ("error" in over) {
      const { error } = over;
      over = {};
      throw error;
    }
    return { value: undefined, done: true };
  }

  function rouse(): void {
    wake?.();
    wake = waiting = undefined;
  }

  // Plain properties: accessors would give each of thousands of queues a hidden class of its own.
  const queue = {
    ended: false,
    weight: 0,
    push(item: T, weight: number): boolean {
      if (over) return true;
      if (queue.weight > 0 && queue.weight + weight > limit) return false;
      items.push({ item, weight });
      queue.weight += weight;
      rouse();
      return true;
    },
    end(...error: readonly unknown[]): void {
      over ??= error.length > 0 && error[0] !== undefined ? { error: error[0] } : {};
      queue.ended = true;
      rouse();
    },
    rest(limit: number): T[] {
      const taken: T[] = [];
      for (let left = limit; head < items.length; ) {
        left -= items[head]!.weight;
        if (left < 0) break;
        taken.push(take()!.value);
      }
      return taken;
    },
    [Symbol.asyncIterator](): AsyncIterator<T> {
      return {
        async next() {
          for (;;) {
            const taken = take();
            if (taken) return taken;
            waiting ??= new Promise((resolve) => {
              wake = resolve;
            });
            await waiting;
          }
        },
        return: async () => ({ value: undefined, done: true }),
      };
    },
  };
  return queue;
}
