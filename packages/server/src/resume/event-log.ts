import { assertLimits } from "@parlance/wire/errors";
import { LOG_LIMITS } from "../limits.js";
import { defer } from "../stream/writer.js";

/** One entry of a stream: its place, counted from 1, and its exact text on the wire. */
export interface Entry {
  readonly seq: number;
  readonly text: string;
}

/** What a log knows of a stream. */
export interface LogState {
  /** Identifies this life of the stream: a cursor of another epoch is invalid. */
  readonly epoch: string;
  /** The first entry that is still held; `last + 1` when none is. */
  readonly first: number;
  readonly last: number;
  /** Nothing more will be appended: it was closed, or its writer is dead. */
  readonly closed: boolean;
}

/** Writes one stream. It holds that stream, not its name: once dropped, it does nothing to a newer stream of the same name. */
export interface EventWriter {
  readonly epoch: string;
  /**
   * Appends entry `seq`, which is one more than the last. Resolves when it is kept; undefined where it is kept at once. The next entry may
   * be appended before that. Rejects when it does not follow the last one, and when the stream is closed, dropped, or taken for dead.
   */
  append(seq: number, text: string): Promise<void> | undefined;
  /**
   * Whether an entry of so many characters can be appended without dropping one that a connected reader still needs. Absent: always. The
   * handler waits meanwhile, for as long as its readers take something.
   */
  hasRoom?(size: number): boolean;
  /** Drops entries up to and with `seq`. */
  trim(seq: number): Promise<void>;
  /**
   * Nothing more will be appended; the entries stay until `drop`. `last` of the state counts entries whose append has failed: readers on
   * other servers find them missing.
   */
  close(): Promise<void>;
  /** Forgets the stream, and frees its name. */
  drop(): Promise<void>;
}

/**
 * Keeps the messages of resumable streams until their readers have them. `memoryLog` keeps them in this process; a log on a database
 * lets a client resume on another server. `testEventLog` is what an implementation must pass.
 */
export interface EventLog {
  /**
   * Begins a stream. Undefined when the name is taken: a stream has one writer. `given` returns the last entry that every connected reader
   * has been given; the later ones are not dropped to make room.
   */
  open(stream: string, given?: () => number): Promise<EventWriter | undefined>;
  state(stream: string): Promise<LogState | undefined>;
  /** Entries after a cursor, oldest first: as many as are held, `limit` at most. */
  read(stream: string, after: number, limit?: number): Promise<readonly Entry[]>;
  /**
   * Entries after a cursor as they come, in batches, each once and in order. Ends after the last one of a closed stream, when the
   * stream is dropped, or when the signal aborts. Rejects when the next entry is no longer held.
   */
  tail(stream: string, after: number, signal: AbortSignal): AsyncIterable<readonly Entry[]>;
  /** Characters held in this process, for `stats()`; absent where they are held elsewhere. */
  size?(): number;
}

export interface MemoryLogOptions {
  /** Characters that are kept of one stream: the newest. @default 4 Mi */
  readonly maxSize?: number | undefined;
  /** Characters that are kept of all streams. Finished streams go first, oldest first, then the oldest entries. @default 128 Mi */
  readonly maxTotal?: number | undefined;
}

interface Held {
  readonly name: string;
  readonly epoch: string;
  /** The texts of the entries up to `last`. An object for each entry would burden the garbage collector. */
  texts: string[];
  last: number;
  size: number;
  closed: boolean;
  readonly waiting: Set<() => void>;
  /** Waiting readers are woken at the end of this tick. */
  waking: boolean;
  /** The last entry that no connected reader needs. */
  readonly given: () => number;
}

/** Keeps streams in this process. */
export function memoryLog(options: MemoryLogOptions = {}): EventLog {
  assertLimits(options, "maxSize", "maxTotal");
  const { maxSize = LOG_LIMITS.maxSize, maxTotal = LOG_LIMITS.maxTotal } = options;
  const store = new MemoryStore({ maxSize, maxTotal });
  return {
    size: () => store.total,
    open: async (stream, given) => store.open(stream, given),
    async state(stream) {
      const held = store.find(stream);
      return held && { epoch: held.epoch, first: firstOf(held), last: held.last, closed: held.closed };
    },
    async read(stream, cursor, limit) {
      const held = store.find(stream);
      return held ? after(held, cursor, limit) : [];
    },
    tail: (stream, cursor, signal) => tail(() => store.find(stream), stream, cursor, signal),
  };
}

/** What is left of a log that is over its size. */
const LEFT = 0.75;

/** The streams of one log, and the characters that they hold. */
class MemoryStore {
  readonly #limits: Required<MemoryLogOptions>;
  /** In the order of their opening. */
  readonly #streams = new Map<string, Held>();
  total = 0;

  constructor(limits: Required<MemoryLogOptions>) {
    this.#limits = limits;
  }

  find(name: string): Held | undefined {
    return this.#streams.get(name);
  }

  open(name: string, given = () => Number.POSITIVE_INFINITY): EventWriter | undefined {
    if (this.#streams.has(name)) return undefined;
    const epoch = crypto.randomUUID().slice(0, 8);
    const held: Held = {
      name,
      epoch,
      texts: [],
      last: 0,
      size: 0,
      closed: false,
      waiting: new Set(),
      waking: false,
      given,
    };
    this.#streams.set(name, held);
    return {
      epoch,
      append: (seq, text) => this.#append(held, seq, text),
      hasRoom: (size) => this.#hasRoom(held, size),
      trim: async (seq) => this.#trim(held, seq),
      async close() {
        held.closed = true;
        wakeReaders(held);
      },
      drop: async () => this.#drop(held),
    };
  }

  #append(held: Held, seq: number, text: string): Promise<void> | undefined {
    if (!this.#holds(held) || held.closed || seq !== held.last + 1)
      return Promise.reject(new Error(`entry ${seq} does not follow ${held.last} in ${held.name}`));
    // Reading a character makes one string of the pieces that the text was joined from: kept for long, each costs the collector.
    text.charCodeAt(0);
    held.texts.push(text);
    held.last = seq;
    held.size += text.length;
    this.total += text.length;
    const { maxSize, maxTotal } = this.#limits;
    // Drops a quarter at once, because each single drop would copy the rest.
    if (held.size > maxSize) this.#shorten(held, maxSize * LEFT, 1);
    if (this.total > maxTotal) this.#shortenAll(held);
    wakeReaders(held);
    return undefined;
  }

  /** A text that is larger than the log has room once its readers have been given everything else. */
  #hasRoom(held: Held, size: number): boolean {
    const { maxSize, maxTotal } = this.#limits;
    if (held.size + size <= maxSize && this.total + size <= maxTotal) return true;
    const needed = sizeAfter(held, held.given());
    if (needed === 0) return true;
    if (needed + size > maxSize * LEFT) return false;
    if (this.total + size > maxTotal) this.#shortenAll(held);
    return this.total + size <= maxTotal;
  }

  #trim(held: Held, seq: number): void {
    const kept = held.texts.slice(Math.max(0, seq + 1 - firstOf(held)));
    const size = kept.reduce((sum, { length }) => sum + length, 0);
    if (this.#holds(held)) this.total -= held.size - size;
    held.texts = kept;
    held.size = size;
  }

  #drop(held: Held): void {
    if (!this.#holds(held)) return;
    this.#streams.delete(held.name);
    this.total -= held.size;
    wakeReaders(held);
  }

  /** Whether a stream is neither dropped nor replaced by a newer one of its name. */
  #holds(held: Held): boolean {
    return this.#streams.get(held.name) === held;
  }

  /** Drops the oldest entries until no more than `size` characters are left, but keeps the newest `least`, and those that a reader needs. */
  #shorten(held: Held, size: number, least: number): void {
    let dropped = 0;
    let left = held.size;
    const droppable = Math.min(held.texts.length - least, held.given() + 1 - firstOf(held));
    while (dropped < droppable && left > size) left -= held.texts[dropped++]!.length;
    if (dropped === 0) return;
    this.total -= held.size - left;
    held.size = left;
    held.texts = held.texts.slice(dropped);
  }

  /** Frees a quarter at once, because making room for each entry would walk all streams each time. */
  #shortenAll(newest: Held): void {
    const others = [...this.#streams.values()].filter((held) => held !== newest);
    const finished = others.filter(({ closed }) => closed);
    const running = others.filter(({ closed }) => !closed);
    for (const held of [...finished, ...running, newest]) {
      const surplus = this.total - this.#limits.maxTotal * LEFT;
      if (surplus <= 0) return;
      this.#shorten(held, held.size - surplus, held === newest ? 1 : 0);
    }
  }
}

function firstOf({ texts, last }: Held): number {
  return last + 1 - texts.length;
}

/** Characters of the entries after a place. */
function sizeAfter(held: Held, seq: number): number {
  let size = 0;
  for (let i = Math.max(0, seq + 1 - firstOf(held)); i < held.texts.length; i++) size += held.texts[i]!.length;
  return size;
}

function after(held: Held, cursor: number, limit = Number.POSITIVE_INFINITY): Entry[] {
  const first = Math.max(cursor + 1, firstOf(held));
  const from = first - firstOf(held);
  return held.texts.slice(from, from + limit).map((text, i) => ({ seq: first + i, text }));
}

/** Wakes readers once a tick, so that all entries of a tick are read as one batch. */
function wakeReaders(held: Held): void {
  if (held.waking || held.waiting.size === 0) return;
  held.waking = true;
  defer(() => {
    held.waking = false;
    for (const wake of held.waiting) wake();
  });
}

async function* tail(
  find: () => Held | undefined,
  stream: string,
  cursor: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  const held = find();
  if (!held) return;
  let at = cursor;
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      // Dropped, or a newer stream has the name.
      if (find() !== held) return;
      const entries = after(held, at);
      const first = entries[0]?.seq ?? held.last + 1;
      if (first > at + 1) throw new Error(`entries ${at + 1} to ${first - 1} of ${stream} are gone`);
      if (entries.length > 0) {
        at = entries.at(-1)!.seq;
        yield entries;
      } else if (held.closed) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          held.waiting.add(wake);
        });
        held.waiting.delete(wake);
      }
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
