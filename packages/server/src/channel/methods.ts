import { type Accepts, type AnyMessage, misuse, newKey, type RpcCallOptions } from "@parlance/wire";
import type { Link } from "@parlance/wire/link";
import {
  ASK_ID,
  keyOf,
  type Peer,
  type RpcHandler,
  type RpcHandlers,
  type RpcHandling,
  type RpcMessage,
  rpcAnswer,
  rpcPeer,
} from "@parlance/wire/rpc";
import type { Scope } from "@parlance/wire/scope";
import { type Context, callOf, refusalOf, reportHidden, sessionOf } from "../call.js";
import { ignorable } from "../callback.js";
import type { Called } from "../hooks.js";
import type { AnySession, Sent } from "../ports.js";

/** The peer of a link over a channel with methods. */
export type Frames = Peer["options"];

type Send = (sent: Sent) => Promise<unknown> | undefined;

/** Calls the handlers of a channel with methods. Its connection reads each session that the client names, or gets in a result. */
export async function methodsOf(context: Context, called: Called, scope: Scope): Promise<Methods> {
  return new Methods(context, called, scope, await context.accepts());
}

class Methods {
  readonly #context: Context;
  readonly #called: Called;
  readonly #scope: Scope;
  readonly #read: Accepts;
  readonly #peer: Peer;
  readonly #session: (key: string) => AnySession;
  /** The sessions that this connection reads. */
  readonly #joined = new Set<string>();
  #link!: Link;
  #send!: Send;

  constructor(context: Context, called: Called, scope: Scope, read: Accepts) {
    const { contract, callbacks, handlers, limits } = context;
    const { operation: name } = called;
    this.#context = context;
    this.#called = called;
    this.#scope = scope;
    this.#read = read;
    this.#session = callOf(context, called, scope).session;
    this.#peer = rpcPeer({
      contract,
      channel: name,
      side: "server",
      written: contract.checks,
      read,
      handlers: handlers[name] as unknown as RpcHandlers,
      cancelWithin: limits.socketWithin,
      maxQueued: limits.maxQueued,
      run: (handler, params, call, method) => this.#run(handler, params, call, method),
      refuse(error) {
        const refusal = refusalOf(error);
        callbacks.refuse(called, refusal, error, name);
        reportHidden(context, error, "handler", name);
        return refusal;
      },
      failed: (error) => reportHidden(context, error, "handler", name),
      onViolation: (violation) => callbacks.refuseFrame(called, refusalOf(violation), violation),
    });
  }

  get options(): Frames {
    return this.#peer.options;
  }

  /** Begins over a link. `send` sends a session's message over it. */
  attach(link: Link, send: Send): void {
    this.#link = link;
    this.#send = send;
    this.#peer.attach(link);
  }

  async #run(handler: RpcHandler, params: unknown, call: RpcHandling, method: string): Promise<unknown> {
    const { contract, ledger, ownerOf } = this.#context;
    const request = this.#scope.child("calls");
    try {
      ledger.take(ownerOf(this.#called.principal), "call", request);
      this.#join(params);
      const own = new MethodCall(this.#called, this.#sessionFor, this.#ask);
      const result = await handler(params, Object.assign(own, call));
      if (contract.methods?.[method]?.by !== "server") this.#join(result);
      return result;
    } finally {
      request.close();
    }
  }

  /** Lets this connection read the session that params or a result name. */
  #join(named: unknown): void {
    const { contract, sessions } = this.#context;
    const key = keyOf(named, contract.session);
    if (typeof key !== "string" || this.#joined.has(key) || this.#scope.closed) return;
    const place = sessionOf(this.#context, { input: { [contract.session!]: key }, principal: this.#called.principal })!;
    this.#joined.add(key);
    const ask = (message: AnyMessage, options?: RpcCallOptions) => this.#askOver(message, options);
    sessions.subscribe(place, { send: this.#send, ask, end: () => this.#joined.delete(key) }, this.#scope);
  }

  /** Shows a question of a session over this connection. When it is answered elsewhere, the client gets a cancel. */
  #askOver(message: AnyMessage, options: RpcCallOptions = {}): Promise<AnyMessage> {
    const { cancel } = this.#context.contract.rpc!;
    const asked = this.#link.channel.ask(message, options);
    asked.catch(() => {
      if (!options.signal?.aborted || this.#scope.closed || cancel === undefined) return;
      ignorable((async () => this.#peer.notify(cancel, { requestId: (message as RpcMessage).id }))());
    });
    return asked;
  }

  readonly #ask = (method: string, params: unknown, options?: RpcCallOptions): Promise<unknown> => {
    const key = keyOf(params, this.#context.contract.session);
    return typeof key === "string"
      ? this.#askIn(key, method, params, options)
      : this.#peer.call(method, params, options);
  };

  async #askIn(key: string, method: string, params: unknown, options?: RpcCallOptions): Promise<unknown> {
    const { contract } = this.#context;
    if (!contract.methods?.[method]?.ask) throw misuse(`${contract.name}: ${method} asks no person; call it`);
    const message = { type: method, id: `${ASK_ID}${newKey()}`, params };
    const answer = await this.#session(key).ask(message, options);
    return rpcAnswer(contract, "client", this.#read, method, answer as RpcMessage);
  }

  /** A session as a handler holds it. */
  readonly #sessionFor = (key: string) => ({
    notify: (method: string, params: unknown) => this.#session(key).send({ type: method, params } as AnyMessage),
    ask: (method: string, params: unknown, options?: RpcCallOptions) => this.#askIn(key, method, params, options),
  });
}

/** The second argument of a handler of methods, without what its peer adds. */
class MethodCall {
  readonly #called: Called;
  readonly principal: unknown;
  readonly session: unknown;
  readonly ask: unknown;

  constructor(called: Called, session: unknown, ask: unknown) {
    this.#called = called;
    this.principal = called.principal;
    this.session = session;
    this.ask = ask;
  }

  get request(): Request {
    return this.#called.request;
  }
}
