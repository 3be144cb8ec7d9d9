/** A buffer of decoded, unread messages and the end that follows them. */
export interface Buffer<T> {
  push(message: T): void;
  /** Reports that a read is over: what it has brought goes to the waiting readers. */
  arrived(): void;
  /** Marks the end. The reader gets an `error` after the buffered messages. The first call counts; an error counts until the end is read. */
  end(how: End): void;
  /** Drops the buffered messages, and ends. */
  clear(): void;
  /** From now on, reads while fewer than so many chunks are held unread: one for the next chunk, `Infinity` for the rest of a body. */
  readAhead(chunks: number): void;
  /** Whether the reader has met the end. */
  readonly drained: boolean;
  next(): Promise<IteratorResult<T>>;
  /** Returns all buffered messages, once there is at least one. */
  batch(): Promise<IteratorResult<T[]>>;
}

/** A reader that waits, and what it takes. */
interface Waiting {
  readonly take: () => unknown;
  readonly resolve: (step: IteratorResult<never>) => void;
  readonly reject: (error: unknown) => void;
  /** The reader behind it. */
  next: Waiting | undefined;
}

/** How a stream has ended: well, or with an error. */
interface End {
  readonly error?: unknown;
}

/** The end, once its reader has met it. */
const MET: End = {};

/** Creates a buffer. `read` is called while a reader waits on an empty buffer, or ahead of it, and not again before `arrived`. */
export function buffer<T>(read: () => void): Buffer<T> {
  let ready: T[] = [];
  let head = 0;
  /** The messages of the chunk after `ready`. */
  let ahead: T[] = [];
  let most = 0;
  let over: End | undefined;
  let isReading = false;
  let waiting: Waiting | undefined;

  const one = (): T => ready[head++]!;
  const all = (): T[] => {
    const batch = head === 0 ? ready : ready.slice(head);
    ready = [];
    head = 0;
    return batch;
  };

  /** Whether a message is ready, where need be of the next chunk. */
  function turn(): boolean {
    if (head >= ready.length && ahead.length > 0) {
      ready = ahead;
      ahead = [];
      head = 0;
    }
    return head < ready.length;
  }

  /** Gives what there is to the readers that wait, and reads where more is wanted. */
  function proceed(): void {
    while (waiting && (turn() || over)) {
      const reader = waiting;
      waiting = reader.next;
      if (head < ready.length) reader.resolve({ done: false, value: reader.take() as never });
      else {
        tell(reader, over!);
        over = MET;
      }
    }
    if (isReading || over || (!waiting && Number(ahead.length > 0) >= most)) return;
    isReading = true;
    read();
  }

  function wait<Taken>(take: () => Taken): Promise<IteratorResult<Taken>> {
    return new Promise((resolve, reject) => {
      waiting = behind(waiting, { take, resolve, reject, next: undefined });
      proceed();
    });
  }

  return {
    clear() {
      ready = [];
      ahead = [];
      head = 0;
      over = MET;
      proceed();
    },
    get drained() {
      return over === MET;
    },
    push: (message) => void ahead.push(message),
    arrived() {
      isReading = false;
      proceed();
    },
    end(how) {
      if (!over || (over !== MET && "error" in how)) over = how;
      proceed();
    },
    readAhead(chunks) {
      most = chunks;
      proceed();
    },
    // Most messages are ready already: they cost one settled promise each.
    next: () => (head < ready.length ? Promise.resolve({ done: false, value: one() }) : wait(one)),
    batch: () => wait(all),
  };
}

function tell({ resolve, reject }: Waiting, end: End): void {
  if ("error" in end) reject(end.error);
  else resolve({ done: true, value: undefined });
}

/** Puts a reader behind those that wait. Returns the first of all. */
function behind(first: Waiting | undefined, reader: Waiting): Waiting {
  if (!first) return reader;
  let last = first;
  while (last.next) last = last.next;
  last.next = reader;
  return first;
}
