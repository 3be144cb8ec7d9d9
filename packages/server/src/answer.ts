import type { OpenAsk } from "@parlance/contract";
import { type AnyMessage, assertChecked, checkOf, fault, Refusal, type Route, unbind } from "@parlance/wire";
import { readBody } from "./body.js";
import { type Feed, readable } from "./feed.js";
import { type Called, MAX_MESSAGE_SIZE } from "./options.js";
import { callOf, identify, refusalOf, type Serving, sessionOf, tell } from "./serving.js";
import { streamFeed } from "./stream.js";

/** What is answered to a request: a text, or a feed that an adapter writes as it comes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Feed;
}

/** Answers a request to an operation: never throws. `gone` is aborted when nobody waits for the answer any more. */
export async function answer(
  serving: Serving,
  route: Route | undefined,
  request: Request,
  gone: AbortSignal,
): Promise<Answer> {
  const { contract } = serving;
  let name: string | undefined;
  try {
    const { pathname, searchParams: query } = new URL(request.url);
    if (!route) throw new Refusal(`there is nothing at ${request.method} ${pathname}`, { status: 404 });
    if ("allow" in route) {
      const answered = refuse(
        serving,
        request,
        new Refusal(`${pathname} is for ${route.allow.join(", ")}, not ${request.method}`, { status: 405 }),
      );
      return { ...answered, headers: { ...answered.headers, Allow: route.allow.join(", ") } };
    }
    if ("channel" in route) {
      const upgrade = new Refusal(`${pathname} is a WebSocket: ask for an upgrade`, { status: 426 });
      const answered = refuse(serving, request, upgrade, route.channel);
      return { ...answered, headers: { ...answered.headers, Upgrade: "websocket" } };
    }
    name = route.operations[0]!;
    const principal = await identify(serving, request);
    const takesBody = route.operations.some((operation) => contract.operations[operation]!.body !== undefined);
    const body = takesBody
      ? await readBody(contract, request, name, serving.options.maxMessageSize ?? MAX_MESSAGE_SIZE)
      : undefined;
    const unbound = unbind(contract, await serving.accepts(), route.operations, { path: route.path, query, body });
    name = unbound.name;
    const called: Called = { operation: name, input: unbound.input, request, principal };
    await serving.options.hooks?.request?.(called);
    return await run(serving, called, gone);
  } catch (error) {
    return refuse(serving, request, error, name);
  }
}

async function run(serving: Serving, called: Called, gone: AbortSignal): Promise<Answer> {
  const { contract, handlers } = serving;
  const { operation: name, input } = called;
  const { answer, path } = contract.operations[name]!;
  const handler = handlers[name];
  if (!handler) throw new Refusal(`${name} at ${path} is not offered here`, { status: 501 });
  if (answer.stream) return stream(serving, called, gone);

  const reply = { ...input, type: name } as AnyMessage;
  const session = sessionOf(serving, called);
  const found = session === undefined ? undefined : serving.sessions.find(session, reply);
  let settled = false;
  const ask: OpenAsk | undefined = found && {
    message: found.ask.message,
    settle(answer) {
      settled = true;
      serving.sessions.settle(session!, answer);
    },
  };
  const value = await handler(input, callOf(serving, called, gone, ask));
  if (ask && !settled) ask.settle(reply);
  const streams = [
    ...Object.values(contract.operations).map(({ answer }) => answer.stream),
    ...Object.values(contract.channels),
  ];
  const ended = streams.some((stream) => stream?.closedBy === name);
  if (ended && session !== undefined) serving.sessions.end(session);

  if (answer.text !== undefined)
    return { status: answer.status, headers: { "Content-Type": answer.text }, body: String(value) };
  if (answer.json === undefined) return { status: answer.status, headers: {}, body: "" };
  assertChecked(checkOf(contract, contract.checks, answer.json), value, {
    protocol: contract.name,
    side: "server",
    subject: name,
  });
  return { status: answer.status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

async function stream(serving: Serving, called: Called, gone: AbortSignal): Promise<Answer> {
  const left = new AbortController();
  const signal = AbortSignal.any([gone, left.signal, serving.closing]);
  const messages = serving.handlers[called.operation]!(
    called.input,
    callOf(serving, called, signal),
  ) as AsyncIterable<AnyMessage>;
  const body = await streamFeed(serving, called, messages, {
    signal,
    leave: () => left.abort(new DOMException("the reader has gone", "AbortError")),
  });
  return { status: 200, headers: STREAM_HEADERS, body };
}

/** A default nginx holds events back for seconds without the second, and a compressing proxy without the first. */
const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

export function refuse({ contract, options }: Serving, request: Request, error: unknown, name?: string): Answer {
  const refusal = refusalOf(error);
  tell(options.hooks, request, refusal, error, name);
  const { status, type, body } = fault(contract, name, refusal);
  const headers: Record<string, string> = { "Content-Type": type };
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="parlance"';
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  return { status, headers, body };
}

/** An answer as a web response. */
export function toResponse({ status, headers, body }: Answer): Response {
  const empty = status === 204 || status === 205;
  return new Response(empty ? null : typeof body === "string" ? body : readable(body), { status, headers });
}
