import { type Batch, makeBatch } from "./batch.js";
import { RedisStoreError } from "./error.js";
import { DONE, LEASE_LOST } from "./scripts.js";
import type { StreamScripts } from "./streams.js";

/** One stream that this log writes. */
export interface Writer {
  readonly stream: string;
  readonly epoch: string;
  append(seq: number, text: string): Promise<void>;
  /** Extends the lease. */
  refresh(): Promise<void>;
  /** Takes no more entries. Resolves once those on their way are settled. */
  finish(): Promise<void>;
  /** Resolves once the entries on their way are settled. */
  drain(): Promise<void>;
  /** Rejects what is not acknowledged. Nothing is written any more, because it would leave a hole. */
  fail(error: RedisStoreError): void;
}

/** `onFailed` is called when Redis does not take an entry, or the lease is lost. */
export function makeWriter(
  scripts: StreamScripts,
  stream: string,
  epoch: string,
  onFailed: (error: RedisStoreError) => void,
): Writer {
  /** Entries that are not acknowledged, oldest first. Only the first batch may be on its way. */
  const batches: Batch[] = [];
  let last = 0;
  let closed = false;
  let flushing = false;
  let refreshing = false;

  function fail(error: RedisStoreError): void {
    closed = true;
    for (const batch of batches.splice(0)) batch.reject(error);
  }

  function lose(error: RedisStoreError): void {
    onFailed(error);
    fail(error);
  }

  /** Sends batch after batch, one at a time: so the order holds although a call may be repeated. */
  async function flush(): Promise<void> {
    flushing = true;
    for (let batch = batches[0]; batch; batch = batches[0]) {
      batch.sent = true;
      try {
        const done = await scripts.append(stream, epoch, batch.first, batch.texts);
        if (done !== DONE) throw lost(stream, done, batch.first);
        batches.shift();
        batch.resolve();
      } catch (error) {
        lose(error as RedisStoreError);
      }
    }
    flushing = false;
  }

  const drain = async () => {
    await batches.at(-1)?.done.catch(() => {});
  };

  return {
    stream,
    epoch,
    append(seq, text) {
      if (closed || seq !== last + 1)
        return Promise.reject(notWriter(stream, seq, closed ? "is closed" : `has ${last} as its last entry`));
      last = seq;
      let batch = batches.at(-1);
      if (!batch?.take(text)) {
        batch = makeBatch(seq, text);
        batches.push(batch);
      }
      if (!flushing) void flush();
      return batch.done;
    },
    async refresh() {
      // Not twice at a time, so that a Redis that hangs does not collect them.
      if (refreshing) return;
      refreshing = true;
      const done = await scripts.refresh(stream, epoch).catch(() => DONE);
      refreshing = false;
      if (done !== DONE) lose(lost(stream, done, last + 1));
    },
    finish() {
      closed = true;
      return drain();
    },
    drain,
    fail,
  };
}

export function notWriter(stream: string, seq: number, why: string): RedisStoreError {
  return new RedisStoreError("not_writer", `entry ${seq} is not written: ${stream} ${why}`);
}

function lost(stream: string, done: unknown, first: number): RedisStoreError {
  return done === LEASE_LOST
    ? new RedisStoreError("lease_lost", `the lease of ${stream} is lost: entry ${first} is not written`)
    : new RedisStoreError("entries_lost", `Redis has lost entries of ${stream}: entry ${first} is not written`);
}
