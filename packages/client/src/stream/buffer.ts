/** A buffer of decoded, unread messages and the end that follows them. */
export interface Buffer<T> {
  push(message: T): void;
  /** Marks the end. The reader gets an `error` after the buffered messages. The first call counts; an error counts until the end is read. */
  end(how: { readonly error?: unknown }): void;
  /** Drops the buffered messages, and ends. */
  clear(): void;
  /**
   * From now on, reads the next chunk while its reader works on this one. At most one chunk is held unread. Resolves when a read that is
   * in progress, or else a new one, has brought a message or the end.
   */
  readAhead(): Promise<void>;
  /** Whether the reader has met the end. */
  readonly drained: boolean;
  next(): Promise<IteratorResult<T>>;
  /** Returns all buffered messages, once there is at least one. */
  batch(): Promise<IteratorResult<T[]>>;
}

/** Whether the reader has reached the end. */
const MET: { readonly error?: unknown } = {};

/** Creates a buffer. `read` is called while a reader waits on an empty buffer, or ahead of it, until it pushes or ends. It never rejects. */
export function buffer<T>(read: () => Promise<void>): Buffer<T> {
  let ready: T[] = [];
  let head = 0;
  /** The messages of the chunk after `ready`. */
  let ahead: T[] = [];
  let isAhead = false;
  let over: { readonly error?: unknown } | undefined;
  let reading: Promise<void> | undefined;

  const turn = (): void => {
    ready = ahead;
    ahead = [];
    head = 0;
  };

  const one = (): T => ready[head++]!;
  const all = (): T[] => {
    const batch = head === 0 ? ready : ready.slice(head);
    ready = [];
    head = 0;
    return batch;
  };

  async function fill(): Promise<void> {
    do await read();
    while (ahead.length === 0 && !over);
    reading = undefined;
  }

  /** One read serves all waiting calls. */
  function reads(): Promise<void> {
    reading ??= fill();
    return reading;
  }

  /** Takes messages in the turn in which they arrive, because a reader may call `next` again before. */
  async function pull<Taken>(take: () => Taken): Promise<IteratorResult<Taken>> {
    while (head >= ready.length) {
      turn();
      if (ready.length > 0) {
        if (isAhead && !over) reads();
      } else if (over) {
        const how = over;
        over = MET;
        if ("error" in how) throw how.error;
        return { done: true, value: undefined };
      } else await reads();
    }
    return { done: false, value: take() };
  }

  return {
    clear() {
      ahead = [];
      turn();
      over = MET;
    },
    get drained() {
      return over === MET;
    },
    push: (message) => void ahead.push(message),
    end(how) {
      if (!over || (over !== MET && "error" in how)) over = how;
    },
    async readAhead() {
      isAhead = true;
      if (!over) await reads();
    },
    // Most messages are ready already: they cost one settled promise each.
    next: () => (head < ready.length ? Promise.resolve({ done: false, value: one() }) : pull(one)),
    batch: () => pull(all),
  };
}
