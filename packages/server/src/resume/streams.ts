import { type Cursor, formatCursor, type Gap } from "@parlance/wire";
import { undertaker } from "./buried.js";
import type { EventLog } from "./log.js";
import { cancelled, gone } from "./reason.js";
import type { Relay } from "./relay.js";

/** Streams that go on while their reader is away. */
export interface Runs {
  /** Takes a name before the handler is called, so that a request which some proxy repeats calls it once; undefined when it is taken. */
  claim(name: string, leave: (reason?: unknown) => void): Promise<Claim | undefined>;
  /** The stream after a cursor, for one reader. */
  join(name: string, cursor: Cursor | undefined): Promise<Joined | { readonly gap: Gap } | undefined>;
  /** Ends a run on purpose. False when there is none: one whose request is still on its way does not begin then. */
  cancel(name: string): Promise<boolean>;
  /** The server closes: what it hears from others is over. */
  close(): void;
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
  /** Blocks of text, as many as there are at a time, each made with the id that it is given. */
  blocks(id?: (seq: number) => string): AsyncIterator<readonly string[]>;
  /** The first message is not there yet. */
  readonly late: boolean;
  /** Aborts the handler. */
  leave(reason?: unknown): void;
}

export interface Joined {
  readonly epoch: string;
  readonly blocks: AsyncIterator<readonly string[]>;
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
  /** What makes each reader leave. */
  readonly readers: Set<() => void>;
  /** The last sequence. */
  last: number;
  /** The last sequence that the furthest reader has. */
  delivered: number;
  /** Characters of each entry that it has not, oldest first, and their sum. */
  readonly sizes: number[];
  ahead: number;
  resume?: (() => void) | undefined;
  timer?: ReturnType<typeof setTimeout> | undefined;
  done: boolean;
  /** The log takes no more of it, and cannot even be told that it is over. */
  lost: boolean;
  readonly stop: (reason?: unknown) => void;
  /** Hears of readers on other servers, until it is left. */
  following?: Promise<() => void> | undefined;
}

/** What a server says to the one that has the run: how far its reader is, or that the run is to end. */
type Said = { readonly seq: number } | { readonly cancel: true };

const topicOf = (name: string): string => `run/${name}`;

/** Milliseconds for which a client asks after a request whose answer it has never seen, and a cancelled request may still be on its way. */
const UNANSWERED = 5000;

export function runs({ log, relay, grace, maxQueued }: RunOptions): Runs {
  const running = new Map<string, Run>();

  const bury = undertaker(log, UNANSWERED);

  async function produce(name: string, run: Run, blocks: AsyncIterator<readonly string[]>): Promise<void> {
    const fail = (error: unknown): void => {
      if (run.done) return;
      run.done = true;
      run.resume?.();
      run.stop(error);
      // The handler may not listen, and its readers wait.
      void close(name, run);
    };
    try {
      for (let step = await blocks.next(); !step.done; step = await blocks.next()) {
        if (run.done) break;
        for (const text of step.value) {
          // Readers see only what the log has; how far it may be behind is bounded below.
          log.append(name, ++run.last, text)?.catch(fail);
          run.sizes.push(text.length);
          run.ahead += text.length;
        }
        while (!run.done && run.ahead > maxQueued) await room(run);
        if (run.done) break;
      }
    } finally {
      await blocks.return?.();
      run.done = true;
      await close(name, run);
      if (run.readers.size === 0) wait(name, run);
    }
  }

  /** Closes the log; where that cannot be reached, the readers that are here hear of it at least. */
  async function close(name: string, run: Run): Promise<void> {
    const lose = (): void => {
      run.lost = true;
      for (const leave of [...run.readers]) leave();
    };
    const timer = setTimeout(lose, UNANSWERED);
    unref(timer);
    await log.close(name).catch(lose);
    clearTimeout(timer);
  }

  /** Nobody reads: the handler is left after the grace period, and then the log is dropped. */
  function wait(name: string, run: Run, milliseconds = grace): void {
    clearTimeout(run.timer);
    run.timer = setTimeout(() => expire(name, run).catch(() => {}), milliseconds);
    unref(run.timer);
  }

  async function expire(name: string, run: Run): Promise<void> {
    end(name, run, gone());
    await log.close(name);
    await log.drop(name);
  }

  function end(name: string, run: Run, reason: unknown): void {
    clearTimeout(run.timer);
    if (running.get(name) === run) running.delete(name);
    unfollow(run);
    run.done = true;
    run.resume?.();
    run.stop(reason);
  }

  async function cancel(name: string, run: Run): Promise<void> {
    end(name, run, cancelled());
    await bury(name, run.last);
  }

  function unfollow(run: Run): void {
    run.following?.then(
      (leave) => leave(),
      () => {},
    );
  }

  /** The reader has everything up to `seq`. */
  function advance(run: Run, seq: number): void {
    if (seq > run.delivered) {
      for (const size of run.sizes.splice(0, seq - run.delivered)) run.ahead -= size;
      run.delivered = seq;
    }
    run.resume?.();
  }

  function hear(name: string, run: Run, said: Said): void {
    if (running.get(name) !== run) return;
    if ("cancel" in said) return void cancel(name, run).catch(() => {});
    advance(run, said.seq);
    if (run.readers.size === 0) wait(name, run);
  }

  /** Tells the server that has the run how far a reader is here: at every step and often enough that it is not taken for gone. */
  function reporter(name: string, after: number): { reach(seq: number): void; stop(): void } {
    let at = after;
    const report = () => void relay?.publish(topicOf(name), JSON.stringify({ seq: at } satisfies Said)).catch(() => {});
    const timer = setInterval(report, grace / 3);
    unref(timer);
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
      run.readers.add(leave);
    }
    const elsewhere = run || !relay ? undefined : reporter(name, after);
    function leave(): void {
      if (left.signal.aborted) return;
      left.abort();
      elsewhere?.stop();
      if (run?.readers.delete(leave) && run.readers.size === 0 && running.get(name) === run) wait(name, run);
    }
    const tail = log.tail(name, after, left.signal)[Symbol.asyncIterator]();
    let taken = after;
    // An iterator by hand, as in stream.ts: this is every message's way.
    const blocks: AsyncIterator<readonly string[]> = {
      async next() {
        // The reader has taken what it had, or it would not ask for more.
        if (taken > after) run ? advance(run, taken) : elsewhere?.reach(taken);
        try {
          const { done, value: entries } = await tail.next();
          if (done) leave();
          else taken = entries.at(-1)!.seq;
          return done ? { done, value: undefined } : { done, value: entries.map(({ text }) => text) };
        } catch (error) {
          leave();
          throw error;
        }
      },
    };
    return { epoch, blocks, leave };
  }

  return {
    async claim(name, leave) {
      // A copy of the request, also while the log is still asked.
      if (running.has(name)) return undefined;
      const run: Run = {
        readers: new Set(),
        last: 0,
        delivered: 0,
        sizes: [],
        ahead: 0,
        done: false,
        lost: false,
        stop: leave,
      };
      running.set(name, run);
      // In this order: whoever cancels and finds the name taken knows that its server listens.
      run.following = relay?.subscribe(topicOf(name), (text) => hear(name, run, JSON.parse(text)));
      await run.following?.catch(() => {});
      const opened = await log.open(name).catch((error) => {
        end(name, run, error);
        throw error;
      });
      if (!opened || run.done) {
        if (opened) await bury(name, 0);
        end(name, run, cancelled());
        return undefined;
      }
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
          if (!answered && run.readers.size === 0) wait(name, run, Math.min(grace, UNANSWERED));
        },
        drop() {
          answered = true;
          return expire(name, run);
        },
      };
    },
    async join(name, cursor) {
      if (running.get(name)?.lost) return cursor && { gap: { after: cursor.seq } };
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
      const said = JSON.stringify({ cancel: true } satisfies Said);
      const elsewhere = async () => ((await relay?.publish(topicOf(name), said)) ?? 0) > 0;
      if (run) await cancel(name, run);
      else if (!(await elsewhere())) {
        // Taken: it is over, or another server has begun it this moment and listens by now.
        if (!(await log.open(name))) return elsewhere();
        await bury(name, 0);
        return false;
      }
      return true;
    },
    close() {
      for (const run of running.values()) unfollow(run);
    },
  };
}

function unref(timer: ReturnType<typeof setTimeout>): void {
  (timer as { unref?: () => void }).unref?.();
}

function room(run: Run): Promise<void> {
  return new Promise((resolve) => {
    run.resume = () => {
      run.resume = undefined;
      resolve();
    };
  });
}
