import { RESUME, Refusal, type Route } from "@parlance/wire";
import { brief, MAX_NAME, MAX_QUOTED } from "@parlance/wire/errors";
import type { Scope } from "@parlance/wire/scope";
import { type Context, calledOf, enter, refuseLeftOut } from "../call.js";
import { callChannel } from "../channel/converse.js";
import type { Called } from "../hooks.js";
import type { ChannelDelivery, StreamDelivery } from "../ports.js";
import { isRevoked } from "../reason.js";
import { produce } from "../stream/produce.js";
import { type Answer, methodOf } from "./answer.js";
import { readBody, refuseForm, uploadOf } from "./body.js";
import { operate } from "./operate.js";
import type { HttpRequest } from "./request.js";
import { refuse, STREAM_HEADERS } from "./response.js";

/** How an app delivers conversations, and answers requests to resume or cancel them. */
export interface Deliveries {
  readonly streams: StreamDelivery;
  readonly channels: ChannelDelivery;
  /** Answers a request that resumes or cancels a conversation; undefined for any other request. */
  readonly resume?: ((request: HttpRequest, call: Scope) => Promise<Answer | undefined> | undefined) | undefined;
}

/** The answer on a lost connection: nothing is written. */
const GONE: Answer = { status: 499, headers: {}, body: "" };

/** Answers a request to an operation: never throws. `call` closes when its connection does. */
export async function dispatch(
  context: Context,
  deliveries: Deliveries,
  request: HttpRequest,
  call: Scope,
): Promise<Answer> {
  const named: Named = {};
  try {
    const answer = await route(context, deliveries, request, call, named);
    finish(context, named, answer);
    return answer;
  } catch (error) {
    if (call.closed && !context.root.closed && !isRevoked(call.reason)) return GONE;
    const answer = refuse(context, request, context.root.closed ? closingRefusal() : error, named.operation);
    finish(context, named, answer);
    return named.headers ? { ...answer, headers: { ...answer.headers, ...named.headers } } : answer;
  }
}

/** An operation is answered. A stream that is refused before it is open is no operation. */
function finish({ callbacks, contract }: Context, { called, began = 0 }: Named, { status }: Answer): void {
  if (called && !contract.operations[called.operation]!.answer.stream) callbacks.done(called, status, began);
}

const NO_QUERY = new URLSearchParams();

/** What is known of a request when it is refused. */
interface Named {
  operation?: string;
  called?: Called;
  /** The time at which its input was known. */
  began?: number;
  headers?: Readonly<Record<string, string>>;
}

async function route(
  context: Context,
  { streams, channels, resume }: Deliveries,
  request: HttpRequest,
  call: Scope,
  named: Named,
): Promise<Answer> {
  const { pathname } = request.url;
  const resumed = resume?.(request, call);
  const answered = resumed && (await resumed);
  if (answered) return answered;
  refuseWhileClosing(context);
  const found = context.route(methodOf(request.method), pathname);
  if (!found)
    throw new Refusal(`there is nothing at ${brief(request.method, MAX_NAME)} ${brief(pathname, MAX_QUOTED)}`, {
      status: 404,
    });
  if ("allow" in found) {
    const read = context.route("GET", pathname)!;
    named.headers = { Allow: [...found.allow, ...("operations" in read ? ["HEAD"] : [])].join(", ") };
    throw new Refusal(
      `${brief(pathname, MAX_QUOTED)} is for ${found.allow.join(", ")}, not ${brief(request.method, MAX_NAME)}`,
      {
        status: 405,
      },
    );
  }
  if ("channel" in found) {
    named.operation = found.channel;
    const offered =
      request.headers.has(RESUME) &&
      (await channels.offer(await callChannel(context, found.channel, found.path, request, call), call));
    if (offered) return offered;
    named.headers = { Upgrade: "websocket" };
    throw new Refusal(`${brief(pathname, MAX_QUOTED)} is a WebSocket: ask for an upgrade`, { status: 426 });
  }
  named.operation = found.operations[0]!;
  const { called, body } = await callOperation(context, found, request, call);
  named.operation = called.operation;
  named.called = called;
  named.began = performance.now();
  const hooked = context.callbacks.request(call, called);
  if (hooked) await hooked;
  refuseLeftOut(context, called.operation);
  const { answer } = context.contract.operations[called.operation]!;
  if (request.method === "HEAD" && hasEffects(context, called.operation))
    return { status: answer.status, headers: answer.stream ? STREAM_HEADERS : {}, body: "" };
  if (answer.stream) return streams.deliver(called, request, call, (scope) => produce(context, called, scope));
  return operate(context, called, body, call);
}

/** Whether a handler may not run for a HEAD, which is safe to send (RFC 9110, section 9.2.1): it streams, decides an ask or ends a session. */
function hasEffects({ operations }: Context, name: string): boolean {
  const operation = operations.get(name);
  return !operation || operation.settles || operation.endsSession;
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
  request: HttpRequest,
  call: Scope,
): Promise<{ called: Called; body?: ReadableStream<Uint8Array> }> {
  const { contract, ledger, limits, options, ownerOf } = context;
  const first = operations[0]!;
  const { binary } = contract.operations[first]!;
  const principal = options.authenticate && (await enter(context, request, call));
  const { unbind } = await context.accepts();
  const { headers, url } = request;
  const query = url.search === "" ? NO_QUERY : url.searchParams;
  if (binary !== undefined) {
    const { input } = unbind([first], { path, query, headers });
    const body = uploadOf(request, binary, first, limits, call);
    return { called: calledOf(first, input, principal, request), body };
  }
  const takesBody = operations.some((operation) => contract.operations[operation]!.body !== undefined);
  const received = takesBody ? ledger.received(ownerOf(principal), call) : undefined;
  const body = received ? await readBody(context, request, first, received, call) : refuseForm(request, first);
  const { name, input } = unbind(operations, { path, query, headers, body });
  return { called: calledOf(name, input, principal, request, received) };
}
