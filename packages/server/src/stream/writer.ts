import { Disconnected, disconnected, encodeComment } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { invoke } from "../callback.js";
import type { Tally } from "../ledger.js";
import type { Limits } from "../limits.js";
import { isRevoked } from "../reason.js";

/** Runs a function after this tick's promises, so that one tick's messages form one batch. */
export const defer: (run: () => void) => void =
  typeof setImmediate === "function" ? setImmediate : (run) => void setTimeout(run, 0);

/** Whether one timer may serve several requests. In Cloudflare workers a timer ends with the request that has set it. */
const sharesTimers =
  (globalThis as { readonly navigator?: { readonly userAgent?: string } }).navigator?.userAgent !==
  "Cloudflare-Workers";

/** The connection under a stream. Nothing is written to it after `end` or `cut`. */
export interface Sink {
  /** Returns a promise when no more should be written until it settles. Several writes may wait: the promise of each settles. */
  write(text: string | Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Closes the connection of a reader that takes nothing. */
  cut(): void;
  /** Closes the connection without an end of the stream, once everything that was written is sent. Absent where `cut` does this. */
  cutAfterWrites?(): void;
}

export interface WriterOptions {
  readonly limits: Pick<Limits, "heartbeat" | "stall">;
  /** Counts what its reader does not take; called for the first of it. */
  readonly held?: (reader: Scope) => Tally;
  /** The headers were due before the first message: a comment follows them. */
  readonly headersDue?: boolean;
  /** The blocks of one tick come as one batch already. */
  readonly batched?: boolean;
}

/** Characters that are written without waiting for the end of the tick. */
export const FULL = 64 * 1024;

/** Writes one stream to one sink. */
export interface SseWriter {
  /** Resolves when the stream is over, or its reader's scope is closed. */
  run(sink: Sink): Promise<void>;
}

/** Takes blocks without a request. "refused" without room: their source keeps them. "full" where no more may follow before the next request. */
export type Push = (blocks: readonly string[]) => "taken" | "full" | "refused";

/** A source of blocks: they are pulled, and may also be pushed while a pull is pending. */
export interface BlockSource extends AsyncIterator<readonly string[]> {
  onPush?(push: Push): void;
}

/**
 * Writes one stream of text blocks to one sink. All blocks of one tick are one write, because joined events cost a third of single ones. The
 * source is read only while the sink has room, so a slow reader pauses a generator. `reader` closes with the last block.
 */
export class BlockWriter implements SseWriter {
  readonly #blocks: BlockSource;
  readonly #reader: Scope;
  readonly #options: WriterOptions;
  #sink!: Sink;
  #buffer: string[] = NOTHING;
  #size = 0;
  /** Whether nothing was written since the last heartbeat. */
  #quiet = true;
  #over = false;
  /** Pending while the sink has no room. */
  #room: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Characters that the sink has and its reader has not taken. */
  #unread = 0;
  #held: Tally | undefined;

  constructor(blocks: BlockSource, reader: Scope, options: WriterOptions) {
    this.#blocks = blocks;
    this.#reader = reader;
    this.#options = options;
  }

  run(sink: Sink): Promise<void> {
    const { limits, headersDue } = this.#options;
    const reader = this.#reader;
    this.#sink = sink;
    // A handler that ignores its signal keeps `#pass` waiting: the scope's end counts.
    return new Promise((resolve, reject) => {
      reader.add(() => {
        this.#end();
        if (this.#failure) reject(this.#failure.error);
        else resolve();
      });
      if (reader.closed) return;
      if (limits.heartbeat > 0) reader.interval(limits.heartbeat, () => this.#beat());
      if (headersDue) this.#write(encodeComment(""));
      this.#blocks.onPush?.((blocks) => {
        if (this.#over || this.#room) return "refused";
        this.#push(blocks, false);
        return this.#room ? "full" : "taken";
      });
      void this.#pass();
    });
  }

  /** Writes the blocks of this tick. Writers with the same blocks share one text: each gets the last one to reuse. */
  flush(last?: Joined): Joined | undefined {
    if (this.#size === 0 || this.#over) return last;
    const blocks = this.#buffer;
    this.#buffer = NOTHING;
    this.#size = 0;
    this.#quiet = false;
    const joined = last && isSame(last.blocks, blocks) ? last : { blocks, text: blocks.join("") };
    this.#write(joined.text);
    return joined;
  }

  async #pass(): Promise<void> {
    try {
      while (!this.#reader.closed) {
        const step = await this.#blocks.next();
        if (step.done || this.#reader.closed) break;
        this.#push(step.value, this.#options.batched === true);
        if (this.#room) await this.#writable(this.#room);
      }
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#reader.close();
    }
  }

  /** `batched`: they are all of this tick. */
  #push(blocks: readonly string[], batched: boolean): void {
    if (blocks.length === 0) return;
    const first = this.#size === 0;
    if (first) this.#buffer = [...blocks];
    else this.#buffer.push(...blocks);
    for (const { length } of blocks) this.#size += length;
    if (batched || this.#size >= FULL) this.flush();
    else if (first && !sharesTimers) defer(() => this.flush());
    else if (first && due.push(this) === 1) defer(flushAll);
  }

  /** Waits for room in the sink; a reader that takes nothing for too long is cut. */
  #writable(room: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const reader = this.#reader;
      const done = reader.hold(resolve);
      const stop = reader.timeout(this.#options.limits.stall, () => {
        this.#cut();
        reader.close(disconnected("the reader takes nothing", "slow_reader", false));
      });
      void room.then(stop).then(done);
    });
  }

  #write(text: string): void {
    try {
      // Heartbeats need to know of new room, also when no block waits for it.
      const room = this.#sink.write(text);
      const { length } = text;
      if (room) this.#count(length);
      const full = room?.then(
        () => {
          this.#count(-length);
          if (this.#room === full) this.#room = undefined;
        },
        (error) => this.#fail(error),
      );
      this.#room = full;
    } catch (error) {
      this.#fail(error);
    }
  }

  #count(change: number): void {
    this.#held ??= this.#options.held?.(this.#reader);
    this.#unread += change;
    this.#held?.set(this.#unread);
  }

  /** Writes a comment if nothing was written since the last one. */
  #beat(): void {
    if (this.#quiet && !this.#room && !this.#over) this.#write(encodeComment(""));
    this.#quiet = true;
  }

  /** Treats a failed sink as a lost connection. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#cut();
    this.#reader.close(error);
  }

  /** Forgets what is not written, and cuts the sink. */
  #cut(): void {
    if (this.#over) return;
    this.#over = true;
    invoke(
      () => this.#sink.cut(),
      (error) => this.#fail(error),
    );
  }

  /** Writes what is left, and ends the sink; cuts it where the source has failed, or the reader may not read on. */
  #end(): void {
    if (isRevoked(this.#reader.reason)) return this.#cut();
    this.flush();
    if (this.#over) return;
    // The end would say that the stream is whole.
    if (this.#failure || isLoss(this.#reader.reason)) {
      this.#over = true;
      return invoke(
        () => (this.#sink.cutAfterWrites ? this.#sink.cutAfterWrites() : this.#sink.cut()),
        (error) => this.#fail(error),
      );
    }
    this.#over = true;
    invoke(
      () => this.#sink.end(),
      (error) => this.#fail(error),
    );
  }
}

/** Whether a reader is closed because it cannot have its messages now, not because it has gone or the stream is cancelled. */
function isLoss(reason: unknown): boolean {
  return reason instanceof Disconnected && reason.retryable;
}

const NOTHING: string[] = [];

/** Blocks as one text. */
interface Joined {
  readonly blocks: readonly string[];
  readonly text: string;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((block, i) => block === others[i]);
}

/** Writers with blocks of this tick. */
const due: BlockWriter[] = [];

function flushAll(): void {
  let last: Joined | undefined;
  for (const writer of due.splice(0)) last = writer.flush(last);
}
