import { Disconnected } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import { invoke } from "../callback.js";
import type { BlockSource, Push } from "../stream/writer.js";
import type { Entry, EventLog } from "./event-log.js";
import type { RemoteStreams, Run } from "./run.js";

/** Reads resumable streams from the log, one iterator a reader. */
export interface Readers {
  /** The stream after a place, until the reader's scope closes. `run` is absent for a stream of another server. */
  read(run: Run | undefined, name: string, after: number, reader: Scope): BlockSource;
  /** A reader of the run has everything up to a place. */
  advance(run: Run, seq: number): void;
}

interface Reading {
  readonly name: string;
  /** Undefined for a stream of another server. */
  readonly run: Run | undefined;
  readonly reader: Scope;
  taken: number;
  /** It has asked for more. */
  waiting: boolean;
  /** Checks in a row that found it waiting for entries that were written. */
  late: number;
  /** The last entry of another server's stream, as far as the log has said; infinite where the stream is over, or the log does not say. */
  last: number;
  asking: boolean;
}

export function readers(
  { limits, root, callbacks }: Context,
  log: EventLog,
  remote: RemoteStreams | undefined,
): Readers {
  const readings = new Set<Reading>();
  let stopChecking = () => {};

  /** A log whose tail stands still although entries were written ends its readers. One timer serves all. */
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

  /** How far another server's stream is, only its log knows. */
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

  function watch(reading: Reading): void {
    if (readings.size === 0) stopChecking = root.interval(Math.max(1, limits.storeWithin / 2), check);
    readings.add(reading);
    reading.reader.add(() => {
      readings.delete(reading);
      if (readings.size === 0) stopChecking();
    });
  }

  function advance(run: Run, seq: number): void {
    if (seq > run.delivered) {
      for (const size of run.sizes.splice(0, seq - run.delivered)) run.ahead -= size;
      run.delivered = seq;
      run.production?.delivered(seq);
    }
    run.wake();
  }

  return {
    advance,
    read(run, name, after, reader) {
      const reading = { name, run, reader, taken: after, waiting: false, late: 0, last: 0, asking: false };
      watch(reading);
      const reach = run ? (seq: number) => advance(run, seq) : remote?.report(name, after, reader);
      const failed = (error: unknown) => callbacks.report(error, "log", run?.called.operation);
      const step = tailOf(log, name, reader, failed);
      let push: Push | undefined;
      // An iterator by hand, as in stream/produce.ts: every message goes this way.
      return {
        onPush(use) {
          push = use;
        },
        async next() {
          // The reader has taken what it had, or it would not ask for more.
          if (reading.taken > after) reach?.(reading.taken);
          if (run && push && isLive(run, reading.taken)) {
            await live(run, reading, push);
            return { done: false, value: NOTHING };
          }
          reading.waiting = true;
          const { done, value: entries } = await step(reading.taken);
          if (done) return { done, value: undefined };
          reading.taken = entries.at(-1)!.seq;
          reading.waiting = false;
          reading.late = 0;
          return { done: false, value: entries.map(({ text }) => text) };
        },
      };
    },
  };
}

const NOTHING: readonly string[] = [];

/** Whether a reader has everything that is written, and the log does not delay what is to come. */
function isLive(run: Run, taken: number): boolean {
  return run.keepsAtOnce && taken === run.last && !run.handler.closed;
}

/** Takes messages as they are written, until the stream is over, the reader is closed, or has no room. */
function live(run: Run, reading: Reading, push: Push): Promise<void> {
  return new Promise((resolve) => {
    let stops: (() => void)[] = [];
    const taking = {
      take(blocks: readonly string[], last: number): boolean {
        if (!push(blocks)) return false;
        reading.taken = last;
        return true;
      },
      detach(): void {
        if (!run.live.delete(taking)) return;
        for (const stop of stops) stop();
        resolve();
      },
    };
    run.live.add(taking);
    stops = [run.handler.hold(taking.detach), reading.reader.hold(taking.detach)];
  });
}

/** The last entry that was written. A stream that is over has its end still to come. */
function writtenOf({ run, last }: Reading): number {
  if (!run) return last;
  return run.handler.closed ? Number.POSITIVE_INFINITY : run.last;
}

/**
 * Steps through a log's tail until the reader's scope closes, anew where the reader has got more than the last step gave. A log that fails ends
 * the reader, which may come back for the rest.
 */
function tailOf(log: EventLog, name: string, reader: Scope, failed: (error: unknown) => void) {
  const left = new AbortController();
  reader.add(() => left.abort());
  let tail: AsyncIterator<readonly Entry[]> | undefined;
  let at = -1;
  // A tail that waits for its reader to take an entry has resources too. What it throws then has no reader.
  const stop = () =>
    invoke(
      () => tail?.return?.(),
      () => {},
    );
  reader.add(stop);
  return async (after: number): Promise<IteratorResult<readonly Entry[]>> => {
    try {
      if (after !== at) {
        stop();
        tail = iteratorOf(log.tail(name, after, left.signal));
      }
      const step = await tail!.next();
      at = step.done ? -1 : step.value.at(-1)!.seq;
      return step;
    } catch (error) {
      if (!reader.closed) failed(error);
      throw error;
    }
  };
}

/** A log written in JavaScript may have made `tail` an async function: what that rejects with must not end the process. */
function iteratorOf(tail: AsyncIterable<readonly Entry[]>): AsyncIterator<readonly Entry[]> {
  if (typeof tail?.[Symbol.asyncIterator] === "function") return tail[Symbol.asyncIterator]();
  Promise.resolve(tail).catch(() => {});
  throw new TypeError("the event log's tail is no async iterable: write it as `async *tail`");
}
