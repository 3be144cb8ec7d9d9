import type { EventWriter } from "@parlance/server/resume";
import { type Batch, makeBatch } from "./batch.js";
import type { Calls } from "./calls.js";
import { RedisStoreError } from "./error.js";
import { DONE, LEASE_LOST } from "./scripts.js";
import type { StreamScripts } from "./streams.js";

export interface WriterOptions {
  readonly calls: Calls;
  readonly scripts: StreamScripts;
  readonly stream: string;
  readonly epoch: string;
  /** Entries that Redis keeps of the stream at least. */
  readonly maxLength: number;
  /** The last entry that every connected reader has been given. */
  given(): number;
  /** Called once, when nothing more will be written: the stream is closed or dropped, or writing failed. */
  onEnd(): void;
}

/** Writes one stream and holds its lease. Redis compares the epoch in every step, which guards a newer stream of the same name. */
export class Writer {
  readonly stream: string;
  readonly handle: EventWriter;
  readonly #epoch: string;
  readonly #calls: Calls;
  readonly #scripts: StreamScripts;
  readonly #onEnd: () => void;
  readonly #maxLength: number;
  readonly #readGiven: () => number;
  /** The last entry that was known to be given to every reader. */
  #given = 0;
  /** Entries that are not acknowledged, oldest first. Only the first batch may be in flight. */
  readonly #batches: Batch[] = [];
  #last = 0;
  /** A closing writer accepts no more entries, and keeps its lease until those in flight are settled. */
  #state: "open" | "closing" | "ended" = "open";
  #failure: RedisStoreError | undefined;
  #flushing = false;
  #refreshing = false;

  constructor({ calls, scripts, stream, epoch, maxLength, given, onEnd }: WriterOptions) {
    this.#maxLength = maxLength;
    this.#readGiven = given;
    this.stream = stream;
    this.#epoch = epoch;
    this.#calls = calls;
    this.#scripts = scripts;
    this.#onEnd = onEnd;
    this.handle = {
      epoch,
      append: (seq, text) => this.#append(seq, text),
      hasRoom: () => this.#hasRoom(),
      trim: (seq) => this.#trim(seq),
      close: () => this.#finish(() => scripts.close(stream, epoch, this.#last)),
      drop: () => this.#finish(() => scripts.drop(stream, epoch)),
    };
  }

  /** Extends the lease. */
  async refresh(): Promise<void> {
    // One at a time, so that calls do not pile up while Redis hangs.
    if (this.#refreshing) return;
    this.#refreshing = true;
    const done = await this.#scripts.refresh(this.stream, this.#epoch).catch(() => DONE);
    this.#refreshing = false;
    if (done !== DONE) this.fail(lost(this.stream, done, this.#last + 1));
  }

  /** Rejects all entries that are not acknowledged, and later ones: writing on would leave a hole. */
  fail(error: RedisStoreError): void {
    if (this.#state === "ended") return;
    this.#failure = error;
    this.#end();
    for (const batch of this.#batches.splice(0)) batch.reject(error);
  }

  #hasRoom(): boolean {
    if (this.#last - this.#given < this.#maxLength) return true;
    this.#given = Math.min(this.#readGiven(), this.#last);
    return this.#last - this.#given < this.#maxLength;
  }

  #append(seq: number, text: string): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#state !== "open") return Promise.reject(notWriter(this.stream, seq, "is closed"));
    if (seq !== this.#last + 1)
      return Promise.reject(notWriter(this.stream, seq, `has ${this.#last} as its last entry`));
    this.#last = seq;
    let batch = this.#batches.at(-1);
    if (!batch?.take(text)) {
      batch = makeBatch(seq, text);
      this.#batches.push(batch);
    }
    if (!this.#flushing) void this.#flush();
    return batch.done;
  }

  /** Sends one batch at a time, so that repeated calls keep the order. */
  async #flush(): Promise<void> {
    this.#flushing = true;
    for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
      batch.sent = true;
      try {
        const done = await this.#scripts.append(this.stream, this.#epoch, batch.first, batch.texts);
        if (done !== DONE) throw lost(this.stream, done, batch.first);
        this.#batches.shift();
        batch.resolve();
      } catch (error) {
        this.fail(error as RedisStoreError);
      }
    }
    this.#flushing = false;
  }

  async #trim(seq: number): Promise<void> {
    if (this.#calls.stopped) return;
    await this.#drain();
    await this.#scripts.trim(this.stream, this.#epoch, seq);
  }

  /** Closes or drops the stream after its last entry. A stopped log does neither; its leases expire. */
  async #finish(step: () => Promise<unknown>): Promise<void> {
    if (this.#calls.stopped) return;
    if (this.#state === "open") this.#state = "closing";
    await this.#drain();
    this.#end();
    await step();
  }

  /** Resolves once the entries in flight are settled. */
  async #drain(): Promise<void> {
    await this.#batches.at(-1)?.done.catch(() => {});
  }

  #end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#onEnd();
  }
}

function notWriter(stream: string, seq: number, why: string): RedisStoreError {
  return new RedisStoreError("not_writer", `entry ${seq} is not written: ${stream} ${why}`);
}

function lost(stream: string, done: unknown, first: number): RedisStoreError {
  return done === LEASE_LOST
    ? new RedisStoreError("lease_lost", `the lease of ${stream} is lost: entry ${first} is not written`)
    : new RedisStoreError("entries_lost", `Redis has lost entries of ${stream}: entry ${first} is not written`);
}
