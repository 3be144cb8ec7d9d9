import { type AnyMessage, disconnected, misuse } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import { invoke } from "../callback.js";
import type { Encode, Encoded } from "../codecs.js";
import type { Called } from "../hooks.js";
import type { Tally } from "../ledger.js";

/** Receives the next message, or undefined at the end. */
export type OnNext = (encoded: Encoded | undefined) => void;
export type OnError = (error: unknown) => void;

/** A message that waits for the reader. */
interface Waiting {
  readonly encoded: Encoded;
  readonly resolve: () => void;
  readonly reject: OnError;
}

/** The shared promise that `send` returns while the reader waits for a message. */
const ROOM = Promise.resolve();

/** Characters taken together. */
export const MAX_TAKEN = 64 * 1024;

/**
 * Queues the messages that a stream's handler yields and sends, in order. A generator is paused at its `yield` until the reader wants more;
 * `send` resolves at that moment. `pull` takes callbacks, because promises would double the cost of a message.
 */
export class Outgoing {
  readonly #context: Context;
  readonly #operation: string;
  readonly #principal: unknown;
  readonly #encode: Encode;
  readonly #note: ((message: AnyMessage) => void) | undefined;
  readonly #scope: Scope;
  #generator: AsyncIterator<AnyMessage> | undefined;
  /** Whether the generator works on its next message. */
  #isStepping = false;
  readonly #queue: Waiting[] = [];
  #queued = 0;
  /** Made with the first message that has to wait: most streams have none. */
  #held: Tally | undefined;
  #onNext: OnNext | undefined;
  #onError: OnError | undefined;
  #ended: { readonly error?: unknown } | undefined;

  /** `note` is called with each message that is sent, and may refuse it. */
  constructor(
    context: Context,
    { operation, principal }: Called,
    { encode, note }: { readonly encode: Encode; readonly note: ((message: AnyMessage) => void) | undefined },
    scope: Scope,
  ) {
    this.#context = context;
    this.#operation = operation;
    this.#principal = principal;
    this.#encode = encode;
    this.#note = note;
    this.#scope = scope;
  }

  /** Starts to read the handler's result: an iterable of messages, or a promise. Throws `TypeError` for anything else. */
  begin(returned: unknown): void {
    this.#scope.add(() => this.#release());
    const { then } = (returned ?? {}) as Partial<PromiseLike<unknown>>;
    if (typeof then !== "function") return this.#read(returned);
    (returned as PromiseLike<unknown>)
      .then((value) => (value === undefined ? this.#end({}) : this.#read(value)))
      .then(undefined, this.#onFailed);
  }

  readonly send = (message: AnyMessage): Promise<void> => {
    const encoded = this.#encode(message);
    if (this.#scope.closed || this.#ended) throw this.#over();
    const isWanted = this.#onNext !== undefined;
    if (!isWanted) this.#assertRoom(encoded);
    this.#note?.(message);
    if (!isWanted) return this.#wait(encoded);
    this.#give(encoded);
    return ROOM;
  };

  /** Calls `onNext` with the next message, or with undefined at the end, or `onError` with the handler's error. */
  pull(onNext: OnNext, onError: OnError): void {
    this.#onNext = onNext;
    this.#onError = onError;
    const [first] = this.#queue;
    if (first) {
      this.#take(1);
      this.#give(first.encoded);
    } else if (this.#ended) this.#finish();
    else this.#step();
  }

  /** Further messages that wait already, beside the pulled one. */
  rest(): readonly Encoded[] {
    let [count, size] = [0, 0];
    while (count < this.#queue.length && size < MAX_TAKEN) size += this.#queue[count++]!.encoded.data.length;
    return count === 0 ? NONE : this.#take(count);
  }

  next(): Promise<IteratorResult<Encoded>> {
    return new Promise((resolve, reject) => {
      this.pull((value) => resolve(value ? { done: false, value } : { done: true, value: undefined }), reject);
    });
  }

  #read(messages: unknown): void {
    const { [Symbol.asyncIterator]: iterate } = (messages ?? {}) as Partial<AsyncIterable<AnyMessage>>;
    if (typeof iterate !== "function")
      throw misuse(
        `the handler of ${this.#operation} returned no messages: write it as \`async *${this.#operation}\`, ` +
          "or as an async function that uses `call.send`",
      );
    this.#generator = iterate.call(messages);
    if (this.#scope.closed) this.#release();
    else if (this.#onNext) this.#step();
  }

  #step(): void {
    if (!this.#generator || this.#isStepping) return;
    this.#isStepping = true;
    // A hand-written iterator may return a plain object, or throw.
    const step = this.#generator.next();
    (step instanceof Promise ? step : Promise.resolve(step)).then(this.#onStep, this.#onFailed);
  }

  readonly #onStep = (step: IteratorResult<AnyMessage>): void => {
    this.#isStepping = false;
    if (step.done) return this.#end({});
    try {
      const encoded = this.#encode(step.value);
      this.#note?.(step.value);
      if (this.#onNext) this.#give(encoded);
      else this.#wait(encoded);
    } catch (error) {
      this.#end({ error });
    }
  };

  readonly #onFailed = (error: unknown): void => this.#end({ error });

  /** One message has room in any case, so that a handler that awaits each is never refused. */
  #assertRoom({ data }: Encoded): void {
    const { ledger, limits, ownerOf } = this.#context;
    const queued = this.#queued + data.length;
    if (this.#queue.length === 0 || queued <= ledger.allowance(ownerOf(this.#principal), limits.maxQueued)) return;
    const { maxQueued } = limits;
    const behind = `the reader of ${this.#operation} is more than ${maxQueued} characters behind: await \`send\``;
    throw disconnected(behind, "slow_reader", true);
  }

  #give(encoded: Encoded): void {
    const onNext = this.#onNext!;
    this.#forget();
    onNext(encoded);
  }

  #wait(encoded: Encoded): Promise<void> {
    const room = new Promise<void>((resolve, reject) => {
      this.#queue.push({ encoded, resolve, reject });
    });
    // A sender may ignore the promise; its rejection must not end the process.
    room.catch(() => {});
    this.#count(encoded.data.length);
    return room;
  }

  #take(count: number): readonly Encoded[] {
    return this.#queue.splice(0, count).map(({ encoded, resolve }) => {
      this.#count(-encoded.data.length);
      resolve();
      return encoded;
    });
  }

  #count(change: number): void {
    if (!this.#held) {
      const { ledger, ownerOf } = this.#context;
      this.#held = ledger.held(ownerOf(this.#principal), this.#scope);
      this.#scope.measure("queued", () => this.#queued);
    }
    this.#queued += change;
    this.#held.set(this.#queued);
  }

  #end(ended: { readonly error?: unknown }): void {
    this.#ended ??= ended;
    if (this.#onNext) this.#finish();
  }

  #finish(): void {
    const [onNext, onError] = [this.#onNext!, this.#onError!];
    this.#forget();
    if ("error" in this.#ended!) onError(this.#ended.error);
    else onNext(undefined);
  }

  /** The puller has its message, which may be large, and the stream may be kept. */
  #forget(): void {
    this.#onNext = undefined;
    this.#onError = undefined;
  }

  /** Ends the generator, and the waits for room. */
  #release(): void {
    for (const { reject } of this.#queue.splice(0)) reject(this.#over());
    invoke(
      () => this.#generator?.return?.(),
      // The reader is gone, so only the server can learn of a failed clean-up.
      (error) => this.#context.callbacks.report(error, "handler", this.#operation),
    );
    // A finished generator holds its arguments.
    this.#generator = undefined;
  }

  #over(): unknown {
    return this.#scope.reason ?? disconnected(`the stream of ${this.#operation} has ended`, "closed", false);
  }
}

const NONE: readonly Encoded[] = [];
