import type { Calls } from "./calls.js";
import { type Ended, makeEnded } from "./ended.js";
import { RedisStoreError } from "./error.js";
import type { StreamScripts } from "./streams.js";
import { makeWriter, notWriter, type Writer } from "./writer.js";

export interface WritersOptions {
  readonly calls: Calls;
  readonly scripts: StreamScripts;
  /** Milliseconds. */
  readonly lease: number;
  readonly keep: number;
}

/** The streams that one log writes, and their leases. */
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
  const ended = makeEnded(keep);
  let cancelRefresh: (() => void) | undefined;

  function scheduleRefresh(): void {
    cancelRefresh ??= calls.after(lease / 3, () => {
      cancelRefresh = undefined;
      for (const writer of written.values()) void writer.refresh();
      if (written.size > 0) scheduleRefresh();
    });
  }

  function stopRefresh(): void {
    cancelRefresh?.();
    cancelRefresh = undefined;
  }

  function end(writer: Writer, error?: RedisStoreError): void {
    if (written.get(writer.stream) !== writer) return;
    written.delete(writer.stream);
    ended.add(writer.stream, writer.epoch, error);
    if (written.size === 0) stopRefresh();
  }

  /** Ends a stream after its last entry. Returns the epoch of the run that this log has opened. */
  async function finish(stream: string): Promise<string | undefined> {
    const writer = written.get(stream);
    if (!writer) return ended.get(stream)?.epoch;
    await writer.finish();
    if (calls.stopped) throw stopError(stream);
    end(writer);
    return writer.epoch;
  }

  return {
    async open(stream) {
      const epoch = crypto.randomUUID().slice(0, 8);
      if (!(await scripts.open(stream, epoch))) return undefined;
      if (calls.stopped) throw stopError(stream);
      ended.delete(stream);
      const writer: Writer = makeWriter(scripts, stream, epoch, (error) => end(writer, error));
      written.set(stream, writer);
      scheduleRefresh();
      return { epoch };
    },
    append(stream, seq, text) {
      const writer = written.get(stream);
      return writer ? writer.append(seq, text) : Promise.reject(refuse(stream, seq, ended.get(stream)));
    },
    async trim(stream, seq) {
      const writer = written.get(stream);
      await writer?.drain();
      if (writer && calls.stopped) throw stopError(stream);
      const epoch = (writer ?? ended.get(stream))?.epoch;
      if (epoch) await scripts.trim(stream, epoch, seq);
    },
    async close(stream) {
      const epoch = await finish(stream);
      if (epoch) await scripts.close(stream, epoch);
    },
    async drop(stream) {
      const epoch = await finish(stream);
      if (!epoch) return;
      await scripts.drop(stream, epoch);
      if (ended.get(stream)?.epoch === epoch) ended.delete(stream);
    },
    count: () => written.size,
    ended: ended.count,
    stop() {
      stopRefresh();
      for (const writer of written.values()) writer.fail(stopError(writer.stream));
      written.clear();
      ended.clear();
    },
  };
}

/** The error of an entry for a stream that is not written. */
function refuse(stream: string, seq: number, ended: Ended | undefined): RedisStoreError {
  if (!ended?.error) return notWriter(stream, seq, ended ? "is closed" : "was not opened by this log");
  return new RedisStoreError(ended.error.code, ended.error.message, { cause: ended.error });
}

function stopError(stream: string): RedisStoreError {
  return new RedisStoreError("stopped", `${stream} is not written: stop() was called`);
}
