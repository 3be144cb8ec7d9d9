import type { Entry, EventLog, LogState } from "@parlance/server";
import { ears, type RedisClient, script } from "./client.js";
import { APPEND, CLOSE, DROP, OPEN, REFRESH, STATE, TRIM } from "./scripts.js";

export interface RedisLogOptions {
  /** A client of ioredis. It is used, not closed; a second connection is made from it to listen on. */
  readonly redis: RedisClient;
  /** In front of every key and channel: `parlance:` unless told. */
  readonly prefix?: string;
  /** Entries of a stream that are kept, give or take a node of Redis's (100): 30,000 unless told. */
  readonly maxLength?: number;
  /** Milliseconds after which a writer that gives no sign of life is taken for dead, and its stream for closed: 10,000 unless told. */
  readonly lease?: number;
  /** Milliseconds that a stream outlives its writer: 300,000 unless told. */
  readonly keep?: number;
}

export interface RedisLog extends EventLog {
  /** Lets go of the connection that listens and of the leases. The client that was passed stays open. */
  stop(): void;
}

/** Entries of one read by a tail, or of one batch. */
const PAGE = 1000;
/** Characters that a tail holds for a reader who is slower than Redis; what is above is read again. */
const HELD = 1024 * 1024;

interface Written {
  readonly epoch: string;
  last: number;
  closed: boolean;
  failed: boolean;
  /** Entries that are not yet on their way. */
  readonly queue: string[];
  /** Settles when the queue is empty; rejected, it stays. */
  flushing?: Promise<void> | undefined;
}

/**
 * Streams in Redis: each a Redis Stream with ids `<seq>-0`, a hash (epoch, last, closed) and a lease. Everything expires by itself.
 * Redis is asked once for all entries that were appended while it was busy with the last ones.
 */
export function redisLog({
  redis,
  prefix = "parlance:",
  maxLength = 30_000,
  lease = 10_000,
  keep = 300_000,
}: RedisLogOptions): RedisLog {
  const listening = ears(redis);
  const written = new Map<string, Written>();
  const open = script(redis, "parlanceOpen", 2, OPEN);
  const append = script(redis, "parlanceAppend", 3, APPEND);
  const refresh = script(redis, "parlanceRefresh", 3, REFRESH);
  const close = script(redis, "parlanceClose", 2, CLOSE);
  const drop = script(redis, "parlanceDrop", 3, DROP);
  const trim = script(redis, "parlanceTrim", 1, TRIM);
  const look = script(redis, "parlanceState", 3, STATE);
  let refreshing: ReturnType<typeof setInterval> | undefined;

  // The braces put what belongs to one stream on one node of a cluster.
  const hash = (stream: string) => `${prefix}{${stream}}`;
  const keys = (stream: string) => [hash(stream), `${hash(stream)}:lease`, `${hash(stream)}:entries`] as const;
  const channel = (stream: string) => `${hash(stream)}:wake`;

  function stopRefreshing(): void {
    clearInterval(refreshing);
    refreshing = undefined;
  }

  function keepAlive(): void {
    // A refresh that fails is tried again; one too late finds the lease gone, which the next append is told.
    for (const [stream, { epoch, failed }] of written)
      if (!failed) refresh(...keys(stream), epoch, lease, keep).catch(() => {});
  }

  /** Sends what is queued, batch after batch, one at a time: so the order holds whatever is sent again. */
  async function flush(stream: string, into: Written): Promise<void> {
    while (into.queue.length > 0) {
      const first = into.last - into.queue.length + 1;
      const texts = into.queue.splice(0, PAGE);
      const done = await append(...keys(stream), into.epoch, keep, maxLength, channel(stream), first, ...texts);
      if (done !== 1) throw new Error(`the lease of ${stream} is lost: entry ${first} is not written`);
    }
    into.flushing = undefined;
  }

  /** What cannot be written leaves a hole: its lease runs out, so that readers everywhere hear that no more comes. */
  function write(stream: string, into: Written): Promise<void> {
    return flush(stream, into).catch((error) => {
      into.failed = true;
      throw error;
    });
  }

  async function state(stream: string): Promise<LogState | undefined> {
    const found = (await look(...keys(stream))) as [string, string, string, number] | null;
    if (!found) return undefined;
    const [epoch, first, last, closed] = found;
    return { epoch, first: first === "" ? Number(last) + 1 : seqOf(first), last: Number(last), closed: closed === 1 };
  }

  async function read(stream: string, after: number, limit = Number.MAX_SAFE_INTEGER): Promise<Entry[]> {
    const found = await redis.xrange(keys(stream)[2], `(${after}-0`, "+", "COUNT", limit);
    return found.map(([id, [, text]]) => ({ seq: seqOf(id), text: text! }));
  }

  return {
    async open(stream) {
      const epoch = crypto.randomUUID().slice(0, 8);
      const [held, leased] = keys(stream);
      if ((await open(held, leased, epoch, lease, keep)) !== 1) return undefined;
      written.set(stream, { epoch, last: 0, closed: false, failed: false, queue: [] });
      refreshing ??= setInterval(keepAlive, lease / 3);
      (refreshing as { unref?: () => void }).unref?.();
      return { epoch };
    },
    state,
    read,
    append(stream, seq, text) {
      const into = written.get(stream);
      if (!into || into.closed || seq !== into.last + 1)
        return Promise.reject(new Error(`entry ${seq} does not follow ${into?.last ?? "anything"} in ${stream}`));
      into.last = seq;
      into.queue.push(text);
      into.flushing ??= write(stream, into);
      return into.flushing;
    },
    async *tail(stream, cursor, signal) {
      let at = cursor;
      let sure = false;
      let size = 0;
      let heard: Entry[] = [];
      let wake = () => {};
      const doubt = () => {
        heard = [];
        size = 0;
        sure = false;
        wake();
      };
      const onAbort = () => wake();
      signal.addEventListener("abort", onAbort, { once: true });
      const leave = await listening.listen(channel(stream), {
        missed: doubt,
        hear(text) {
          size += text.length;
          if (text === "" || size > HELD) return doubt();
          const [first, ...texts] = JSON.parse(text) as string[];
          for (const [i, text] of texts.entries()) heard.push({ seq: Number(first) + i, text });
          wake();
        },
      });
      try {
        while (!signal.aborted) {
          const pushed = heard.filter(({ seq }) => seq > at);
          heard = [];
          size = 0;
          const next = pushed.findIndex(({ seq }, i) => seq !== at + 1 + i);
          const following = next < 0 ? pushed : pushed.slice(0, next);
          if (next >= 0) sure = false;
          if (following.length > 0) {
            at = following.at(-1)!.seq;
            yield following;
            continue;
          }
          if (!sure) {
            sure = true;
            const [known, entries] = await Promise.all([state(stream), read(stream, at, PAGE)]);
            if (!known) return;
            const first = entries[0]?.seq ?? known.first;
            if (first > at + 1) throw new Error(`entries ${at + 1} to ${first - 1} of ${stream} are gone`);
            if (entries.length > 0) {
              at = entries.at(-1)!.seq;
              sure = false;
              yield entries;
            } else if (known.closed) return;
            continue;
          }
          await new Promise<void>((resolve) => {
            // A writer that was killed says nothing: its lease has to be looked at.
            const timer = setTimeout(doubt, lease / 2);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
      } finally {
        signal.removeEventListener("abort", onAbort);
        leave();
      }
    },
    async trim(stream, seq) {
      await written.get(stream)?.flushing;
      await trim(keys(stream)[2], seq + 1);
    },
    async close(stream) {
      const into = written.get(stream);
      if (into) into.closed = true;
      await into?.flushing?.catch(() => {});
      const [held, leased] = keys(stream);
      await close(held, leased, channel(stream));
    },
    async drop(stream) {
      const into = written.get(stream);
      written.delete(stream);
      if (written.size === 0) stopRefreshing();
      await into?.flushing?.catch(() => {});
      await drop(...keys(stream), channel(stream));
    },
    stop() {
      stopRefreshing();
      listening.stop();
    },
  };
}

function seqOf(id: string): number {
  return Number(id.slice(0, id.indexOf("-")));
}
