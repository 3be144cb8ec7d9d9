import {
  type AnyContract,
  type ContractValue,
  carriersOf,
  misuse,
  type OpenSocket,
  type Parameter,
  type Port,
  parseTicket,
  Refusal,
  type Route,
  router,
  unbinder,
  Violation,
} from "@parlance/wire";
import { brief, MAX_QUOTED } from "@parlance/wire/errors";
import { Scope, type Stats } from "@parlance/wire/scope";
import { type Context, checkHandlers, type Handlers } from "./call.js";
import { callbacks } from "./callback.js";
import { carryChannel } from "./channel/carry.js";
import { callChannel, converse, refuseSocket } from "./channel/converse.js";
import { type Converse, directChannels } from "./channel/direct.js";
import { SafePort } from "./channel/socket.js";
import { type Answer, headOf, methodOf } from "./http/answer.js";
import { type Deliveries, dispatch, refuseWhileClosing } from "./http/dispatch.js";
import { operationsOf } from "./http/operation.js";
import { guard, hostNamed, matcherOf, preflight } from "./http/origin.js";
import { type HttpRequest, httpRequest } from "./http/request.js";
import { refuse } from "./http/response.js";
import { ownersOf } from "./identity.js";
import { ledger } from "./ledger.js";
import { type Limits, resolveLimits } from "./limits.js";
import { addressOf, inMemory } from "./memory.js";
import { assertServeOptions, type ServeOptions } from "./options.js";
import type { Accepted } from "./ports.js";
import { closing, isRevoked } from "./reason.js";
import { resumableChannels } from "./resume/channels.js";
import { memoryLog } from "./resume/event-log.js";
import { resumeRequests } from "./resume/http.js";
import { ResumableStreams } from "./resume/streams.js";
import { LocalSessions } from "./session/local.js";
import { lastCalls, shutdown } from "./shutdown.js";
import { directStreams } from "./stream/direct.js";

/** A contract with handlers behind it. */
export interface App {
  readonly contract: AnyContract;
  /** Answers any request; refuses in the protocol's own words. Rejects only when the request is aborted. */
  fetch(request: Request): Promise<Response>;
  /** Opens channels in memory: `connect(contract, { fetch: app.fetch, webSocket: app.webSocket })`. */
  readonly webSocket: OpenSocket;
  /** Whether callers are authenticated (`authenticate`). */
  readonly authenticates: boolean;
  readonly limits: Limits;
  /** Counts what is held: calls, streams, channels, readers, sessions, asks, places, timers, subscriptions, finished streams, tickets, and the sizes of what is queued, logged and received. */
  stats(): Stats;
  /**
   * Ends everything that a principal holds, on every server of the cluster: streams are cut, channels close with 1008 and "revoked", calls are
   * answered with 401, and its sessions, asks, tickets and resumable streams are gone. The handlers' signals abort with that `Refusal`.
   *
   * Refusing its next call is up to `authenticate`. Sessions that principals share go on. Resolves when every server has confirmed.
   *
   * @throws `TypeError` without `authenticate`, `Disconnected` where another server does not confirm: revoke it again
   */
  revoke(principal: unknown): Promise<void>;
  /** Refuses new calls with 503, ends streams without an end of their own, and closes channels with 1001. The rest may finish. */
  drain(): void;
  /** For adapters: whether the app takes no more calls. */
  isDraining(): boolean;
  /** For adapters: runs a function when the app drains, unless the scope closes first; at once where it drains already. */
  onDrain(scope: Scope, run: () => void): void;
  /** Drains the app, cancels every handler and releases everything. Resolves when the log and pub/sub have answered: stop them then. */
  close(): Promise<void>;
  /** For adapters: whether the path is one of this contract's, whatever the method. */
  knows(pathname: string): boolean;
  /** For adapters: whether the path is a channel's. */
  isChannel(pathname: string): boolean;
  /** For adapters: opens the scope of one request. The adapter closes it when the connection is gone or the answer is written. */
  open(): Scope;
  /** For adapters: an answer that is not yet a `Response`. `bound` is the address that the adapter listens on. */
  answer(request: Request | HttpRequest, call: Scope, bound?: string): Promise<Answer>;
  /** For adapters: decides on a WebSocket handshake. The conversation closes the scope. */
  accept(request: Request | HttpRequest, protocols: readonly string[], call: Scope, bound?: string): Promise<Accepted>;
  /** For adapters: holds a channel over a port without a handshake, for this principal. Resolves when it and its handlers are over. */
  carry(channel: string, port: Port, principal: unknown, call: Scope): Promise<void>;
}

/**
 * Serves a contract. The handlers are plain functions, one an operation, an async generator for a stream, and
 * `(input, channel, call)` for a channel.
 *
 * @throws `TypeError` where a handler is missing, unless `partial` is set: then it is answered with 501.
 */
export function serve<H, Partial extends boolean = false>(
  contract: ContractValue<unknown, H>,
  handlers: [Partial] extends [true] ? { readonly [Name in keyof H]?: H[Name] | undefined } : H,
  options: ServeOptions & { readonly partial?: Partial | undefined } = {},
): App {
  const any = contract as unknown as AnyContract;
  if (!any?.operations)
    throw misuse("serve needs a contract, such as `foldGateway` of @parlance/protocols/fold-gateway");
  if (any.format !== 1 && any.format !== 2)
    throw new Violation(`the contract has format ${any.format}, this server reads 1 and 2: update @parlance/server`, {
      code: "format",
      protocol: any.name,
      side: "server",
    });
  assertServeOptions(any, options);
  const { bearer, apiKey, header } = any.auth ?? {};
  if ((bearer ?? apiKey) === "required" && !options.authenticate && !options.allowAnonymous)
    throw misuse(
      `${any.name} requires ${bearer ? "a bearer token" : "an API key"}: give \`serve\` an \`authenticate\`, such as ` +
        `\`${bearer ? "bearer(principals)" : `apiKey("${header}", principals)`}\`, or set \`allowAnonymous\``,
    );
  checkHandlers(any, handlers as Handlers, options.partial === true);
  const { context, deliveries } = compose(any, handlers as Handlers, options);
  return appOf(context, deliveries);
}

/** The base, and what outlives a connection (`resume`) or a server (`cluster`). */
function compose(contract: AnyContract, handlers: Handlers, options: ServeOptions) {
  const { cluster, resume = true, log = cluster?.log ?? memoryLog() } = options;
  const limits = resolveLimits(options);
  const ownerOf = ownersOf(options);
  const calling = callbacks(options, limits, ownerOf);
  const root = Scope.open((error) => calling.report(error, "releasing what a call held"));
  const last = lastCalls();
  const book = ledger(limits, root);
  const { report } = calling;
  const makeLocal = (onIdle?: (key: string) => void) =>
    new LocalSessions({ contract, limits, root, ledger: book, report, onIdle });
  const revoke = (owner: string) => book.revoke(owner);
  const joined = cluster?.join({ contract, limits, root, lastCalls: last, report, makeLocal, revoke });
  let accepted: ReturnType<Context["accepts"]> | undefined;
  const context: Context = {
    contract,
    accepts() {
      accepted ??= contract.accepts().then((loaded) => {
        accepted = { ...loaded, unbind: unbinder(contract, loaded) };
        return accepted;
      });
      return accepted;
    },
    handlers,
    operations: operationsOf(contract),
    options,
    limits,
    callbacks: calling,
    ownerOf,
    route: router(contract),
    ledger: book,
    sessions: joined?.sessions ?? makeLocal(),
    root,
    shutdown: shutdown(),
    lastCalls: last,
  };
  const hold: Converse = (called, port, scope) => converse(context, called, port, scope);
  const direct = { streams: directStreams(context), channels: directChannels(context, hold) };
  if (!resume) return { context, deliveries: direct };
  root.measure("logged", () => log.size?.() ?? 0);
  const streams = new ResumableStreams(context, direct.streams, log, joined?.streams);
  const channels = resumableChannels(context, direct.channels, hold, joined?.channels);
  const deliveries: Deliveries = { streams, channels, resume: resumeRequests(context, log, streams, channels) };
  return { context, deliveries };
}

function appOf(context: Context, deliveries: Deliveries): App {
  const { contract, options, limits, root, shutdown, lastCalls } = context;
  const door = doorOf(context, deliveries);
  const open = () => root.child("calls");
  const knows = (pathname: string) => context.route("GET", pathname) !== undefined;
  return {
    contract,
    limits,
    authenticates: options.authenticate !== undefined,
    ...door,
    stats: () => root.stats(),
    knows,
    isChannel: (pathname) => isOnWeb(contract, context.route("GET", pathname)),
    open,
    carry: (channel, port, principal, call) => carryChannel(context, channel, port, principal, call),
    ...inMemory({ contract, knows, open, ...door }),
    drain: () => shutdown.drain(),
    isDraining: () => shutdown.draining,
    onDrain: shutdown.onDrain,
    async revoke(principal) {
      if (!options.authenticate) throw misuse("revoke needs `authenticate`: without it nobody is known");
      const owner = context.ownerOf(principal);
      context.ledger.revoke(owner);
      await context.sessions.revoke?.(owner);
    },
    close() {
      shutdown.drain();
      root.close(closing());
      return lastCalls.answered(limits.storeWithin);
    },
  };
}

/** Maximum number of refused hosts and origins to report, so that a scan does not fill the log. */
const MAX_REPORTED = 100;

/** Checks every request and handshake: Host and Origin first, then the contract. */
function doorOf(context: Context, deliveries: Deliveries): Pick<App, "answer" | "accept"> {
  const { contract, options } = context;
  const parameters = [...Object.values(contract.operations), ...Object.values(contract.channels)].flatMap(
    ({ parameters = {} }) => Object.entries(parameters),
  );
  const named = (place: Parameter["in"]) =>
    new Set(parameters.flatMap(([name, parameter]) => (parameter.in === place ? name : [])));
  const query = named("query");
  const headers = [...named("header"), ...(contract.auth?.header ? [contract.auth.header] : [])];
  const { report } = context.callbacks;
  const { origins = [] } = options;
  const allowed = {
    hosts: options.hosts?.map((host) => hostNamed(host)!),
    documented: addressOf(contract)?.hostname,
    anyHost: anyHostOf(context),
    origin: matcherOf(origins, report),
    parameter: (name: string) => query.has(name),
    exposed: Object.values(contract.operations).flatMap(({ answer }) => Object.keys(answer.headers ?? {})),
  };
  const reported = new Set<string>();
  /** A page cannot read why it is refused, so the server reports it: once for each host and origin. */
  function check(request: HttpRequest, bound?: string): Refusal | Readonly<Record<string, string>> | undefined {
    const checked = guard(request, allowed, bound);
    if (!(checked instanceof Refusal) || checked.status !== 403) return checked;
    if (!reported.has(checked.message) && reported.size < MAX_REPORTED) {
      reported.add(checked.message);
      report(checked, "the guard of Host and Origin");
    }
    return checked;
  }
  return {
    answer(given, call, bound) {
      const request = httpRequest(given);
      const checked = check(request, bound);
      if (checked instanceof Refusal) return Promise.resolve(headOf(request, refuse(context, request, checked)));
      const asked = preflight(request, headers);
      if (asked) return Promise.resolve({ status: 204, headers: { ...checked, ...asked }, body: "" });
      const answering = dispatch(context, deliveries, request, call);
      if (!checked && request.method !== "HEAD") return answering;
      return answering.then((answer) => {
        const answered = headOf(request, answer);
        return { ...answered, headers: { ...answered.headers, ...checked } };
      });
    },
    async accept(given, protocols, call, bound) {
      const request = httpRequest(given);
      const { pathname } = request;
      let name: string | undefined;
      try {
        const checked = check(request, bound);
        if (checked instanceof Refusal) throw checked;
        refuseWhileClosing(context);
        const found = context.route("GET", pathname);
        if (!found || !("channel" in found))
          throw new Refusal(`there is no channel at ${brief(pathname, MAX_QUOTED)}`, { status: 404 });
        name = found.channel;
        const ticket = parseTicket(protocols);
        if (ticket === undefined)
          return sturdy(
            await deliveries.channels.accept(await callChannel(context, name, found.path, request, call), call),
          );
        const owner = await ownerOfHandshake(context, request, call);
        const redeemed = await deliveries.channels.redeem(ticket, request.request, owner, call);
        if (!redeemed) throw new Refusal("this ticket is not good: ask for another", { status: 426 });
        return sturdy(redeemed);
      } catch (error) {
        // A caller that has gone is not refused: neither hooks nor `onError` are called.
        if (call.closed && !context.root.closed && !isRevoked(call.reason)) return GONE;
        call.close(error);
        return refuseSocket(context, request, error, name);
      }
    },
  };
}

/** Makes the predicate of the option `anyHost`. @throws `TypeError` for a name that is no operation */
function anyHostOf({ contract, options, route }: Context): (request: HttpRequest) => boolean {
  const open = new Set(options.anyHost);
  for (const name of open)
    if (!Object.hasOwn(contract.operations, name))
      throw misuse(`anyHost has ${JSON.stringify(name)}, which is not an operation of ${contract.name}`);
  return ({ method, pathname }) => {
    const found = open.size === 0 ? undefined : route(methodOf(method), pathname);
    return found !== undefined && "operations" in found && found.operations.every((name) => open.has(name));
  };
}

/**
 * The owner by a handshake's own credentials, if it has any: a page's handshake has a ticket alone. Credentials that are refused
 * refuse the handshake where its client chose to send them; a cookie comes by itself.
 */
async function ownerOfHandshake(context: Context, request: HttpRequest, call: Scope): Promise<string | undefined> {
  const { callbacks, contract, ownerOf } = context;
  try {
    const authenticated = callbacks.authenticate(call, request);
    return authenticated && ownerOf(await authenticated);
  } catch (error) {
    if (call.closed) throw error;
    if (["Authorization", contract.auth?.header ?? ""].some((name) => name && request.headers.has(name))) throw error;
    return undefined;
  }
}

/** The decision where the connection is gone: nothing is written. */
const GONE: Accepted = { refused: { status: 499, headers: {}, type: "text/plain", body: "" } };

/** Whether a route leads to a channel that a WebSocket may carry. */
function isOnWeb({ channels }: AnyContract, route: Route | undefined): boolean {
  return route !== undefined && "channel" in route && carriersOf(channels[route.channel]!).includes("websocket");
}

/** Guards the conversation against an adapter's socket that throws. */
function sturdy(accepted: Accepted): Accepted {
  return "refused" in accepted ? accepted : { ...accepted, run: (port) => accepted.run(new SafePort(port)) };
}
