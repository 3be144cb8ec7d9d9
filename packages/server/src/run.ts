import { type Cursor, formatCursor, type Gap } from "@parlance/wire";
import type { EventLog } from "./log.js";

/** Streams that go on while their reader is away. */
export interface Runs {
  has(name: string): Promise<boolean>;
  /** Begins a run; undefined when its name is taken. */
  begin(name: string, source: RunSource): Promise<Joined | undefined>;
  /** The stream after a cursor, for one reader. */
  join(name: string, cursor: Cursor | undefined): Promise<Joined | { readonly gap: Gap } | undefined>;
  /** Ends a run on purpose. False when there is none. */
  cancel(name: string): Promise<boolean>;
}

export interface RunSource {
  /** Blocks of text, each made with the id that it is given. */
  blocks(id?: (seq: number) => string): AsyncIterator<string>;
  /** Aborts the handler. */
  leave(): void;
}

export interface Joined {
  readonly epoch: string;
  readonly blocks: AsyncIterator<string>;
  /** The reader has gone; the run goes on for the grace period. */
  leave(): void;
}

export interface RunOptions {
  readonly log: EventLog;
  /** Milliseconds that a run goes on, or a finished one is kept, without a reader. */
  readonly grace: number;
  /** Characters that a run may be ahead of its reader before its handler is paused. */
  readonly maxQueued: number;
}

interface Run {
  readers: number;
  /** Characters appended, and characters handed to the furthest reader. */
  appended: number;
  delivered: number;
  /** Sequence -> characters appended with it, for what is not yet delivered. */
  readonly marks: Map<number, number>;
  resume?: (() => void) | undefined;
  timer?: ReturnType<typeof setTimeout> | undefined;
  done: boolean;
  readonly stop: () => void;
}

export function runs({ log, grace, maxQueued }: RunOptions): Runs {
  const running = new Map<string, Run>();

  async function produce(name: string, run: Run, blocks: AsyncIterator<string>): Promise<void> {
    try {
      let seq = 0;
      for (let step = await blocks.next(); !step.done; step = await blocks.next()) {
        const appending = log.append(name, ++seq, step.value);
        if (appending) await appending;
        run.appended += step.value.length;
        run.marks.set(seq, run.appended);
        while (!run.done && run.appended - run.delivered > maxQueued) await room(run);
        if (run.done) break;
      }
    } finally {
      await blocks.return?.();
      run.done = true;
      await log.close(name);
      if (run.readers === 0) wait(name, run);
    }
  }

  /** Nobody reads: the handler is left after the grace period, and then the log is dropped. */
  function wait(name: string, run: Run): void {
    clearTimeout(run.timer);
    run.timer = setTimeout(() => void end(name, run), grace);
    (run.timer as { unref?: () => void }).unref?.();
  }

  async function end(name: string, run: Run): Promise<void> {
    clearTimeout(run.timer);
    running.delete(name);
    run.done = true;
    run.resume?.();
    run.stop();
    await log.close(name);
    await log.drop(name);
  }

  function read(name: string, epoch: string, after: number): Joined {
    const left = new AbortController();
    const run = running.get(name);
    if (run) {
      clearTimeout(run.timer);
      run.readers++;
    }
    let gone = false;
    function leave(): void {
      if (gone) return;
      gone = true;
      left.abort();
      if (run && --run.readers === 0 && running.get(name) === run) wait(name, run);
    }
    async function* blocks(): AsyncGenerator<string> {
      try {
        for await (const entries of log.tail(name, after, left.signal)) {
          const text = entries.map((entry) => entry.text).join("");
          yield text;
          if (!run) continue;
          // The reader has taken it, or it would not ask for more.
          run.delivered = Math.max(run.delivered, run.marks.get(entries.at(-1)!.seq) ?? 0);
          for (const { seq } of entries) run.marks.delete(seq);
          run.resume?.();
        }
      } finally {
        leave();
      }
    }
    return { epoch, blocks: blocks(), leave };
  }

  return {
    has: async (name) => (await log.state(name)) !== undefined,
    async begin(name, source) {
      const opened = await log.open(name);
      if (!opened) return undefined;
      const run: Run = {
        readers: 0,
        appended: 0,
        delivered: 0,
        marks: new Map(),
        done: false,
        stop: () => source.leave(),
      };
      running.set(name, run);
      const joined = read(name, opened.epoch, 0);
      void produce(
        name,
        run,
        source.blocks((seq) => formatCursor({ epoch: opened.epoch, seq })),
      );
      return joined;
    },
    async join(name, cursor) {
      const state = await log.state(name);
      if (!state) return cursor && { gap: { after: cursor.seq } };
      if (cursor && cursor.epoch !== state.epoch) return { gap: { after: cursor.seq } };
      const after = cursor?.seq ?? 0;
      if (after + 1 < state.first) return { gap: { after, first: state.first } };
      // Whoever has everything of a stream that is over would otherwise join it for ever.
      if (cursor && state.closed && after >= state.last) return undefined;
      return read(name, state.epoch, after);
    },
    async cancel(name) {
      const run = running.get(name);
      if (!run) return false;
      await end(name, run);
      return true;
    },
  };
}

function room(run: Run): Promise<void> {
  return new Promise((resolve) => {
    run.resume = () => {
      run.resume = undefined;
      resolve();
    };
  });
}
