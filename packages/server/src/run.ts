import { type Cursor, formatCursor, type Gap } from "@parlance/wire";
import type { EventLog } from "./log.js";
import type { Relay } from "./relay.js";

/** Streams that go on while their reader is away. */
export interface Runs {
  /** Takes a name before the handler is called, so that a request which some proxy repeats calls it once; undefined when it is taken. */
  claim(name: string, leave: (reason?: unknown) => void): Promise<Claim | undefined>;
  /** The stream after a cursor, for one reader. */
  join(name: string, cursor: Cursor | undefined): Promise<Joined | { readonly gap: Gap } | undefined>;
  /** Ends a run on purpose. False when there is none. */
  cancel(name: string): Promise<boolean>;
}

/** A run whose first message is not there yet. It can be joined already. */
export interface Claim {
  begin(source: RunSource): Joined;
  /** Nobody waits for the answer: the handler is left unless somebody joins soon. */
  forsake(): void;
  /** The handler has refused. */
  drop(): Promise<void>;
}

export interface RunSource {
  /** Blocks of text, each made with the id that it is given. */
  blocks(id?: (seq: number) => string): AsyncIterator<string>;
  /** Aborts the handler. */
  leave(reason?: unknown): void;
}

export interface Joined {
  readonly epoch: string;
  readonly blocks: AsyncIterator<string>;
  /** The reader has gone; the run goes on for the grace period. */
  leave(): void;
}

export interface RunOptions {
  readonly log: EventLog;
  /** Tells a run how far its reader on another server is. */
  readonly relay?: Relay | undefined;
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
  readonly stop: (reason?: unknown) => void;
  /** Hears of readers on other servers, until it is left. */
  following?: Promise<() => void> | undefined;
}

/** What a server says to the one that has the run: how far its reader is, or that the run is to end. */
type Said = { readonly seq: number } | { readonly cancel: true };

const topicOf = (name: string): string => `run/${name}`;

/** Milliseconds for which a client asks after a request whose answer it has never seen. */
const UNANSWERED = 5000;

export function runs({ log, relay, grace, maxQueued }: RunOptions): Runs {
  const running = new Map<string, Run>();

  async function produce(name: string, run: Run, blocks: AsyncIterator<string>): Promise<void> {
    const fail = (error: unknown): void => {
      run.done = true;
      run.resume?.();
      run.stop(error);
    };
    try {
      let seq = 0;
      for (let step = await blocks.next(); !step.done; step = await blocks.next()) {
        // Readers see only what the log has; how far it may be behind is bounded below.
        log.append(name, ++seq, step.value)?.catch(fail);
        run.appended += step.value.length;
        run.marks.set(seq, run.appended);
        while (!run.done && run.appended - run.delivered > maxQueued) await room(run);
        if (run.done) break;
      }
    } finally {
      await blocks.return?.();
      run.done = true;
      // A log that cannot be reached closes the stream by itself.
      await log.close(name).catch(() => {});
      if (run.readers === 0) wait(name, run);
    }
  }

  /** Nobody reads: the handler is left after the grace period, and then the log is dropped. */
  function wait(name: string, run: Run, milliseconds = grace): void {
    clearTimeout(run.timer);
    run.timer = setTimeout(() => end(name, run).catch(() => {}), milliseconds);
    (run.timer as { unref?: () => void }).unref?.();
  }

  async function end(name: string, run: Run): Promise<void> {
    clearTimeout(run.timer);
    running.delete(name);
    run.following?.then(
      (leave) => leave(),
      () => {},
    );
    run.done = true;
    run.resume?.();
    run.stop();
    await log.close(name);
    await log.drop(name);
  }

  /** The reader has everything up to `seq`. */
  function advance(run: Run, seq: number): void {
    for (const [marked, appended] of run.marks) {
      if (marked > seq) break;
      run.delivered = appended;
      run.marks.delete(marked);
    }
    run.resume?.();
  }

  function hear(name: string, run: Run, said: Said): void {
    if (running.get(name) !== run) return;
    if ("cancel" in said) return void end(name, run).catch(() => {});
    advance(run, said.seq);
    if (run.readers === 0) wait(name, run);
  }

  /** Tells the server that has the run how far a reader is here: at every step and often enough that it is not taken for gone. */
  function reporter(name: string, after: number): { reach(seq: number): void; stop(): void } {
    let at = after;
    const report = () => void relay?.publish(topicOf(name), JSON.stringify({ seq: at } satisfies Said)).catch(() => {});
    const timer = setInterval(report, grace / 3);
    (timer as { unref?: () => void }).unref?.();
    report();
    return {
      stop: () => clearInterval(timer),
      reach(seq) {
        at = seq;
        report();
      },
    };
  }

  function read(name: string, epoch: string, after: number): Joined {
    const left = new AbortController();
    const run = running.get(name);
    if (run) {
      clearTimeout(run.timer);
      run.readers++;
    }
    const elsewhere = run || !relay ? undefined : reporter(name, after);
    let gone = false;
    function leave(): void {
      if (gone) return;
      gone = true;
      elsewhere?.stop();
      left.abort();
      if (run && --run.readers === 0 && running.get(name) === run) wait(name, run);
    }
    async function* blocks(): AsyncGenerator<string> {
      try {
        for await (const entries of log.tail(name, after, left.signal)) {
          const text = entries.map((entry) => entry.text).join("");
          yield text;
          // The reader has taken it, or it would not ask for more.
          const { seq } = entries.at(-1)!;
          if (run) advance(run, seq);
          else elsewhere?.reach(seq);
        }
      } finally {
        leave();
      }
    }
    return { epoch, blocks: blocks(), leave };
  }

  return {
    async claim(name, leave) {
      const opened = await log.open(name);
      if (!opened) return undefined;
      const run: Run = { readers: 0, appended: 0, delivered: 0, marks: new Map(), done: false, stop: leave };
      running.set(name, run);
      run.following = relay?.subscribe(topicOf(name), (text) => hear(name, run, JSON.parse(text)));
      run.following?.catch(() => {});
      let answered = false;
      return {
        begin(source) {
          answered = true;
          const joined = read(name, opened.epoch, 0);
          const blocks = source.blocks((seq) => formatCursor({ epoch: opened.epoch, seq }));
          void produce(name, run, blocks);
          return joined;
        },
        forsake() {
          if (!answered && run.readers === 0) wait(name, run, Math.min(grace, UNANSWERED));
        },
        drop() {
          answered = true;
          return end(name, run);
        },
      };
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
      if (!run)
        return ((await relay?.publish(topicOf(name), JSON.stringify({ cancel: true } satisfies Said))) ?? 0) > 0;
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
