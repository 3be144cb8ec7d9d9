/** Messages that are decoded and wait for a reader, and the end that follows them. */
export interface Buffer<T> {
  push(message: T): void;
  /** Nothing follows. With an `error`, the reader gets it after the buffered messages. The first call counts, and an error until the reader has met the end. */
  end(how: { readonly error?: unknown }): void;
  /** Drops the buffered messages, and ends. */
  clear(): void;
  next(): Promise<IteratorResult<T>>;
  /** All that are there, once something is. */
  batch(): Promise<IteratorResult<T[]>>;
}

/** The end that the reader has met. */
const MET: { readonly error?: unknown } = {};

/** `read` is called when a reader waits and nothing is there; it pushes, ends, or is called again. It never rejects. */
export function buffer<T>(read: () => Promise<void>): Buffer<T> {
  let ready: T[] = [];
  let head = 0;
  let over: { readonly error?: unknown } | undefined;
  let reading: Promise<void> | undefined;

  const empty = (): void => {
    ready = [];
    head = 0;
  };

  const one = (): T => ready[head++]!;
  const all = (): T[] => {
    const batch = head === 0 ? ready : ready.slice(head);
    empty();
    return batch;
  };

  /** Takes in the same turn in which something is there: another reader may wait too. */
  async function pull<Taken>(take: () => Taken): Promise<IteratorResult<Taken>> {
    while (head >= ready.length) {
      empty();
      if (over) {
        const how = over;
        over = MET;
        if ("error" in how) throw how.error;
        return { done: true, value: undefined };
      }
      // One read for all that wait.
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return { done: false, value: take() };
  }

  return {
    clear() {
      empty();
      over = MET;
    },
    push: (message) => void ready.push(message),
    end(how) {
      if (!over || (over !== MET && "error" in how)) over = how;
    },
    // Most messages are ready already: they cost one settled promise each.
    next: () => (head < ready.length ? Promise.resolve({ done: false, value: one() }) : pull(one)),
    batch: () => pull(all),
  };
}

/** An iterator whose early end closes what it reads. */
export function iterating<T>(next: () => Promise<IteratorResult<T>>, close: () => void): AsyncIterator<T> {
  return {
    next,
    async return() {
      close();
      return { done: true, value: undefined };
    },
  };
}
