import { Disconnected } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { EventLog } from "./event-log.js";
import type { Run } from "./run.js";

/** One reader of a resumable stream. */
export interface Reading {
  readonly name: string;
  /** Undefined for a stream of another server. */
  readonly run: Run | undefined;
  readonly reader: Scope;
  taken: number;
  /** Whether it has asked for more. */
  waiting: boolean;
  /** Checks in a row that found it waiting for entries that were written. */
  late: number;
  /** The last entry of another server's stream, as far as the log has said; infinite where the stream is over, or the log does not say. */
  last: number;
  asking: boolean;
}

/** Watches readers until their scopes close. A log whose tail gives nothing although entries were written ends its readers. */
export function watchReaders(
  { limits, root, callbacks }: Pick<Context, "limits" | "root" | "callbacks">,
  log: EventLog,
): (reading: Reading) => void {
  const readings = new Set<Reading>();
  let stopChecking = () => {};

  // One timer serves all.
  function check(): void {
    for (const reading of readings) {
      const { run, waiting, taken, reader } = reading;
      reading.late = waiting && writtenOf(reading) > taken ? reading.late + 1 : 0;
      if (!run && waiting) void ask(reading);
      if (reading.late <= 2) continue;
      const error = new Disconnected(`the event log gave nothing for ${limits.storeWithin} ms`, {
        code: "timeout",
        retryable: true,
      });
      callbacks.report(error, "log", run?.called.operation);
      reader.close(error);
    }
  }

  /** Asks the log how far another server's stream is. */
  async function ask(reading: Reading): Promise<void> {
    if (reading.asking) return;
    reading.asking = true;
    const { name, reader } = reading;
    const unknown = Number.POSITIVE_INFINITY;
    reading.last = await within(reader, limits.storeWithin, "the event log", () => log.state(name)).then(
      (state) => (state && !state.closed ? state.last : unknown),
      () => unknown,
    );
    reading.asking = false;
  }

  return function watch(reading: Reading): void {
    if (readings.size === 0) stopChecking = root.interval(Math.max(1, limits.storeWithin / 2), check);
    readings.add(reading);
    reading.reader.add(() => {
      readings.delete(reading);
      if (readings.size === 0) stopChecking();
    });
  };
}

/** The last entry that was written. A stream that is over has its end still to come. */
function writtenOf({ run, last }: Reading): number {
  if (!run) return last;
  return run.handler.closed ? Number.POSITIVE_INFINITY : run.last;
}
