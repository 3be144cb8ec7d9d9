import type { EventWriter } from "@parlance/server/resume";
import type { Calls } from "./calls.js";
import { RedisStoreError } from "./error.js";
import type { StreamScripts } from "./streams.js";
import { Writer } from "./writer.js";

export interface WritersOptions {
  readonly calls: Calls;
  readonly scripts: StreamScripts;
  /** Milliseconds. */
  readonly lease: number;
  readonly maxLength: number;
}

/** The streams that one log writes, and the timer that refreshes their leases. */
export interface Writers {
  open(stream: string, given?: () => number): Promise<EventWriter | undefined>;
  /** Streams that are written. */
  count(): number;
  stop(): void;
}

export function makeWriters({ calls, scripts, lease, maxLength }: WritersOptions): Writers {
  const writers = new Set<Writer>();
  let cancelRefresh: (() => void) | undefined;

  function scheduleRefresh(): void {
    cancelRefresh ??= calls.after(lease / 3, () => {
      cancelRefresh = undefined;
      for (const writer of writers) void writer.refresh();
      scheduleRefresh();
    });
  }

  function remove(writer: Writer): void {
    writers.delete(writer);
    if (writers.size > 0) return;
    cancelRefresh?.();
    cancelRefresh = undefined;
  }

  return {
    async open(stream, given = () => Number.POSITIVE_INFINITY) {
      const epoch = crypto.randomUUID().slice(0, 8);
      if (!(await scripts.open(stream, epoch))) return undefined;
      if (calls.stopped) throw stopError(stream);
      const writer: Writer = new Writer({
        calls,
        scripts,
        stream,
        epoch,
        maxLength,
        given,
        onEnd: () => remove(writer),
      });
      writers.add(writer);
      scheduleRefresh();
      return writer.handle;
    },
    count: () => writers.size,
    stop() {
      for (const writer of writers) writer.fail(stopError(writer.stream));
    },
  };
}

function stopError(stream: string): RedisStoreError {
  return new RedisStoreError("stopped", `${stream} is not written: stop() was called`);
}
