import { carriersOf, RESUME, Refusal, type Route, type Unbind } from "@parlance/wire";
import { brief, MAX_NAME, MAX_QUOTED } from "@parlance/wire/errors";
import type { Scope } from "@parlance/wire/scope";
import { type Context, calledOf, enter, refuseLeftOut } from "../call.js";
import { callChannel } from "../channel/converse.js";
import type { Called } from "../hooks.js";
import type { ChannelDelivery, StreamDelivery } from "../ports.js";
import { isRevoked, NO_MESSAGES } from "../reason.js";
import { StreamHead } from "../stream/head.js";
import { asLines } from "../stream/lines.js";
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

/**
 * Answers a request to an operation: never throws. `call` closes when its connection does. It awaits only what may not be there yet, because each
 * `await` costs a turn.
 */
export async function dispatch(
  context: Context,
  { streams, channels, resume }: Deliveries,
  request: HttpRequest,
  call: Scope,
): Promise<Answer> {
  const named: Named = {};
  try {
    const resuming = resume?.(request, call);
    const resumed = resuming && (await resuming);
    if (resumed) return resumed;
    const found = routeOf(context, request, named);
    if ("channel" in found) return await offer(context, channels, found, request, call, named);
    const principal = context.options.authenticate && (await enter(context, request, call));
    const accepts = context.accepts();
    const { unbind } = "unbind" in accepts ? accepts : await accepts;
    const received = receive(context, found, request, principal, unbind, call);
    const { called, body } = "called" in received ? received : await received;
    named.operation = called.operation;
    named.called = called;
    named.began = performance.now();
    const hooked = context.callbacks.request(call, called);
    if (hooked) await hooked;
    const answering = answerCall(context, streams, request, called, body, call);
    const answer = "status" in answering ? answering : await answering;
    finish(context, named, answer);
    return answer;
  } catch (error) {
    if (call.closed && !context.root.closed && !isRevoked(call.reason)) return GONE;
    const answer = refuse(context, request, context.root.closed ? closingRefusal() : error, named.operation);
    finish(context, named, answer);
    return named.headers ? { ...answer, headers: { ...answer.headers, ...named.headers } } : answer;
  }
}

/** An operation is answered. A stream that is refused before it is open is no operation, and one without a body is. */
function finish({ callbacks, contract }: Context, { called, began = 0 }: Named, { status }: Answer): void {
  if (!called) return;
  const { stream, none } = contract.operations[called.operation]!.answer;
  if (!stream || status === none) callbacks.done(called, status, began);
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

type ToOperations = Extract<Route, { readonly operations: unknown }>;
type ToChannel = Extract<Route, { readonly channel: unknown }>;

/** Finds the target of a request. Throws the refusal where there is none. */
function routeOf(context: Context, request: HttpRequest, named: Named): ToOperations | ToChannel {
  const { method, pathname } = request;
  refuseWhileClosing(context);
  const found = context.route(methodOf(method), pathname);
  if (!found)
    throw new Refusal(`there is nothing at ${brief(method, MAX_NAME)} ${brief(pathname, MAX_QUOTED)}`, { status: 404 });
  if ("allow" in found) {
    const read = context.route("GET", pathname)!;
    named.headers = { Allow: [...found.allow, ...("operations" in read ? ["HEAD"] : [])].join(", ") };
    const what = `${brief(pathname, MAX_QUOTED)} is for ${found.allow.join(", ")}, not ${brief(method, MAX_NAME)}`;
    throw new Refusal(what, { status: 405 });
  }
  named.operation = "channel" in found ? found.channel : found.operations[0]!;
  return found;
}

/** Offers a channel to a client that comes with a key. */
async function offer(
  context: Context,
  channels: ChannelDelivery,
  { channel, path }: ToChannel,
  request: HttpRequest,
  call: Scope,
  named: Named,
): Promise<Answer> {
  if (!carriersOf(context.contract.channels[channel]!).includes("websocket"))
    throw new Refusal("stdio alone carries this channel", { status: 404 });
  const offered =
    request.headers.has(RESUME) &&
    (await channels.offer(await callChannel(context, channel, path, request, call), call));
  if (offered) return offered;
  named.headers = { Upgrade: "websocket" };
  throw new Refusal(`${brief(request.pathname, MAX_QUOTED)} is a WebSocket: ask for an upgrade`, { status: 426 });
}

function answerCall(
  context: Context,
  streams: StreamDelivery,
  request: HttpRequest,
  called: Called,
  body: ReadableStream<Uint8Array> | undefined,
  call: Scope,
): Answer | Promise<Answer> {
  refuseLeftOut(context, called.operation);
  const { answer } = context.contract.operations[called.operation]!;
  if (request.method === "HEAD" && hasEffects(context, called.operation))
    return { status: answer.status, headers: answer.stream ? STREAM_HEADERS : {}, body: "" };
  if (answer.stream && (answer.headers || answer.stream.lines || answer.none))
    return answerAdapted(context, streams, request, called, call);
  if (answer.stream) return streams.deliver(called, request, call, (scope) => produce(context, called, scope));
  return operate(context, called, body, call);
}

/** Answers with a stream whose contract has headers of the answer, an answer without a body, or lines instead of events. */
async function answerAdapted(
  context: Context,
  streams: StreamDelivery,
  request: HttpRequest,
  called: Called,
  call: Scope,
): Promise<Answer> {
  const { headers, stream, none } = context.contract.operations[called.operation]!.answer;
  const head = headers && new StreamHead(context.contract, called.operation);
  try {
    const answer = await streams.deliver(called, request, call, (scope) => produce(context, called, scope, head));
    const headed = { ...answer, headers: { ...head?.sent, ...answer.headers } };
    return stream!.lines === undefined ? headed : asLines(headed, stream!.lines);
  } catch (error) {
    if (error !== NO_MESSAGES) throw error;
    return { status: none!, headers: {}, body: "" };
  }
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

interface Received {
  readonly called: Called;
  readonly body?: ReadableStream<Uint8Array>;
}

/** Reads a request and checks its input. */
function receive(
  context: Context,
  { operations, path }: ToOperations,
  request: HttpRequest,
  principal: unknown,
  unbind: Unbind,
  call: Scope,
): Received | Promise<Received> {
  const { contract, limits } = context;
  const first = operations[0]!;
  const { binary } = contract.operations[first]!;
  if (binary === undefined && operations.some((operation) => contract.operations[operation]!.body !== undefined))
    return receiveJson(context, { operations, path }, request, principal, unbind, call);
  const arrived = { path, query: queryOf(request), headers: request.headers };
  if (binary === undefined) refuseForm(request, first);
  const { name, input } = unbind(binary === undefined ? operations : [first], arrived);
  const called = calledOf(context, name, input, principal, request);
  return binary === undefined ? { called } : { called, body: uploadOf(request, binary, first, limits, call) };
}

async function receiveJson(
  context: Context,
  { operations, path }: ToOperations,
  request: HttpRequest,
  principal: unknown,
  unbind: Unbind,
  call: Scope,
): Promise<Received> {
  const received = context.ledger.received(context.ownerOf(principal), call);
  const body = await readBody(context, request, operations[0]!, received, call);
  const { name, input } = unbind(operations, { path, query: queryOf(request), headers: request.headers, body });
  return { called: calledOf(context, name, input, principal, request, received) };
}

function queryOf(request: HttpRequest): URLSearchParams {
  return request.hasQuery ? request.url.searchParams : NO_QUERY;
}
