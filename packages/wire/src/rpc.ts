import type { Check, Checks, Reads } from "./contract/check.js";
import type { Side } from "./contract/contract.js";
import type { RpcCall, RpcCallOptions, RpcId } from "./contract/rpc.js";
import { brief, disconnected, MAX_NAME, notify, type Refusal, Violation } from "./errors.js";
import type { Link, LinkOptions } from "./link.js";
import { type AnyContract, assertChecked, checkOf } from "./message.js";
import {
  CANCELLED,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  rpcError,
  rpcRefusal,
} from "./rpc/error.js";
import { type Flawed, flawOfHead } from "./rpc/flaw.js";
import { ERROR, RESULT, type RpcMessage, rpcDecoder, rpcEncoder } from "./rpc/frame.js";
import { type Answer, Incoming, type Request } from "./rpc/incoming.js";
import { Outgoing } from "./rpc/outgoing.js";

/** What a handler gets beside its params. */
export interface RpcHandling {
  readonly id: RpcId | undefined;
  readonly signal: AbortSignal;
  call(method: string, params: unknown, options?: RpcCallOptions): RpcCall<unknown, unknown>;
  notify(method: string, params: unknown): Promise<void>;
}

export type RpcHandler = (params: unknown, call: RpcHandling) => unknown;
export type RpcHandlers = Readonly<Record<string, RpcHandler | undefined>>;

export interface PeerOptions {
  readonly contract: AnyContract;
  readonly channel: string;
  readonly side: Side;
  /** Checks of what this side writes. Without them the compiler has checked it. */
  readonly written?: Checks | undefined;
  /** Checks and readers of what the peer writes. */
  readonly read: { readonly checks: Checks; readonly reads: Reads };
  readonly handlers: RpcHandlers;
  /** Milliseconds for the end of a cancelled request. */
  readonly cancelWithin: number;
  /** Characters of unread notifications that belong to one request. */
  readonly maxQueued: number;
  /** Calls a handler. @default with its params and call */
  readonly run?: ((handler: RpcHandler, params: unknown, call: RpcHandling, method: string) => unknown) | undefined;
  /** The refusal for what a handler has thrown. */
  readonly refuse: (error: unknown) => Refusal;
  /** Called with the error of a notification's handler, because a notification has no answer to report it in. */
  readonly failed: (error: unknown) => void;
  /** Called for each frame that breaks the contract, after it was answered. Throwing or rejecting closes the channel with that error. */
  readonly onViolation: (violation: Violation) => void;
}

/** One side of a channel with methods. */
export interface Peer {
  /** What a link over this channel needs. */
  readonly options: Required<Pick<LinkOptions, "encode" | "decode" | "receive" | "tooLarge" | "onViolation">>;
  /** Begins. The link is that of `options`. */
  attach(link: Link): void;
  call(method: string, params: unknown, options?: RpcCallOptions): RpcCall<unknown, unknown>;
  notify(method: string, params: unknown): Promise<void>;
}

/** What the ids of questions begin with that several connections may show: the first answer counts. */
export const ASK_ID = "ask-";

/** Requests of the peer that are handled at a time. A further one is refused. */
const MAX_OPEN = 1000;

export function rpcPeer(options: PeerOptions): Peer {
  const side = new RpcSide(options);
  return {
    options: {
      encode: side.encode,
      decode: side.decode,
      receive: (message, size, done) => side.receive(message, size, done),
      tooLarge: (text) => side.tooLarge(text),
      onViolation: (violation) => side.onViolation(violation),
    },
    attach: (link) => side.attach(link),
    call: side.call,
    notify: side.notify,
  };
}

class RpcSide {
  readonly #options: PeerOptions;
  readonly #what: string;
  readonly #origin: { readonly protocol: string; readonly side: Side };
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  readonly #over = new AbortController();
  #link!: Link;
  /** What follows from the frame that is being read, where it breaks the contract. */
  #flawed: Flawed | undefined;
  readonly encode: LinkOptions["encode"];
  readonly decode: LinkOptions["decode"];

  constructor(options: PeerOptions) {
    const { contract, channel, side, written, read, cancelWithin, maxQueued } = options;
    const { methods = {}, rpc, session } = contract;
    const peer: Side = side === "client" ? "server" : "client";
    const names = contract.channels[channel]!;
    this.#options = options;
    this.#what = `${contract.name}.${channel}`;
    this.#origin = { protocol: contract.name, side: peer };
    this.encode = rpcEncoder(contract, { side, names: names[side], checks: written });
    this.decode = rpcDecoder(contract, { side: peer, names: names[peer], ...read }, (flawed) => {
      this.#flawed = flawed;
    });
    this.#incoming = new Incoming(methods, session);
    this.#outgoing = new Outgoing({
      what: this.#what,
      side,
      methods,
      session,
      cancel: rpc?.cancel,
      cancelWithin,
      maxQueued,
      send: (message) => {
        this.#link.say(message);
        if (message.id === undefined) this.#cancelOwn(message);
      },
    });
  }

  attach(link: Link): void {
    this.#link = link;
    const end = (error: unknown) => {
      this.#over.abort(error);
      this.#outgoing.end(error);
      this.#incoming.end(error);
    };
    link.channel.closed.then(() => end(disconnected(`${this.#what} is closed`, "closed", false)), end);
  }

  readonly call = (method: string, params: unknown, options?: RpcCallOptions): RpcCall<unknown, unknown> =>
    this.#outgoing.call(method, params, options);

  readonly notify = (method: string, params: unknown): Promise<void> => {
    const message: RpcMessage = { type: method, params };
    const room = this.#link.send(message);
    this.#cancelOwn(message);
    return room ?? Promise.resolve();
  };

  receive(message: RpcMessage, size: number, done: () => void): void {
    const { type, id, params } = message;
    if (id !== undefined && type !== RESULT && type !== ERROR) return void this.#handle(type, id, params).finally(done);
    done();
    if (id === undefined) this.#notified(type, params, size);
    else this.#answered(id, message);
  }

  /** Looks for the request that a frame over the limit is, or answers. Where it may answer any, the channel ends. */
  tooLarge(text: string): void {
    const isAwaited = this.#outgoing.size > 0 || this.#link.asks.size > 0;
    this.#flawed = flawOfHead(text) ?? (isAwaited ? undefined : { reply: { id: null, code: INVALID_REQUEST } });
  }

  /** Answers a frame that breaks the contract, or ends what it answers, and reports it. What the hook throws ends the channel. */
  onViolation(violation: Violation): void {
    const flawed = this.#flawed;
    this.#flawed = undefined;
    if (violation.code === "too_large" && !flawed) throw violation;
    const { reply, ends = [] } = flawed ?? {};
    if (reply) this.#refuseFrame(reply.id, reply.code, violation);
    for (const id of ends) this.#endCall(id, violation);
    return this.#options.onViolation(violation);
  }

  /** Ends the request that a bad answer belongs to. */
  #endCall(id: RpcId, violation: Violation): void {
    if (this.#outgoing.settle(this.#outgoing.idOf(id), () => ({ error: violation }))) return;
    // A question of a session waits in the link, for a message.
    const { message } = violation;
    const answer: RpcMessage = { type: ERROR, id, error: { code: INVALID_REQUEST, message } };
    this.#link.asks.answer(answer)?.ask.settle?.(answer);
  }

  #refuseFrame(id: RpcId, code: number, { message, flaws }: Violation): void {
    const places = flaws.map((flaw) => ({ ...flaw, at: flaw.at.replace(/^\/params(?=\/|$)/, "") }));
    const data = code === INVALID_PARAMS ? { data: { flaws: places } } : {};
    this.#reply({ type: ERROR, id, error: { code, message, ...data } });
  }

  /** Reports what a frame breaks that could be read. */
  #report(violation: Violation): void {
    notify(this.#options.onViolation, violation, (thrown) => this.#link.fail(thrown, 1008, violation.code));
  }

  #reply(message: RpcMessage): void {
    try {
      this.#link.say(message);
    } catch (error) {
      // The channel has ended, or the peer takes no answers.
      this.#link.fail(error, 1013, "slow reader");
    }
  }

  #answer(request: Request, how: Answer): void {
    if (!this.#incoming.close(request)) return;
    const { id } = request;
    const refuse = (refusal: Refusal) =>
      this.#reply({ type: ERROR, id, error: rpcError(this.#options.contract, refusal) });
    if ("refusal" in how) return refuse(how.refusal);
    try {
      this.#link.say({ type: RESULT, id, result: how.result } as RpcMessage);
    } catch (error) {
      // A result that cannot be written is an error of its handler. Where the peer takes nothing more, neither is this answer sent.
      refuse(this.#options.refuse(error));
    }
  }

  /** A session that this side cancels has no questions of the peer left: they are answered as the contract says. */
  #cancelOwn({ type, params }: RpcMessage): void {
    const { methods = {} } = this.#options.contract;
    for (const request of this.#incoming.cancelBy(type, params))
      if (methods[request.method]!.cancelled !== undefined) this.#answer(request, this.#incoming.endOf(request));
  }

  #answered(echoed: RpcId, message: RpcMessage): void {
    const { contract, read } = this.#options;
    const id = this.#outgoing.idOf(echoed);
    if (id !== echoed)
      this.#report(
        new Violation(`the answer to the request ${id} has the id ${JSON.stringify(echoed)}, a text`, {
          code: "unknown_id",
          ...this.#origin,
        }),
      );
    const known = this.#outgoing.settle(id, (method, cancelled) => {
      if (message.error?.code === CANCELLED && cancelled) return { error: cancelled.reason };
      try {
        return { result: rpcAnswer(contract, this.#origin.side, read, method, message) };
      } catch (error) {
        if (error instanceof Violation) this.#report(error);
        return { error };
      }
    });
    // A question may have been answered elsewhere, or be withdrawn.
    if (known || String(id).startsWith(ASK_ID)) return;
    const shown = brief(JSON.stringify(id), MAX_NAME);
    const why = message.error ? `: ${message.error.message}` : "";
    const what = `no request is open with the id ${shown} of an answer${why}`;
    this.#report(new Violation(what, { code: "unknown_id", ...this.#origin }));
  }

  #notified(method: string, params: unknown, size: number): void {
    const { contract, handlers, failed } = this.#options;
    if (method === contract.rpc?.cancel)
      return this.#incoming.cancel((params as { readonly requestId: RpcId }).requestId);
    this.#incoming.cancelBy(method, params);
    this.#outgoing.notified(method, params, size);
    const handler = own(handlers, method);
    if (!handler) return;
    const run = (given: unknown) => this.#run(handler, method, given, undefined, this.#over.signal);
    // A handler that fails has nobody to answer.
    notify(run, params, (error) => {
      if (!this.#over.signal.aborted) failed(error);
    });
  }

  #run(handler: RpcHandler, method: string, params: unknown, id: RpcId | undefined, signal: AbortSignal): unknown {
    const call: RpcHandling = { id, signal, call: this.call, notify: this.notify };
    const { run } = this.#options;
    return run ? run(handler, params, call, method) : handler(params, call);
  }

  async #handle(method: string, id: RpcId, params: unknown): Promise<void> {
    const error = (code: number, message: string, data?: object) =>
      this.#reply({ type: ERROR, id, error: { code, message, ...data } });
    if (this.#incoming.size >= MAX_OPEN) return error(INTERNAL_ERROR, "too many requests are open");
    const name = brief(method, MAX_NAME);
    const handler = own(this.#options.handlers, method);
    if (!handler) return error(METHOD_NOT_FOUND, `there is no method ${name}`, { data: { method: name } });
    const request = this.#incoming.open(id, method, params);
    if (!request) {
      const why = `the id ${brief(JSON.stringify(id), MAX_NAME)} is that of an open request`;
      error(INVALID_REQUEST, why);
      return this.#report(new Violation(why, { code: "duplicate_id", ...this.#origin, subject: method }));
    }
    const { signal } = request.abort;
    try {
      const result = await this.#run(handler, method, params, id, signal);
      this.#answer(request, { result: this.#resultOf(method, result) });
    } catch (error) {
      if (this.#over.signal.aborted) return;
      // A handler that ends because of its signal has no error.
      const isCancelled = signal.aborted && isAbort(error, signal);
      this.#answer(request, isCancelled ? this.#incoming.endOf(request) : { refusal: this.#options.refuse(error) });
    }
  }

  #resultOf(method: string, result: unknown): unknown {
    const { contract, side, written } = this.#options;
    const title = contract.methods?.[method]?.result;
    if (title === undefined || !written) return result ?? (title === undefined ? null : {});
    return checked(checkOf(contract, written, title), result, { protocol: contract.name, side, subject: method });
  }
}

/** The result of an answer to a request. @throws `Refusal` of an error, `Violation` where the result breaks its schema */
export function rpcAnswer(
  contract: AnyContract,
  side: Side,
  { checks, reads }: { readonly checks: Checks; readonly reads: Reads },
  method: string,
  { result, error }: RpcMessage,
): unknown {
  if (error) throw rpcRefusal(contract, error);
  const title = contract.methods?.[method]?.result;
  if (title === undefined) return result;
  return checked(checkOf(contract, checks, title, reads), result, { protocol: contract.name, side, subject: method });
}

/** A handler under its own name: a peer may ask for `constructor`. */
function own(handlers: RpcHandlers, method: string): RpcHandler | undefined {
  const handler = handlers[method];
  return typeof handler === "function" && Object.hasOwn(handlers, method) ? handler : undefined;
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error as { readonly name?: unknown } | undefined)?.name === "AbortError";
}

/** Checks a result. Nothing stands for an empty object, as some peers write null for one. */
function checked(check: Check, result: unknown, origin: Parameters<typeof assertChecked>[2]): unknown {
  if ((result ?? undefined) === undefined && check({})) return {};
  assertChecked(check, result, origin, "the result of");
  return result;
}

export { violationLog } from "./rpc/flaw.js";
export type { RpcMessage } from "./rpc/frame.js";
export { keyOf } from "./rpc/outgoing.js";
