import {
  type Accepts,
  type AnyContract,
  type AnyMessage,
  type Call,
  Disconnected,
  type Input,
  misuse,
  type OpenAsk,
  Refusal,
  type Route,
  type StreamCall,
  type StreamHead,
  type Unbind,
  Violation,
} from "@parlance/wire";
import { valueAt } from "@parlance/wire/internal/pointer";
import type { Scope } from "@parlance/wire/scope";
import { type Callbacks, readThrown } from "./callback.js";
import type { Called } from "./hooks.js";
import type { Operation } from "./http/operation.js";
import type { HttpRequest } from "./http/request.js";
import { type OwnerOf, sessionName } from "./identity.js";
import type { Ledger, Tally } from "./ledger.js";
import type { Limits } from "./limits.js";
import type { ServeOptions } from "./options.js";
import type { AnySession, SessionStore } from "./ports.js";
import type { LastCalls, Shutdown } from "./shutdown.js";

/** The refusals that a contract has for an operation, by status. */
type Faults = Readonly<Record<string, unknown>>;

/** An app's handlers, as the runtime calls them. */
export type Handlers = Readonly<Record<string, (input: unknown, ...rest: unknown[]) => unknown>>;

type Accepted = Accepts & { readonly unbind: Unbind };

/** What all parts of one app share. */
export interface Context {
  readonly contract: AnyContract;
  /** Checks and readers of what clients write, and what reads the input of a call by them; loaded by the first request. */
  readonly accepts: () => Accepted | Promise<Accepted>;
  readonly handlers: Handlers;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly options: ServeOptions;
  readonly limits: Limits;
  readonly callbacks: Callbacks;
  readonly ownerOf: OwnerOf;
  readonly route: (method: string, pathname: string) => Route | undefined;
  readonly ledger: Ledger;
  readonly sessions: SessionStore;
  /** Closes with the app. */
  readonly root: Scope;
  readonly lastCalls: LastCalls;
  readonly shutdown: Shutdown;
}

/** Authenticates a request, and counts it for its principal, which may be revoked from now on. */
export async function enter(context: Context, request: HttpRequest, call: Scope): Promise<unknown> {
  const { callbacks, ledger, ownerOf } = context;
  const authenticated = callbacks.authenticate(call, request);
  if (!authenticated) return undefined;
  const principal = await authenticated;
  const owner = ownerOf(principal);
  ledger.take(owner, "call", call);
  ledger.hold(owner, call, (reason) => call.close(reason));
  return principal;
}

/** A call as hooks see it. The web `Request` is made when it is first read. */
export function calledOf(
  { options }: Pick<Context, "options">,
  operation: string,
  input: Input,
  principal: unknown,
  http: HttpRequest,
  received?: Tally,
): Called {
  const called = new CalledOperation(operation, input, principal, http, received);
  return options.hooks ? CalledOperation.spreadable(called) : called;
}

/** What the input of a call holds. */
export function received(called: Called): Tally | undefined {
  return called instanceof CalledOperation ? CalledOperation.received(called) : undefined;
}

/** The `call` argument of a handler of an operation or channel. Its signal is the scope's. */
export function callOf(context: Context, called: Called, scope: Scope, ask?: OpenAsk): Call<AnySession> {
  return new HandlerCall<OpenAsk>(context, called, scope, ask);
}

export type AnyStreamCall = StreamCall<AnyMessage, Record<string, AnyMessage>, AnySession> &
  Partial<StreamHead<Readonly<Record<string, unknown>>>>;

/** The `call` argument of a stream's handler. */
export function streamCallOf(
  context: Context,
  called: Called,
  scope: Scope,
  {
    send,
    ask,
    headers,
  }: Pick<AnyStreamCall, "send" | "ask"> & { readonly headers: AnyStreamCall["headers"] | undefined },
): AnyStreamCall {
  const call = new HandlerCall<typeof ask>(context, called, scope, ask, send) as HandlerCall<typeof ask> &
    AnyStreamCall;
  return headers ? Object.assign(call, { headers }) : call;
}

// The getters of both are own properties, so that `{ ...call }` has them. All calls share them: V8 keeps a literal's own getter, and with it
// all of its call, until the next full collection.

class CalledOperation implements Called {
  static readonly #request = {
    enumerable: true,
    get(this: CalledOperation) {
      return this.#http.request;
    },
  };
  readonly #http: HttpRequest;
  readonly #received: Tally | undefined;
  readonly operation: string;
  readonly input: Input;
  readonly principal: unknown;

  /** Only for hooks: to define a property costs as much as the rest of the call's object. */
  static spreadable(called: CalledOperation): CalledOperation {
    return Object.defineProperty(called, "request", CalledOperation.#request);
  }

  static received(called: CalledOperation): Tally | undefined {
    return called.#received;
  }

  constructor(operation: string, input: Input, principal: unknown, http: HttpRequest, received: Tally | undefined) {
    this.#http = http;
    this.#received = received;
    this.operation = operation;
    this.input = input;
    this.principal = principal;
  }

  get request(): Request {
    return this.#http.request;
  }
}

class HandlerCall<Ask> {
  static readonly #request = {
    enumerable: true,
    get(this: HandlerCall<unknown>) {
      return this.#called.request;
    },
  };
  static readonly #signal = {
    enumerable: true,
    get(this: HandlerCall<unknown>) {
      return this.#scope.signal;
    },
  };
  readonly #called: Called;
  readonly #scope: Scope;
  declare readonly request: Request;
  declare readonly signal: AbortSignal;
  readonly principal: unknown;
  readonly session: (key: string) => AnySession;
  declare readonly ask?: Ask;
  declare readonly send?: AnyStreamCall["send"];

  constructor(context: Context, called: Called, scope: Scope, ask: Ask | undefined, send?: AnyStreamCall["send"]) {
    const { principal } = called;
    this.#called = called;
    this.#scope = scope;
    Object.defineProperty(this, "request", HandlerCall.#request);
    Object.defineProperty(this, "signal", HandlerCall.#signal);
    this.principal = principal;
    this.session = (key) => context.sessions.session(nameOf(context, principal, key), key);
    if (ask) this.ask = ask;
    if (send) this.send = send;
  }
}

/** The session that a call names, or undefined. */
export function sessionOf(
  context: Context,
  { input, principal }: Pick<Called, "input" | "principal">,
): string | undefined {
  const { session } = context.contract;
  const key = session === undefined ? undefined : valueAt(input, [session]);
  return key === undefined ? undefined : nameOf(context, principal, String(key));
}

/**
 * Where the asks of streams are kept, and looked for: under a session's key, and under the principal alone where the contract has no
 * sessions. Undefined where it has, and no key is known.
 */
export function asksOf(context: Context, principal: unknown, key: unknown): string | undefined {
  if (context.contract.session === undefined) return nameOf(context, principal, "");
  return key === undefined ? undefined : nameOf(context, principal, String(key));
}

/** A session belongs to the principal that uses its key, unless principals share them. */
function nameOf({ options, ownerOf }: Context, principal: unknown, key: string): string {
  return sessionName(options, ownerOf(principal), key);
}

/**
 * Turns any error into a refusal. An error that the peer may not see becomes a plain 500 or 503. Wrong input is refused with 422 where the
 * operation declares 422 and not 400.
 */
export function refusalOf(error: unknown, faults: Faults = {}): Refusal {
  return readThrown(() => refusalIn(error, faults), new Refusal("the server failed", { status: 500 }));
}

function refusalIn(error: unknown, faults: Faults): Refusal {
  if (error instanceof Refusal && isAnswerable(error)) return error;
  if (error instanceof Violation && error.side === "client") {
    const status = "422" in faults && !("400" in faults) ? 422 : 400;
    return new Refusal(error.message, { status: error.code === "too_large" ? 413 : status });
  }
  if (isPassing(error)) return new Refusal("the server cannot do this now", { status: 503, retryAfter: 1 });
  return new Refusal("the server failed", { status: 500 });
}

/** Reports an error that is hidden from the peer. */
export function reportHidden({ callbacks }: Context, error: unknown, source: string, operation?: string): void {
  const isShown = () =>
    error instanceof Refusal ? isAnswerable(error) : error instanceof Violation && error.side === "client";
  if (readThrown(isShown, false)) return;
  const unanswerable = () =>
    error instanceof Refusal
      ? Object.assign(
          misuse(
            `a Refusal has a status from 400 to 599 and waits a number of seconds, unlike this one: ${error.message}`,
          ),
          { cause: error },
        )
      : error;
  callbacks.report(readThrown(unanswerable, error), source, operation);
}

/** Whether a refusal can be an answer. Reads it whole, so that one whose getters throw becomes a plain 500. */
function isAnswerable({ message, code, status = 500, retryAfter = 0 }: Refusal): boolean {
  for (const word of [message, code]) String(word);
  return Number.isInteger(status) && status >= 400 && status <= 599 && Number.isFinite(retryAfter) && retryAfter >= 0;
}

/** Whether something outside did not answer, so that a retry may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof Disconnected && (error.code === "timeout" || error.code === "unreachable");
}

/** @throws `TypeError` that names each handler that is missing, or is no function. With `partial` some may be missing. */
export function checkHandlers(
  { name, operations, channels, methods, rpc }: AnyContract,
  handlers: Handlers,
  partial: boolean,
): void {
  if (typeof handlers !== "object" || handlers === null) throw misuse(`serve(${name}) needs an object of handlers`);
  const wrong = [...Object.keys(operations), ...Object.keys(channels)].flatMap((of) => {
    const handler: unknown = handlers[of];
    if (methods && handler !== undefined) return wrongMethods(of, { methods, rpc }, handler, partial);
    if (typeof handler === "function") return [];
    if (handler !== undefined) return [`\`${of}\` must be a function, not ${typeof handler}`];
    return partial ? [] : [`\`${of}\` is missing`];
  });
  if (wrong.length > 0)
    throw misuse(`the handlers of ${name}: ${wrong.join(", ")}. To leave some out on purpose, set \`partial: true\``);
}

/** Finds mistakes in the handlers of a channel with methods. */
function wrongMethods(
  channel: string,
  { methods = {}, rpc }: Pick<AnyContract, "methods" | "rpc">,
  given: unknown,
  partial: boolean,
): string[] {
  if (typeof given !== "object" || given === null) return [`\`${channel}\` must be an object, not ${typeof given}`];
  const handlers = given as Readonly<Record<string, unknown>>;
  const isExtension = (method: string) => rpc?.extensions !== undefined && method.startsWith(rpc.extensions);
  const unknown = Object.keys(handlers).filter(
    (method) => !isExtension(method) && (!Object.hasOwn(methods, method) || methods[method]!.by === "server"),
  );
  const wrong = Object.entries(handlers).filter(([, one]) => one !== undefined && typeof one !== "function");
  const missing = Object.entries(methods).filter(
    ([method, { by, result, needs }]) =>
      !partial && by !== "server" && result !== undefined && needs === undefined && handlers[method] === undefined,
  );
  return [
    ...unknown.map((method) => `\`${method}\` is not a method that ${channel} answers`),
    ...wrong.map(([method, one]) => `\`${method}\` must be a function, not ${typeof one}`),
    ...missing.map(([method]) => `\`${method}\` of ${channel} is missing`),
  ];
}

/** @throws `Refusal` (501) for an operation or a channel whose handler was left out. */
export function refuseLeftOut({ contract: { operations, channels }, handlers }: Context, name: string): void {
  const { path } = operations[name] ?? channels[name]!;
  if (!handlers[name]) throw new Refusal(`${name} at ${path} is not offered here`, { status: 501 });
}
