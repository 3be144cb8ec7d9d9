import { type Batch, makeBatch } from "./batch.js";
import type { Calls } from "./calls.js";
import { RedisStoreError } from "./error.js";
import { DONE, LEASE_LOST } from "./scripts.js";
import type { StreamScripts } from "./streams.js";

interface Writer {
  readonly stream: string;
  readonly epoch: string;
  last: number;
  closing: boolean;
  /** Entries that are not acknowledged, oldest first. Only the first batch may be on its way. */
  readonly batches: Batch[];
  flushing: boolean;
  refreshing: boolean;
}

/** A stream that was written and is not dropped. Its epoch guards a newer stream of the same name against `close` and `drop`. */
interface Ended {
  readonly epoch: string;
  readonly at: number;
  readonly error: RedisStoreError | undefined;
}

export interface WritersOptions {
  readonly calls: Calls;
  readonly scripts: StreamScripts;
  /** Milliseconds. */
  readonly lease: number;
  readonly keep: number;
}

/** The streams that one log writes: their queues, and their leases. */
export interface Writers {
  open(stream: string): Promise<{ readonly epoch: string } | undefined>;
  append(stream: string, seq: number, text: string): Promise<void>;
  trim(stream: string, seq: number): Promise<void>;
  close(stream: string): Promise<void>;
  drop(stream: string): Promise<void>;
  /** Streams that are written. */
  count(): number;
  /** Streams that are closed and not dropped. */
  ended(): number;
  stop(): void;
}

export function makeWriters({ calls, scripts, lease, keep }: WritersOptions): Writers {
  const written = new Map<string, Writer>();
  const ended = new Map<string, Ended>();
  let cancelRefresh: (() => void) | undefined;

  function scheduleRefresh(): void {
    cancelRefresh ??= calls.after(lease / 3, () => {
      cancelRefresh = undefined;
      for (const writer of written.values()) if (!writer.refreshing) void refresh(writer);
      if (written.size > 0) scheduleRefresh();
    });
  }

  /** Nobody waits for it, and it is not sent twice at a time, so that a Redis that hangs does not collect them. */
  async function refresh(writer: Writer): Promise<void> {
    writer.refreshing = true;
    const done = await scripts.refresh(writer.stream, writer.epoch).catch(() => DONE);
    writer.refreshing = false;
    if (done !== DONE) fail(writer, lost(writer.stream, done, writer.last + 1));
  }

  function end(writer: Writer, error?: RedisStoreError): void {
    if (written.get(writer.stream) !== writer) return;
    written.delete(writer.stream);
    ended.set(writer.stream, { epoch: writer.epoch, at: performance.now(), error });
    if (written.size > 0) return;
    cancelRefresh?.();
    cancelRefresh = undefined;
  }

  /** What cannot be written leaves a hole, so nothing is written after it. */
  function fail(writer: Writer, error: RedisStoreError): void {
    writer.closing = true;
    end(writer, error);
    for (const batch of writer.batches.splice(0)) batch.reject(error);
  }

  /** Sends batch after batch, one at a time: so the order holds although a call may be repeated. */
  async function flush(writer: Writer): Promise<void> {
    writer.flushing = true;
    for (let batch = writer.batches[0]; batch; batch = writer.batches[0]) {
      const { first, texts, resolve } = batch;
      batch.sent = true;
      try {
        const done = await scripts.append(writer.stream, writer.epoch, first, texts);
        if (done !== DONE) throw lost(writer.stream, done, first);
        writer.batches.shift();
        resolve();
      } catch (error) {
        fail(writer, error as RedisStoreError);
      }
    }
    writer.flushing = false;
  }

  /** Resolves once nothing of a stream is on its way. */
  async function drain(writer: Writer | undefined): Promise<void> {
    await writer?.batches.at(-1)?.done.catch(() => {});
    if (writer && calls.stopped) throw stopError(writer.stream);
  }

  /** What Redis has forgotten by now cannot be dropped any more. */
  function forgetExpired(): void {
    for (const [stream, { at }] of ended) {
      if (performance.now() - at < keep) return;
      ended.delete(stream);
    }
  }

  return {
    async open(stream) {
      forgetExpired();
      const epoch = crypto.randomUUID().slice(0, 8);
      if (!(await scripts.open(stream, epoch))) return undefined;
      if (calls.stopped) throw stopError(stream);
      ended.delete(stream);
      written.set(stream, {
        stream,
        epoch,
        last: 0,
        closing: false,
        batches: [],
        flushing: false,
        refreshing: false,
      });
      scheduleRefresh();
      return { epoch };
    },
    append(stream, seq, text) {
      const writer = written.get(stream);
      if (!writer || writer.closing || seq !== writer.last + 1) return Promise.reject(refuse(stream, seq, writer));
      writer.last = seq;
      let batch = writer.batches.at(-1);
      if (!batch?.take(text)) {
        batch = makeBatch(seq, text);
        writer.batches.push(batch);
      }
      if (!writer.flushing) void flush(writer);
      return batch.done;
    },
    async trim(stream, seq) {
      const writer = written.get(stream);
      await drain(writer);
      const epoch = (writer ?? ended.get(stream))?.epoch;
      if (epoch) await scripts.trim(stream, epoch, seq);
    },
    async close(stream) {
      const writer = written.get(stream);
      if (writer) {
        writer.closing = true;
        await drain(writer);
        end(writer);
      }
      const epoch = (writer ?? ended.get(stream))?.epoch;
      if (epoch) await scripts.close(stream, epoch);
    },
    async drop(stream) {
      const writer = written.get(stream);
      if (writer) {
        writer.closing = true;
        await drain(writer);
        end(writer);
      }
      const found = ended.get(stream);
      if (!found) return;
      await scripts.drop(stream, found.epoch);
      if (ended.get(stream) === found) ended.delete(stream);
    },
    count: () => written.size,
    ended: () => ended.size,
    stop() {
      cancelRefresh?.();
      cancelRefresh = undefined;
      for (const writer of [...written.values()])
        fail(writer, new RedisStoreError("stopped", `${writer.stream} is not written: stop() was called`));
      ended.clear();
    },
  };

  function refuse(stream: string, seq: number, writer: Writer | undefined): RedisStoreError {
    const failed = writer ? undefined : ended.get(stream)?.error;
    if (failed) return new RedisStoreError(failed.code, failed.message, { cause: failed });
    const why =
      writer?.closing || ended.has(stream)
        ? "is closed"
        : writer
          ? `has ${writer.last} as its last entry`
          : "was not opened by this log";
    return new RedisStoreError("not_writer", `entry ${seq} is not written: ${stream} ${why}`);
  }
}

function stopError(stream: string): RedisStoreError {
  return new RedisStoreError("stopped", `${stream} is not written: stop() was called`);
}

function lost(stream: string, done: unknown, first: number): RedisStoreError {
  return done === LEASE_LOST
    ? new RedisStoreError("lease_lost", `the lease of ${stream} is lost: entry ${first} is not written`)
    : new RedisStoreError("entries_lost", `Redis has lost entries of ${stream}: entry ${first} is not written`);
}
