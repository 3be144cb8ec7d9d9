import type { Checks, ContractValue } from "@parlance/contract";
import { type AnyContract, type OpenSocket, parseTicket, type Refusal, router, Violation } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { answer } from "./answer.js";
import { type Accepted, accept, converse } from "./channel.js";
import { memoryLog } from "./log.js";
import { GRACE, MAX_QUEUED, type ServeOptions } from "./options.js";
import { sharedSessions } from "./peers.js";
import { closing as closingReason } from "./reason.js";
import { type Answer, refuse, toResponse } from "./reply.js";
import { runs } from "./run.js";
import type { Handlers, Serving } from "./serving.js";
import { sessions } from "./session.js";
import { slots } from "./slot.js";

/** A contract with handlers behind it. */
export interface App {
  readonly contract: AnyContract;
  /** Answers any request; refuses in the protocol's own words, and never throws. */
  fetch(request: Request): Promise<Response>;
  /** Opens channels in memory: `connect(contract, { fetch: app.fetch, webSocket: app.webSocket })`. */
  readonly webSocket: OpenSocket;
  /** Whether callers say who they are (`authenticate`). */
  readonly authenticates: boolean;
  /** For adapters: a refusal in the protocol's own words, before anything else is looked at. */
  refuse(request: Request, refusal: Refusal): Answer;
  /** Whether the path is one of this contract's, whatever the method. */
  knows(pathname: string): boolean;
  /** For adapters: an answer that is not yet a `Response`. */
  answer(request: Request, gone: AbortSignal): Promise<Answer>;
  /** For adapters: what to do with a request for a socket. */
  accept(request: Request, protocols?: readonly string[]): Promise<Accepted>;
  /** Refuses new calls with 503, ends streams without an end of their own, and closes channels with 1001. The rest may finish. */
  drain(): void;
  /** The same, and aborts the signal of every handler that still runs. */
  close(): void;
}

/**
 * Serves a contract. The handlers are plain functions, one an operation, an async generator for a stream, and
 * `(input, channel, call)` for a channel.
 */
export function serve<H>(contract: ContractValue<unknown, H>, handlers: H, options: ServeOptions = {}): App {
  const any = contract as unknown as AnyContract;
  if (any.format !== 1)
    throw new Violation(`the contract has format ${any.format}, this server reads format 1: update @parlance/server`, {
      code: "format",
      protocol: any.name,
      side: "server",
    });
  const draining = new AbortController();
  const closing = new AbortController();
  const maxQueued = options.maxQueued ?? MAX_QUEUED;
  let accepts: Promise<Checks> | undefined;
  const open = new Map<string, number>();
  const serving: Serving = {
    contract: any,
    accepts: () => {
      accepts ??= any.accepts().then(({ checks }) => checks);
      return accepts;
    },
    handlers: handlers as Handlers,
    options,
    sessions: options.relay
      ? sharedSessions(any, options.relay, maxQueued, (onIdle) => sessions(any, maxQueued, onIdle))
      : sessions(any, maxQueued),
    runs: runs({ log: options.log ?? memoryLog(), relay: options.relay, grace: options.grace ?? GRACE, maxQueued }),
    open,
    shutting: new Set(),
    running: new Set(),
    slots: slots({ contract: any, options, open }, (called, port) => void converse(serving, called, port)),
    route: router(any),
    draining: draining.signal,
    closing: closing.signal,
  };
  const { route } = serving;
  const routeOf = (request: Request) => route(request.method, new URL(request.url).pathname);
  const app: App = {
    contract: any,
    authenticates: options.authenticate !== undefined,
    refuse: (request, refusal) => refuse(serving, request, refusal),
    knows: (pathname) => route("GET", pathname) !== undefined,
    answer: (request, gone) => answer(serving, routeOf(request), request, gone),
    async fetch(request) {
      const { signal } = request;
      return toResponse(await unlessAborted(app.answer(request, signal), signal), signal);
    },
    async accept(request, protocols = []) {
      const ticket = parseTicket(protocols);
      const redeemed = ticket && (await serving.slots.redeem(ticket, request));
      if (redeemed) return redeemed;
      const found = routeOf(request);
      if (found && "channel" in found && !ticket) return accept(serving, found.channel, found.path, request);
      const { status, headers, body } = await app.answer(request, request.signal);
      return { refused: { status, headers, type: "application/json", body: String(body) } };
    },
    async webSocket(url, { headers, protocols }) {
      const accepted = await app.accept(new Request(url.replace(/^ws/, "http"), { headers }), protocols);
      if ("refused" in accepted) return accepted;
      const [near, far] = pair();
      accepted.run(far);
      return near;
    },
    drain() {
      draining.abort(closingReason());
      for (const shut of serving.shutting) shut();
    },
    close() {
      app.drain();
      closing.abort(closingReason());
      for (const cancel of serving.running) cancel();
      serving.runs.close();
      serving.sessions.close();
      serving.slots.close();
    },
  };
  return app;
}

/** What waits for an answer hears at once that the request was aborted, as with any fetch. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
