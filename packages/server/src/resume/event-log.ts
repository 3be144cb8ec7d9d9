import { defer } from "./defer.js";

/** One entry of a stream: its place, counted from 1, and its exact text on the wire. */
export interface Entry {
  readonly seq: number;
  readonly text: string;
}

/** What a log knows of a stream. */
export interface LogState {
  /** Names this run of the stream: a cursor of another epoch leads nowhere. */
  readonly epoch: string;
  /** The first entry that is still held; `last + 1` when none is. */
  readonly first: number;
  readonly last: number;
  /** Nothing more will be appended: it was closed, or its writer is dead. */
  readonly closed: boolean;
}

/**
 * Where the messages of resumable streams are kept until their readers have them. `memoryLog` keeps them in this process;
 * a log on a database lets a client resume on another server. `testEventLog` is what an implementation must pass.
 */
export interface EventLog {
  /** Begins a stream. Undefined when the name is taken: a stream has one writer, the log that opened it. */
  open(stream: string): Promise<{ readonly epoch: string } | undefined>;
  state(stream: string): Promise<LogState | undefined>;
  /**
   * Appends entry `seq`, which is one more than the last. Resolves when it is kept, which may be at once; the next entry may be appended
   * before that. Rejects when it does not follow the last one, or when this log has not opened the stream, has closed it, or was
   * taken for dead.
   */
  append(stream: string, seq: number, text: string): Promise<void> | undefined;
  /** Entries after a cursor, oldest first: as many as are held, `limit` at most. */
  read(stream: string, after: number, limit?: number): Promise<readonly Entry[]>;
  /**
   * Entries after a cursor as they come, in batches, each once and in order. Ends after the last one of a closed stream, when the
   * stream is dropped, or when the signal aborts. Rejects when the next entry is no longer held.
   */
  tail(stream: string, after: number, signal: AbortSignal): AsyncIterable<readonly Entry[]>;
  /** Drops entries up to and with `seq`. */
  trim(stream: string, seq: number): Promise<void>;
  /** Nothing more will be appended; the entries stay until `drop`. */
  close(stream: string): Promise<void>;
  drop(stream: string): Promise<void>;
}

interface Held {
  readonly epoch: string;
  entries: Entry[];
  last: number;
  size: number;
  closed: boolean;
  readonly waiting: Set<() => void>;
  /** Who waits is woken at the end of this tick. */
  rousing: boolean;
}

/** Keeps streams in this process: the newest `maxSize` characters of each (4 Mi unless told). */
export function memoryLog({ maxSize = 4 * 1024 * 1024 }: { readonly maxSize?: number } = {}): EventLog {
  const streams = new Map<string, Held>();

  /** Once a tick, so that what is said within it is read as one batch. */
  function rouse(held: Held): void {
    if (held.rousing || held.waiting.size === 0) return;
    held.rousing = true;
    defer(() => {
      held.rousing = false;
      for (const wake of held.waiting) wake();
    });
  }

  function after(held: Held, cursor: number, limit = Number.POSITIVE_INFINITY): Entry[] {
    const first = held.entries[0]?.seq ?? held.last + 1;
    const from = Math.max(0, cursor + 1 - first);
    return held.entries.slice(from, from + limit);
  }

  /** Drops the oldest entries until no more than `size` characters are left; the newest entry always stays. */
  function shorten(held: Held, size: number): void {
    let dropped = 0;
    while (dropped < held.entries.length - 1 && held.size > size) held.size -= held.entries[dropped++]!.text.length;
    if (dropped > 0) held.entries = held.entries.slice(dropped);
  }

  return {
    async open(stream) {
      if (streams.has(stream)) return undefined;
      const epoch = crypto.randomUUID().slice(0, 8);
      streams.set(stream, { epoch, entries: [], last: 0, size: 0, closed: false, waiting: new Set(), rousing: false });
      return { epoch };
    },
    async state(stream) {
      const held = streams.get(stream);
      return (
        held && {
          epoch: held.epoch,
          first: held.entries[0]?.seq ?? held.last + 1,
          last: held.last,
          closed: held.closed,
        }
      );
    },
    append(stream, seq, text) {
      const held = streams.get(stream);
      if (!held || held.closed || seq !== held.last + 1)
        return Promise.reject(new Error(`entry ${seq} does not follow ${held?.last ?? "anything"} in ${stream}`));
      // Reading a character makes one string of the pieces that the text was joined from: kept for long, each costs the collector.
      text.charCodeAt(0);
      held.entries.push({ seq, text });
      held.last = seq;
      held.size += text.length;
      // Dropping one by one would copy the rest each time: a quarter goes at once.
      if (held.size > maxSize) shorten(held, maxSize * 0.75);
      rouse(held);
      return undefined;
    },
    async read(stream, cursor, limit) {
      const held = streams.get(stream);
      return held ? after(held, cursor, limit) : [];
    },
    async *tail(stream, cursor, signal) {
      let at = cursor;
      let wake = () => {};
      const onAbort = () => wake();
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        while (!signal.aborted) {
          const held = streams.get(stream);
          if (!held) return;
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
    },
    async trim(stream, seq) {
      const held = streams.get(stream);
      if (!held) return;
      held.entries = held.entries.filter((entry) => entry.seq > seq);
      held.size = held.entries.reduce((size, { text }) => size + text.length, 0);
    },
    async close(stream) {
      const held = streams.get(stream);
      if (!held) return;
      held.closed = true;
      rouse(held);
    },
    async drop(stream) {
      const held = streams.get(stream);
      streams.delete(stream);
      if (held) rouse(held);
    },
  };
}
