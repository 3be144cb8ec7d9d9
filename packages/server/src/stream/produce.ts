import type { Stream } from "@parlance/contract";
import { type AnyMessage, encode, faultMessage, type Written } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import { type Context, callOf, isHidden, refusalOf } from "../call.js";
import { invoke } from "../callback.js";
import { encoderFor } from "../codecs.js";
import type { Called, How } from "../options.js";
import type { Production } from "../ports.js";
import { cancelled } from "../reason.js";
import { type Encoded, mergeSession } from "./merge.js";

/**
 * Turns a handler's messages into blocks of Server-Sent Events. Resolves with the first message, so that a handler can still refuse with a
 * status, or after one heartbeat without a message, so that no proxy or caller takes the server for dead. Rejects with what the handler threw
 * before that. The scope's end aborts the handler.
 */
export async function produce(context: Context, called: Called, scope: Scope): Promise<Production> {
  const { contract, options, callbacks, limits, handlers } = context;
  const described = contract.operations[called.operation]!.answer.stream!;
  const encodeMessage = encoderFor(contract, {
    side: "server",
    names: described.messages,
    checks: contract.checks,
    profile: options.profile,
  });
  const call = callOf(context, called, scope.signal);
  // An async function may return its messages as well, or throw what refuses the call.
  const messages = await within(scope, limits.answerWithin, `the handler of ${called.operation}`, () =>
    handlers[called.operation]!(called.input, call),
  );
  const own = messagesOf(messages, called.operation)[Symbol.asyncIterator]();
  // A failure of the handler's clean-up has no reader any more.
  scope.add(() =>
    invoke(
      () => own.return?.(),
      (error) => callbacks.report(error, "handler", called.operation),
    ),
  );
  const merged =
    described.closedBy === undefined ? undefined : mergeSession(context, called, own, encodeMessage, scope);
  const source: AsyncIterator<readonly Encoded[]> = merged ?? {
    async next() {
      const { done, value } = await own.next();
      return done ? { done, value: undefined } : { done, value: [{ message: value, written: encodeMessage(value) }] };
    },
  };
  const ends = new Set(described.end);
  const first = source.next();
  // It may reject when nobody reads it any more.
  first.catch(() => {});
  const early = await firstWithin(limits.heartbeat, first, scope, merged?.handlerDone);
  if (scope.closed) throw scope.reason ?? cancelled();
  if (early?.done && ends.size > 0) throw unended(called.operation, ends);

  let how: How = "gone";
  callbacks.open(called);
  scope.add(() => callbacks.close(called, how));
  const setHow = (value: How): void => {
    how = value;
  };
  return {
    headersDue: early === undefined,
    delivered: (seq) => merged?.delivered(seq),
    undelivered: () => merged?.undelivered() ?? [],
    blocks: (id) =>
      blocksOf({
        context,
        called,
        described,
        scope,
        encodeMessage,
        source,
        first,
        setHow,
        place: id && merged?.place,
        id,
      }),
  };
}

interface Blocks {
  readonly context: Context;
  readonly called: Called;
  readonly described: Stream;
  readonly scope: Scope;
  readonly encodeMessage: (message: AnyMessage) => Written;
  readonly source: AsyncIterator<readonly Encoded[]>;
  /** The first step, which was asked for already. */
  readonly first: Promise<IteratorResult<readonly Encoded[]>>;
  readonly setHow: (how: How) => void;
  /** Notes the place of a message that was sent to the session, for a reader that may not get it. */
  readonly place: ((message: AnyMessage, seq: number) => void) | undefined;
  readonly id: ((seq: number) => string) | undefined;
}

const DONE = { done: true, value: undefined } as const;

// An iterator by hand: an async generator around the handler's own would cost each message three more promises.
function blocksOf({ context, called, described, scope, encodeMessage, source, first, setHow, place, id }: Blocks) {
  const { callbacks, contract } = context;
  const ends = new Set(described.end);
  const mayEnd = new Set(described.mayEnd);
  let waiting: typeof first | undefined = first;
  let last = "";
  let seq = 0;
  let over = false;

  function block({ message, written: { event, data }, foreign }: Encoded): string {
    callbacks.message(called, message, "server");
    seq++;
    if (foreign) place?.(message, seq);
    return encode({ event, data, id: id?.(seq) });
  }

  function end(how: How): typeof DONE {
    if (!over) setHow(how);
    over = true;
    return DONE;
  }

  /** The protocol's own error, where its stream has one. */
  function fail(error: unknown): readonly string[] {
    if (over || scope.closed) {
      end("gone");
      return [];
    }
    end("failed");
    const refusal = refusalOf(error);
    callbacks.refuse(called.request, refusal, error, called.operation);
    if (isHidden(error)) callbacks.report(error, "handler", called.operation);
    if (described.fault === undefined) return [];
    const message = faultMessage(contract, described.fault, refusal);
    return [block({ message, written: encodeMessage(message) })];
  }

  return {
    async next(): Promise<IteratorResult<readonly string[]>> {
      if (over) return DONE;
      if (ends.has(last)) return end("done");
      const texts: string[] = [];
      try {
        const step = await (waiting ?? source.next());
        waiting = undefined;
        if (!step.done) {
          for (const encoded of step.value) {
            texts.push(block(encoded));
            last = encoded.message.type;
            if (ends.has(last)) break;
          }
          return { done: false, value: texts };
        }
        if (ends.size > 0 && !mayEnd.has(last) && !scope.closed) throw unended(called.operation, ends);
        return end(scope.closed ? "gone" : "done");
      } catch (error) {
        texts.push(...fail(error));
        return texts.length > 0 ? { done: false, value: texts } : DONE;
      }
    },
  };
}

function unended(operation: string, ends: ReadonlySet<string>): TypeError {
  return new TypeError(`the handler of ${operation} returned without ${[...ends].join(" or ")}`);
}

function messagesOf(returned: unknown, operation: string): AsyncIterable<AnyMessage> {
  const iterable = (returned ?? {}) as AsyncIterable<AnyMessage>;
  if (typeof iterable[Symbol.asyncIterator] === "function") return iterable;
  throw new TypeError(`the handler of ${operation} returned no messages: write it as \`async *${operation}\``);
}

/** The first step, or undefined when headers are due before it: after a time (0 waits), or when the handler is known to have none. */
async function firstWithin<T>(
  milliseconds: number,
  first: Promise<T>,
  scope: Scope,
  handlerDone: Promise<void> | undefined,
): Promise<T | undefined> {
  let due = () => {};
  const without = new Promise<undefined>((resolve) => {
    due = () => resolve(undefined);
  });
  const stops = [scope.hold(due), ...(milliseconds > 0 ? [scope.timeout(milliseconds, due)] : [])];
  handlerDone?.then(due);
  try {
    return await Promise.race([first, without]);
  } finally {
    for (const stop of stops) stop();
  }
}
