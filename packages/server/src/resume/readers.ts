import { Disconnected, misuse } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import { invoke } from "../callback.js";
import type { RemoteStreams } from "../ports.js";
import type { BlockSource, Push } from "../stream/writer.js";
import type { Entry, EventLog } from "./event-log.js";
import type { Run } from "./run.js";
import { type Reading, watchReaders } from "./watch.js";

/** Reads resumable streams from the log, one iterator a reader. */
export interface Readers {
  /** The stream after a place, until the reader's scope closes. `run` is absent for a stream of another server. */
  read(run: Run | undefined, name: string, after: number, reader: Scope): BlockSource;
  /** Notes that a reader of the run has everything up to a place. */
  advance(run: Run, seq: number): void;
}

export function readers(
  { limits, root, callbacks }: Context,
  log: EventLog,
  remote: RemoteStreams | undefined,
): Readers {
  const watch = watchReaders({ limits, root, callbacks }, log);
  function advance(run: Run, seq: number): void {
    if (seq > run.delivered) {
      for (const size of run.sizes.splice(0, seq - run.delivered)) run.ahead -= size;
      run.delivered = seq;
      run.production?.delivered(seq);
    }
    run.wake();
  }

  /** The last message that was written to a stream which is over. */
  async function lastOf({ run, name, reader, taken }: Reading): Promise<number> {
    if (run) return run.last;
    const state = await within(reader, limits.storeWithin, "the event log", () => log.state(name));
    return state?.last ?? taken;
  }

  return {
    advance,
    read(run, name, after, reader) {
      const reading = { name, run, reader, taken: after, waiting: false, late: 0, last: 0, asking: false };
      watch(reading);
      run?.places.add(reading);
      reader.add(() => {
        if (run?.places.delete(reading)) run.wake();
      });
      const reach = run ? (seq: number) => advance(run, seq) : remote?.report(name, after, reader);
      const failed = (error: unknown) => callbacks.report(error, "log", run?.called.operation);
      const step = tailOf(log, name, reader, failed);
      let push: Push | undefined;
      // A hand-written iterator, as in stream/produce.ts, because every message passes here.
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
          if (done) {
            const missing = (await lastOf(reading)) - reading.taken;
            if (missing > 0) throw cut(name, missing);
            return { done, value: undefined };
          }
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

/** The body of a stream whose last messages the log has lost is cut: its end would say that it is whole. */
function cut(name: string, missing: number): Disconnected {
  return new Disconnected(`the event log has lost the last ${missing} messages of ${name}`, {
    code: "ended_early",
    retryable: true,
  });
}

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
        if (push(blocks) === "refused") return false;
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

/** A log in JavaScript may have an async function as `tail`: its rejection must not end the process. */
function iteratorOf(tail: AsyncIterable<readonly Entry[]>): AsyncIterator<readonly Entry[]> {
  if (typeof tail?.[Symbol.asyncIterator] === "function") return tail[Symbol.asyncIterator]();
  Promise.resolve(tail).catch(() => {});
  throw misuse("the event log's tail is no async iterable: write it as `async *tail`");
}
