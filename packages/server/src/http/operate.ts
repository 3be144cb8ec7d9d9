import { type AnyMessage, type OpenAsk, Refusal } from "@parlance/wire";
import { isThenable, type Scope, until, within } from "@parlance/wire/scope";
import { asksOf, type Context, callOf, sessionOf } from "../call.js";
import type { Called } from "../hooks.js";
import { ANYBODY } from "../identity.js";
import { MIN_SHARE } from "../ledger.js";
import type { Limits } from "../limits.js";
import type { Claimed } from "../ports.js";
import { isRevoked } from "../reason.js";
import type { Answer } from "./answer.js";

/** Calls the handler of an operation and checks its answer. It settles the open ask that the operation answers, and may end its session. */
export function operate(
  context: Context,
  called: Called,
  body: ReadableStream<Uint8Array> | undefined,
  call: Scope,
): Answer | Promise<Answer> {
  const { settles, endsSession } = context.operations.get(called.operation)!;
  const owner = context.ownerOf(called.principal);
  if (owner !== ANYBODY || settles || endsSession || context.sessions.joined)
    return operateInTurn(context, called, body, call);
  context.ledger.assertRoom(() => owner, "to come");
  const value = run(context, called, body, call);
  if (!(value instanceof Promise)) return answerWith(context, called, value, call);
  return value.then((late) => answerWith(context, called, late, call));
}

/** Calls a handler that may have to wait for others, before or after. */
async function operateInTurn(
  context: Context,
  called: Called,
  body: ReadableStream<Uint8Array> | undefined,
  call: Scope,
): Promise<Answer> {
  const { ledger, limits, ownerOf, sessions } = context;
  const { operation: name, input } = called;
  const { settles, endsSession } = context.operations.get(name)!;
  const owner = (): string => ownerOf(called.principal);
  // A handler may wait for a decision, which therefore may not wait for that handler.
  const turn = settles || endsSession ? undefined : ledger.turn(owner());
  let claimed: Claimed | undefined;
  try {
    if (turn?.comes && !(await comesWithin(call, limits.stall, turn.comes))) throw waited(limits);
    ledger.assertRoom(owner, "to come");
    const reply = { ...(settles && input), type: name } as AnyMessage;
    const named = settles || endsSession || sessions.joined ? sessionOf(context, called) : undefined;
    const session = named ?? (settles ? asksOf(context, called.principal, undefined) : undefined);
    claimed = session !== undefined && settles ? await sessions.claim(session, reply) : undefined;
    // A handler of a session's decision has the protocol's own words for an unknown session or ask.
    if (settles && !claimed && named === undefined && !context.options.keepsAsks)
      throw unasked(name, session === undefined ? context.contract.session : undefined);
    let settled: { readonly done: Promise<void> | void } | undefined;
    const ask: OpenAsk | undefined = claimed && {
      message: claimed.message,
      settle(answer) {
        const done = sessions.settle(session!, answer);
        done?.catch(() => {});
        settled = { done };
      },
    };
    const answered = answerWith(context, called, await run(context, called, body, call, ask), call);
    if (ask && !settled) ask.settle(reply);
    // Another server may hold the ask; it reports whether this answer was the first.
    await settled?.done;
    if (session !== undefined && endsSession) sessions.end(session);
    if (session !== undefined) await sessions.joined?.(session);
    return answered;
  } finally {
    turn?.end();
    claimed?.release?.();
  }
}

/** Calls the handler. It is bound to the app, not the connection: a decision counts even when its caller has gone. */
function run(
  context: Context,
  called: Called,
  body: ReadableStream<Uint8Array> | undefined,
  call: Scope,
  ask?: OpenAsk,
): unknown {
  const { handlers, limits, root } = context;
  const { operation: name, input } = called;
  const own = callOf(context, called, call, ask);
  const value = body ? handlers[name]!(input, body, own) : handlers[name]!(input, own);
  return isThenable(value) ? unlessRevoked(root, call, limits.answerWithin, `the handler of ${name}`, value) : value;
}

/** Checks what a handler returned, and counts what is held of it until its caller has it. */
function answerWith(context: Context, { operation, principal }: Called, value: unknown, call: Scope): Answer {
  const { ledger, ownerOf } = context;
  const answered = context.operations.get(operation)!.answer(context, value, call);
  const { body, size = typeof body === "string" ? body.length : undefined } = answered;
  // What a stream of bytes holds is a chunk of any size.
  if (size === undefined) ledger.take(ownerOf(principal), "stream", call);
  else if (size > MIN_SHARE && !call.closed) {
    ledger.assertRoom(() => ownerOf(principal), "done");
    ledger.answer(ownerOf(principal), size, call);
  }
  return answered;
}

/** Whether a handler's turn comes in time. Handlers that call further operations of their principal would wait for each other for ever. */
async function comesWithin(call: Scope, limit: number, comes: Promise<void>): Promise<boolean> {
  const waiting = call.child();
  const isTurn = await until(
    waiting,
    limit,
    comes.then(() => true),
  );
  if (call.closed) throw call.reason;
  return isTurn === true;
}

function waited({ maxHandlers }: Limits): Refusal {
  const what = `no more than ${maxHandlers} handlers of one principal run at a time (option maxHandlers)`;
  return new Refusal(what, { status: 429, retryAfter: 1 });
}

/** `missing`: the property that would name the question's session. */
function unasked(operation: string, missing: string | undefined): Refusal {
  const what = `no question that ${operation} answers is open`;
  return new Refusal(`${what} ${missing ? `without \`${missing}\`: send it` : "with this id"}`, { status: 404 });
}

/** Waits for a handler, whose caller may go, but not be revoked. */
async function unlessRevoked(root: Scope, call: Scope, limit: number, what: string, value: PromiseLike<unknown>) {
  let stop = (): void => {};
  // The handler has closed its app, so that its own error reaches no reader.
  if (root.closed) value.then(undefined, () => {});
  try {
    return await within(root, limit, what, (attempt) => {
      stop = call.hold(() => isRevoked(call.reason) && attempt.close(call.reason));
      return value;
    });
  } finally {
    stop();
  }
}
