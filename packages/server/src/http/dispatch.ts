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
import { readBody, refuseForm } from "./body.js";
import { callChannel } from "./channel.js";
import { feed } from "./feed.js";
import { type Called, HEARTBEAT, MAX_MESSAGE_SIZE, STALL } from "./options.js";
import { closing, gone as nobody } from "./reason.js";
import { type Answer, refuse, STREAM_HEADERS, streamed } from "./reply.js";
import { resume, runName } from "./resume.js";
import type { RunSource } from "./run.js";
import { callOf, identify, occupy, type Serving, sessionOf } from "./serving.js";
import { openStream } from "./stream.js";

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
    const resumed = await resume(serving, request, pathname);
    if (resumed) return resumed;
    if (serving.draining.aborted) throw new Refusal("the server is closing", { status: 503, retryAfter: 1 });
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
      name = route.channel;
      const offered =
        request.headers.has(RESUME) &&
        (await serving.slots.offer(await callChannel(serving, name, route.path, request)));
      if (offered) return offered;
      const upgrade = new Refusal(`${pathname} is a WebSocket: ask for an upgrade`, { status: 426 });
      const answered = refuse(serving, request, upgrade, route.channel);
      return { ...answered, headers: { ...answered.headers, Upgrade: "websocket" } };
    }
    name = route.operations[0]!;
    const principal = await identify(serving, request);
    const takesBody = route.operations.some((operation) => contract.operations[operation]!.body !== undefined);
    const body = takesBody
      ? await readBody(contract, request, name, serving.options.maxMessageSize ?? MAX_MESSAGE_SIZE)
      : refuseForm(request, name);
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
  const found = session === undefined ? undefined : await serving.sessions.find(session, reply);
  let settled: { readonly done: Promise<void> | void } | undefined;
  const ask: OpenAsk | undefined = found && {
    message: found.message,
    settle(answer) {
      const done = serving.sessions.settle(session!, answer);
      done?.catch(() => {});
      settled = { done };
    },
  };
  const value = await handler(input, callOf(serving, called, gone, ask));
  if (answer.json !== undefined)
    assertChecked(checkOf(contract, contract.checks, answer.json), value, {
      protocol: contract.name,
      side: "server",
      subject: name,
    });
  if (ask && !settled) ask.settle(reply);
  // The ask may be another server's, which says whether this answer was the first.
  await settled?.done;
  if (session !== undefined && endsSession(contract, name)) serving.sessions.end(session);

  if (answer.text !== undefined)
    return { status: answer.status, headers: { "Content-Type": answer.text }, body: String(value) };
  if (answer.json === undefined) return { status: answer.status, headers: {}, body: "" };
  return { status: answer.status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

function endsSession({ operations, channels }: AnyContract, name: string): boolean {
  const streams = [...Object.values(operations).map(({ answer }) => answer.stream), ...Object.values(channels)];
  return streams.some((stream) => stream?.closedBy === name);
}

async function stream(serving: Serving, called: Called, gone: AbortSignal): Promise<Answer> {
  const { contract, handlers, options, runs } = serving;
  const run = runName(serving, called);
  const vacate = occupy(serving, called.principal);
  const endless = contract.operations[called.operation]!.answer.stream!.end === undefined;
  const left = new AbortController();
  const leave = (reason: unknown = nobody()) => left.abort(reason);
  const ending = endless ? serving.shutting : serving.running;
  const end = () => leave(closing());
  const release = () => {
    vacate();
    ending.delete(end);
  };
  const claim = run === undefined ? undefined : await runs.claim(run, leave);
  if (run !== undefined && !claim) {
    release();
    // The copy of a GET joins what the first has begun. With a cursor it was a join already, of what is over.
    const { method, headers } = called.request;
    const joined = method === "GET" && !headers.has("Last-Event-ID") && (await runs.join(run, undefined));
    if (joined && !("gap" in joined)) return streamed(serving, joined);
    throw new Refusal("this resume key is in use or was cancelled: join it by GET", { status: 409 });
  }
  if (claim) gone.addEventListener("abort", claim.forsake, { once: true });
  // A run that can be joined again outlives the request that began it.
  else gone.addEventListener("abort", () => leave(gone.reason), { once: true });
  ending.add(end);
  if (gone.aborted && !claim) leave(gone.reason);
  if ((endless ? serving.draining : serving.closing).aborted) end();
  const { signal } = left;
  let source: RunSource;
  try {
    const call = callOf(serving, called, signal);
    const messages = handlers[called.operation]!(called.input, call) as AsyncIterable<AnyMessage>;
    source = await openStream(serving, called, messages, { signal, leave, release });
  } catch (error) {
    release();
    await claim?.drop();
    throw error;
  }
  if (claim) return streamed(serving, claim.begin(source), source.late);
  const heartbeat = options.heartbeat ?? HEARTBEAT;
  const blocks = source.blocks();
  const onStop = () => {
    leave();
    blocks.return?.()?.catch(() => {});
  };
  return {
    status: 200,
    headers: STREAM_HEADERS,
    body: feed(blocks, { heartbeat, late: source.late, stall: options.stall ?? STALL, onStop }),
  };
}
