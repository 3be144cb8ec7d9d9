import { Refusal } from "@parlance/wire";
import { Queue, type Waiter, waiter } from "@parlance/wire/link";
import { type Scope, until } from "@parlance/wire/scope";
import { type Context, sessionOf } from "../call.js";
import type { Encode, Encoded } from "../codecs.js";
import type { Called } from "../hooks.js";
import type { Tally } from "../ledger.js";
import { headersDueAfter } from "../limits.js";
import type { Sent, Subscriber } from "../ports.js";
import type { OnError, OnNext, Outgoing } from "./outgoing.js";

/** Characters of a handler's own messages that may be queued beside those of others. */
const AHEAD = 64 * 1024;
/** Characters taken at once, on top of the queued ones. */
const TAKEN = 64 * 1024;

/**
 * Merges a handler's messages with those that others send to its session, until the session ends or the scope closes. The handler's
 * first step comes before anything else, because it may refuse.
 */
export class SessionMerge implements Subscriber {
  /** Called when the handler has returned before its first message: the caller is let in, and messages of others may follow. */
  onHandlerDone: (() => void) | undefined;
  readonly #context: Context;
  readonly #key: string;
  readonly #own: Outgoing;
  readonly #encode: Encode;
  readonly #scope: Scope;
  /** The handler's scope, which closes when the session ends. */
  readonly #handler: Scope;
  readonly #inbox: Queue<Encoded>;
  readonly #held: Tally;
  #stage: "new" | "joining" | "joined" = "new";
  #taken: (() => void) | undefined;
  /** Senders other than the handler wait here for room. */
  #full: Waiter | undefined;
  readonly #stopAttending: () => void;
  /** Ends the wait for the handler's first step. */
  #wake = (): void => {};
  /** Messages of others that are on their way to a reader, with their places in the stream. */
  readonly #placed: { readonly sent: Sent; readonly seq: number }[] = [];

  constructor(context: Context, called: Called, own: Outgoing, encode: Encode, scope: Scope, handler: Scope) {
    this.#context = context;
    this.#key = sessionOf(context, called) ?? "";
    this.#own = own;
    this.#encode = encode;
    this.#scope = scope;
    this.#handler = handler;
    const { maxQueued, maxBuffered } = context.limits;
    const onTake = (): void => {
      this.#held.set(this.#inbox.weight);
      this.#taken?.();
      if (this.#inbox.weight <= maxQueued) this.#admit();
    };
    const owner = context.ownerOf(called.principal);
    this.#held = context.ledger.held(owner, scope);
    this.#inbox = new Queue({
      get limit() {
        return context.ledger.allowance(owner, Math.max(maxBuffered, maxQueued));
      },
      onTake,
    });
    scope.measure("queued", () => this.#inbox.weight);
    scope.add(() => {
      this.#inbox.end();
      this.#taken?.();
      this.#admit();
    });
    // What was sent to the session before its end is still read.
    this.#stopAttending = context.sessions.attend(this.#key, () => this.#join(), scope);
  }

  /** Calls `onNext` with the next message, or with undefined at the end, or `onError` with an error. */
  pull(onNext: OnNext, onError: OnError): void {
    const next = this.#stage === "new" ? this.#begin() : this.#inbox.next();
    next.then(({ done, value }) => onNext(done ? undefined : value), onError);
  }

  /** Further messages that are queued already, beside that of `next`. */
  rest(): readonly Encoded[] {
    return this.#stage === "joined" ? this.#inbox.rest(TAKEN) : [];
  }

  /** Throws `Violation` for a wrong message. */
  send(sent: Sent): Promise<void> | undefined {
    // The messages that a new reader begins with are limited already.
    this.#put(this.#encode(sent.message, sent), this.#stage === "joining" ? 0 : undefined);
    if (this.#inbox.ended || this.#inbox.weight <= this.#context.limits.maxQueued) return undefined;
    this.#full ??= waiter();
    return this.#full.promise;
  }

  end(error?: unknown): void {
    this.#inbox.end(error);
    this.#admit();
    this.#wake();
    this.#handler.close(error ?? new DOMException("the session has ended", "AbortError"));
  }

  /** Notes the place of a message that others sent. */
  place(sent: Sent, seq: number): void {
    this.#placed.push({ sent, seq });
  }

  /** The reader has everything up to a place. */
  delivered(seq: number): void {
    const later = this.#placed.findIndex((one) => one.seq > seq);
    const delivered = this.#placed.splice(0, later < 0 ? this.#placed.length : later);
    // Newest first: it confirms those before it that came from the same server.
    for (const { sent } of delivered.reverse()) sent.had();
  }

  async #begin(): Promise<IteratorResult<Encoded>> {
    const coming = this.#own.next();
    const waiting = this.#scope.child();
    this.#wake = () => waiting.close();
    // Undefined where the handler takes too long, or the session ends before.
    const first = await until(waiting, headersDueAfter(this.#context.limits), coming);
    const value = first && !first.done ? first.value : undefined;
    this.#join(value ? () => this.#own.next() : first ? undefined : () => coming);
    // Its caller may end the session on another server as soon as it is let in.
    await this.#context.sessions.joined?.(this.#key);
    if (value) return { done: false, value };
    if (first) this.onHandlerDone?.();
    return this.#inbox.next();
  }

  /** Reads the session, and the handler where it has more. Nothing is left to join where the session has ended. */
  #join(more?: () => Promise<IteratorResult<Encoded>>): void {
    if (this.#stage === "joined") return;
    this.#stage = "joining";
    this.#context.sessions.subscribe(this.#key, this, this.#scope);
    this.#stage = "joined";
    this.#stopAttending();
    if (more) this.#drain(more()).catch((error) => this.#inbox.end(error));
  }

  /** The handler is paused while its reader is behind; senders of other messages cannot be. */
  async #drain(coming: Promise<IteratorResult<Encoded>>): Promise<void> {
    for (
      let step = await coming;
      !step.done && !this.#scope.closed && !this.#inbox.ended;
      step = await this.#own.next()
    ) {
      this.#put(step.value);
      while (this.#inbox.weight > AHEAD && !this.#inbox.ended)
        await new Promise<void>((resolve) => {
          this.#taken = resolve;
        });
    }
  }

  #admit(): void {
    this.#full?.resolve();
    this.#full = undefined;
  }

  /** Queues a message. A reader that is too far behind ends. */
  #put(encoded: Encoded, weight = encoded.data.length): void {
    const isQueued = this.#inbox.push(encoded, weight);
    this.#held.set(this.#inbox.weight);
    if (isQueued) return;
    const behind = `the reader of the session is more than ${this.#context.limits.maxBuffered} characters behind`;
    this.#inbox.end(new Refusal(behind, { status: 503 }));
    this.#admit();
  }
}
