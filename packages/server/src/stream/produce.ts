import { type AnyMessage, encode, faultMessage, misuse, type Stream } from "@parlance/wire";
import { type Scope, until } from "@parlance/wire/scope";
import { type Context, refusalOf, reportHidden, streamCallOf } from "../call.js";
import { type Encode, type Encoded, encoderFor } from "../codecs.js";
import type { Called, How } from "../hooks.js";
import { headersDueAfter } from "../limits.js";
import type { Production } from "../ports.js";
import { cancelled, NO_MESSAGES } from "../reason.js";
import type { StreamHead } from "./head.js";
import { SessionMerge } from "./merge.js";
import { MAX_TAKEN, type OnError, type OnNext, Outgoing } from "./outgoing.js";
import { hasQuestions, Questions } from "./questions.js";
import type { Push } from "./writer.js";

/**
 * Turns a handler's messages into blocks of Server-Sent Events. Resolves with the first message, so that a handler can still refuse with a
 * status, or after one heartbeat without a message, so that no proxy or caller takes the server for dead. Rejects with what the handler threw
 * before that, or with `NO_MESSAGES` where the contract has an answer for that. The scope's end aborts the handler. `head` is given where the
 * contract has headers of the answer.
 */
export async function produce(context: Context, called: Called, scope: Scope, head?: StreamHead): Promise<Production> {
  const { contract, options, limits, handlers } = context;
  const { stream, none } = contract.operations[called.operation]!.answer;
  const described = stream!;
  const encode = encoderFor(contract, {
    side: "server",
    names: described.messages,
    checks: contract.checks,
    profile: options.profile,
  });
  // The end of its session aborts the handler, and leaves what was sent before to the reader.
  const handler = described.closedBy === undefined ? scope : scope.child();
  const questions = new Questions(context, called, handler);
  const note = hasQuestions(context, called) ? (message: AnyMessage) => questions.note(message) : undefined;
  const own = new Outgoing(context, called, { encode, note }, handler);
  const call = streamCallOf(context, called, handler, {
    send: own.send,
    ask: (message, options) => questions.ask(message, options, own.send),
    headers: head?.set,
  });
  own.begin(handlers[called.operation]!(called.input, call));
  const merged =
    described.closedBy === undefined ? undefined : new SessionMerge(context, called, own, encode, scope, handler);
  const handled = new Handled({ context, operation: called.operation, called, described, scope, encode, own, merged });
  const waiting = scope.child();
  // A handler that is known to have no message of its own need not be waited for.
  if (merged) merged.onHandlerDone = () => waiting.close();
  const early = await until(waiting, headersDueAfter(limits), handled.first!);
  if (scope.closed) throw scope.reason ?? cancelled();
  if (early && !early.encoded && none !== undefined) throw NO_MESSAGES;
  if (early && !early.encoded && needsEnd(described)) throw unended(called.operation, described);
  head?.seal();
  handled.open(early === undefined);
  return handled;
}

interface Handling {
  readonly context: Context;
  readonly operation: string;
  readonly called: Called;
  readonly described: Stream;
  readonly scope: Scope;
  readonly encode: Encode;
  readonly own: Outgoing;
  readonly merged: SessionMerge | undefined;
}

const DONE = { done: true, value: undefined } as const;

type Blocks = IteratorResult<readonly string[]>;

/** A handler's messages as blocks. A hand-written iterator: an async generator would cost each message three more promises. */
class Handled implements Production, AsyncIterator<readonly string[]> {
  readonly #handling: Omit<Handling, "called">;
  /** Undefined once it is released. */
  #called: Called | undefined;
  /** The first message, requested at once and checked before the request is accepted; undefined once it is read. Without one the handler is done. */
  first: Promise<{ readonly encoded: Encoded | undefined }> | undefined;
  headersDue = false;
  #resolve: ((blocks: Blocks) => void) | undefined;
  #push: Push | undefined;
  #id: ((seq: number) => string) | undefined;
  #last = "";
  #seq = 0;
  #over = false;
  #how: How = "gone";

  constructor({ called, ...handling }: Handling) {
    this.#handling = handling;
    this.#called = called;
    this.first = new Promise((resolve, reject) => this.#pull((encoded) => resolve({ encoded }), reject));
    // It may reject when nobody reads it any more.
    this.first.catch(() => {});
  }

  /** The caller is let in. */
  open(headersDue: boolean): void {
    const { context, scope } = this.#handling;
    const called = this.#called!;
    this.headersDue = headersDue;
    context.callbacks.open(called);
    scope.add(() => context.callbacks.close(called, this.#how));
  }

  blocks(id?: (seq: number) => string): AsyncIterator<readonly string[]> {
    this.#id = id;
    return this;
  }

  onPush(push: Push): void {
    this.#push = push;
  }

  delivered(seq: number): void {
    this.#handling.merged?.delivered(seq);
  }

  release(): void {
    this.#called = undefined;
  }

  next(): Promise<Blocks> {
    if (this.#over) return Promise.resolve(DONE);
    if (this.#isEnded()) return Promise.resolve(this.#finish());
    return new Promise((resolve) => {
      this.#resolve = resolve;
      const { first } = this;
      if (!first) return this.#pull(this.#onNext, this.#onError);
      // It may be large, and the stream may last.
      this.first = undefined;
      first.then(({ encoded }) => this.#onNext(encoded), this.#onError);
    });
  }

  #pull(onNext: OnNext, onError: OnError): void {
    try {
      (this.#handling.merged ?? this.#handling.own).pull(onNext, onError);
    } catch (error) {
      onError(error);
    }
  }

  readonly #onNext = (encoded: Encoded | undefined): void => {
    const { operation, described, scope, merged, own } = this.#handling;
    const blocks: string[] = [];
    try {
      if (encoded) {
        blocks.push(this.#block(encoded));
        // A large message is written alone, and not copied into one text with others.
        const further = encoded.data.length < MAX_TAKEN ? (merged ?? own).rest() : [];
        for (const each of further) {
          if (this.#isEnded()) break;
          blocks.push(this.#block(each));
        }
        return this.#hand(blocks);
      }
      if (scope.closed) return this.#settle(this.#end("gone"));
      if (needsEnd(described) && !described.mayEnd?.includes(this.#last)) throw unended(operation, described);
      this.#settle(this.#finish());
    } catch (error) {
      blocks.push(...this.#fail(error));
      this.#settle(blocks.length > 0 ? { done: false, value: blocks } : DONE);
    }
  };

  readonly #onError = (error: unknown): void => {
    const blocks = this.#fail(error);
    this.#settle(blocks.length > 0 ? { done: false, value: blocks } : DONE);
  };

  /** Pushes blocks while a request for some waits, because a promise for each would cost as much as the rest of a short message. */
  #hand(blocks: readonly string[]): void {
    const pushed = this.#resolve && !this.#isEnded() ? this.#push?.(blocks) : undefined;
    if (pushed === "taken") this.#pull(this.#onNext, this.#onError);
    else this.#settle({ done: false, value: pushed === "full" ? [] : blocks });
  }

  #settle(blocks: Blocks): void {
    const resolve = this.#resolve;
    // It would keep its promise, and the promise the blocks, for as long as the stream is kept.
    this.#resolve = undefined;
    resolve?.(blocks);
  }

  #isEnded(): boolean {
    return this.#handling.described.end?.includes(this.#last) === true;
  }

  #block(encoded: Encoded): string {
    const { context, merged } = this.#handling;
    const refusal = this.#called && context.callbacks.message(this.#called, encoded.message, "server");
    // The stream ends with it as with any failure; its last message, the fault, is not refused again.
    if (refusal && !this.#over) throw refusal;
    this.#seq++;
    this.#last = encoded.message.type;
    const { sent } = encoded;
    if (!this.#id) {
      sent?.had();
      return encoded.block();
    }
    if (sent) merged?.place(sent, this.#seq);
    return encoded.block(this.#id(this.#seq));
  }

  /** Ends the stream, with the protocol's sentinel where it has one. The sentinel has a place, so that a reader without it resumes. */
  #finish(): IteratorResult<readonly string[]> {
    const { sentinel } = this.#handling.described;
    this.#end("done");
    if (sentinel === undefined) return DONE;
    this.#seq++;
    return { done: false, value: [encode({ data: sentinel, id: this.#id?.(this.#seq) })] };
  }

  #end(how: How): typeof DONE {
    if (!this.#over) this.#how = how;
    this.#over = true;
    return DONE;
  }

  /** The protocol's own error, where its stream has one. */
  #fail(error: unknown): readonly string[] {
    const { context, operation, described, scope, encode } = this.#handling;
    const called = this.#called;
    if (!called || this.#over || scope.closed) {
      this.#end("gone");
      return [];
    }
    this.#end("failed");
    const refusal = refusalOf(error);
    context.callbacks.refuse(called, refusal, error, operation);
    reportHidden(context, error, "handler", operation);
    if (described.fault === undefined) return [];
    return [this.#block(encode(faultMessage(context.contract, described.fault, refusal)))];
  }
}

/** Whether a handler must send an end message. Returning ends a stream with a sentinel, and one without end messages. */
function needsEnd({ end = [], sentinel }: Stream): boolean {
  return end.length > 0 && sentinel === undefined;
}

function unended(operation: string, { end = [] }: Stream): TypeError {
  return misuse(`the handler of ${operation} returned without ${end.join(" or ")}`);
}
