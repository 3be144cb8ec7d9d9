/** Messages that are decoded and wait for a reader, and the end that follows them. */
export interface Buffer<T> {
  push(message: T): void;
  /** Nothing follows. With an `error`, the reader gets it after the buffered messages. The first call counts. */
  end(how: { readonly error?: unknown }): void;
  /** Drops the buffered messages. */
  clear(): void;
  next(): Promise<IteratorResult<T>>;
}

/** `read` is called when a reader waits and nothing is there; it pushes, ends, or is called again. It never rejects. */
export function buffer<T>(read: () => Promise<void>): Buffer<T> {
  let ready: T[] = [];
  let head = 0;
  let over: { readonly error?: unknown } | undefined;
  let reading: Promise<void> | undefined;

  const clear = (): void => {
    ready = [];
    head = 0;
  };

  async function pull(): Promise<IteratorResult<T>> {
    while (head >= ready.length) {
      clear();
      if (over) {
        const how = over;
        over = {};
        if ("error" in how) throw how.error;
        return { done: true, value: undefined };
      }
      // One read for all that wait.
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return { done: false, value: ready[head++]! };
  }

  return {
    clear,
    push: (message) => void ready.push(message),
    end(how) {
      over ??= how;
    },
    // Most messages are ready already: they cost one settled promise each.
    next: () => (head < ready.length ? Promise.resolve({ done: false, value: ready[head++]! }) : pull()),
  };
}
