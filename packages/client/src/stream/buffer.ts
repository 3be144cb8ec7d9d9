/** A buffer of decoded, unread messages and the end that follows them. */
export interface Buffer<T> {
  push(message: T): void;
  /** Reports that a read is over: what it has brought goes to the waiting readers. Returns what settles the promise of `read`. */
  arrived(): Settled;
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

/** A reader's step, or its promise; undefined where the promise of the read is no reader's. */
type Settled = IteratorResult<unknown> | Promise<unknown> | undefined;

/** A reader that waits, and what it takes. */
interface Waiting {
  readonly take: () => unknown;
  readonly resolve: (step: IteratorResult<never>) => void;
  readonly reject: (error: unknown) => void;
}

/** How a stream has ended: well, or with an error. */
interface End {
  readonly error?: unknown;
}

/** The end, once its reader has met it. */
const MET: End = {};

/**
 * Creates a buffer. `read` is called while a reader waits on an empty buffer, or ahead of it, and not again before `arrived`. The promise that
 * it returns, if any, is given to the reader: one promise is then all that a read costs. A message that is ready costs one settled promise.
 */
export function buffer<T>(read: () => Promise<unknown> | undefined): Buffer<T> {
  let ready: T[] = [];
  let head = 0;
  /** The messages of the chunk after `ready`. */
  let ahead: T[] = [];
  let most = 0;
  let over: End | undefined;
  let isReading = false;
  const waiting: Waiting[] = [];
  /** What the reader takes that has the promise of the read. It is before those that wait. */
  let direct: (() => unknown) | undefined;
  const one = (): T => ready[head++]!;
  const all = (): T[] => ready.splice(head);

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
    while (!direct && waiting[0] && (turn() || over)) {
      const reader = waiting.shift()!;
      if (head < ready.length) reader.resolve({ done: false, value: reader.take() as never });
      else over = tell(reader, over!);
    }
    if (isReading || over || (!waiting[0] && (ahead[0] ? 1 : 0) >= most)) return;
    isReading = true;
    read();
  }

  function wait<Taken>(take: () => Taken, place = waiting.length): Promise<IteratorResult<Taken>> {
    return new Promise((resolve, reject) => {
      waiting.splice(place, 0, { take, resolve, reject });
      proceed();
    });
  }

  function step<Taken>(take: () => Taken): Promise<IteratorResult<Taken>> {
    if (isReading || over || turn()) return wait(take);
    isReading = true;
    const own = read() as Promise<IteratorResult<Taken>> | undefined;
    direct = own && take;
    return own ?? wait(take);
  }

  return {
    clear() {
      [ready, ahead, head, over] = [[], [], 0, MET];
      proceed();
    },
    get drained() {
      return over === MET;
    },
    push: (message) => void ahead.push(message),
    arrived() {
      const take = direct;
      isReading = false;
      direct = undefined;
      const settled = take && (turn() ? { done: false, value: take() } : wait(take, 0));
      proceed();
      return settled;
    },
    end(how) {
      if (!over || (over !== MET && "error" in how)) over = how;
      proceed();
    },
    readAhead(chunks) {
      most = chunks;
      proceed();
    },
    next: () => (head < ready.length ? Promise.resolve({ done: false, value: one() }) : step(one)),
    batch: () => step(all),
  };
}

function tell({ resolve, reject }: Waiting, end: End): End {
  if ("error" in end) reject(end.error);
  else resolve({ done: true, value: undefined });
  return MET;
}
