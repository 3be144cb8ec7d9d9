import type { OpenAsk } from "@parlance/contract";
import {
  type AnyContract,
  type AnyMessage,
  assertChecked,
  checkOf,
  RESUME,
  Refusal,
  type Route,
  unbind,
} from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import { type Context, callOf, sessionOf } from "../call.js";
import { callChannel } from "../channel/converse.js";
import type { Called } from "../options.js";
import type { ChannelDelivery, StreamDelivery } from "../ports.js";
import { produce } from "../stream/produce.js";
import type { Answer } from "./answer.js";
import { readBody, refuseForm } from "./body.js";
import { refuse } from "./response.js";

/** How the conversations of an app are delivered, and how it answers requests about those that go on. */
export interface Deliveries {
  readonly streams: StreamDelivery;
  readonly channels: ChannelDelivery;
  /** Answers a request that resumes or cancels a conversation; undefined for any other request. */
  readonly resume?: ((request: Request, pathname: string, call: Scope) => Promise<Answer | undefined>) | undefined;
}

/** What is answered when the connection is gone: nothing is written. */
const GONE: Answer = { status: 499, headers: {}, body: "" };

/** Answers a request to an operation: never throws. `call` closes when its connection does. */
export async function dispatch(
  context: Context,
  deliveries: Deliveries,
  request: Request,
  call: Scope,
): Promise<Answer> {
  const named: Named = {};
  try {
    return await route(context, deliveries, request, call, named);
  } catch (error) {
    if (call.closed && !context.root.closed) return GONE;
    const answer = refuse(context, request, context.root.closed ? closingRefusal() : error, named.operation);
    return named.headers ? { ...answer, headers: { ...answer.headers, ...named.headers } } : answer;
  }
}

/** What is known of a request when it is refused. */
interface Named {
  operation?: string;
  headers?: Readonly<Record<string, string>>;
}

async function route(
  context: Context,
  { streams, channels, resume }: Deliveries,
  request: Request,
  call: Scope,
  named: Named,
): Promise<Answer> {
  const { pathname, searchParams: query } = new URL(request.url);
  const resumed = await resume?.(request, pathname, call);
  if (resumed) return resumed;
  refuseWhileClosing(context);
  const found = context.route(request.method, pathname);
  if (!found) throw new Refusal(`there is nothing at ${request.method} ${pathname}`, { status: 404 });
  if ("allow" in found) {
    named.headers = { Allow: found.allow.join(", ") };
    throw new Refusal(`${pathname} is for ${found.allow.join(", ")}, not ${request.method}`, { status: 405 });
  }
  if ("channel" in found) {
    named.operation = found.channel;
    const offered =
      request.headers.has(RESUME) &&
      (await channels.offer(await callChannel(context, found.channel, found.path, request, call), call));
    if (offered) return offered;
    named.headers = { Upgrade: "websocket" };
    throw new Refusal(`${pathname} is a WebSocket: ask for an upgrade`, { status: 426 });
  }
  named.operation = found.operations[0]!;
  const called = await callOperation(context, found, query, request, call);
  named.operation = called.operation;
  await context.callbacks.request(call, called);
  const { answer, path } = context.contract.operations[called.operation]!;
  if (!context.handlers[called.operation])
    throw new Refusal(`${called.operation} at ${path} is not offered here`, { status: 501 });
  if (answer.stream) return streams.deliver(called, call, (scope) => produce(context, called, scope));
  return operate(context, called, call);
}

export function refuseWhileClosing({ shutdown }: Context): void {
  if (shutdown.draining) throw closingRefusal();
}

function closingRefusal(): Refusal {
  return new Refusal("the server is closing", { status: 503, retryAfter: 1 });
}

/** Authenticates a request, reads it and checks its input. */
async function callOperation(
  context: Context,
  { operations, path }: Extract<Route, { operations: readonly string[] }>,
  query: URLSearchParams,
  request: Request,
  call: Scope,
): Promise<Called> {
  const { contract, callbacks, limits } = context;
  const first = operations[0]!;
  const principal = await callbacks.authenticate(call, request);
  const takesBody = operations.some((operation) => contract.operations[operation]!.body !== undefined);
  const body = takesBody ? await readBody(contract, request, first, limits, call) : refuseForm(request, first);
  const { name, input } = unbind(contract, await context.accepts(), operations, {
    path,
    query,
    headers: request.headers,
    body,
  });
  return { operation: name, input, request, principal };
}

/** Calls the handler of an operation and checks its answer. It settles the open ask that the operation answers, and may end its session. */
async function operate(context: Context, called: Called, call: Scope): Promise<Answer> {
  const { contract, handlers, limits, sessions, root } = context;
  const { operation: name, input } = called;
  const { answer } = contract.operations[name]!;
  const reply = { ...input, type: name } as AnyMessage;
  const session = sessionOf(context, called);
  const found = session === undefined ? undefined : await sessions.find(session, reply);
  let settled: { readonly done: Promise<void> | void } | undefined;
  const ask: OpenAsk | undefined = found && {
    message: found.message,
    settle(answer) {
      const done = sessions.settle(session!, answer);
      done?.catch(() => {});
      settled = { done };
    },
  };
  // The wait is the app's, not the connection's: what a handler decides counts, also when its caller has gone.
  const value = await within(root, limits.answerWithin, `the handler of ${name}`, () =>
    handlers[name]!(input, callOf(context, called, call.signal, ask)),
  );
  if (answer.json !== undefined)
    assertChecked(
      checkOf(contract, contract.checks, answer.json),
      value,
      { protocol: contract.name, side: "server", subject: name },
      "the answer of",
    );
  if (ask && !settled) ask.settle(reply);
  // The ask may be another server's, which tells whether this answer was the first.
  await settled?.done;
  if (session !== undefined && endsSession(contract, name)) sessions.end(session);

  if (answer.text !== undefined)
    return { status: answer.status, headers: { "Content-Type": answer.text }, body: String(value) };
  if (answer.json === undefined) return { status: answer.status, headers: {}, body: "" };
  return { status: answer.status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

function endsSession({ operations, channels }: AnyContract, name: string): boolean {
  const streams = [...Object.values(operations).map(({ answer }) => answer.stream), ...Object.values(channels)];
  return streams.some((stream) => stream?.closedBy === name);
}
