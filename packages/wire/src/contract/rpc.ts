/** The parts of generated interfaces of contracts with methods: what calls, and what answers calls. */

import type { CallContext, Closed } from "./calls.js";

/** What an id of JSON-RPC may be. A peer's id is answered as it came. */
export type RpcId = string | number | null;

/** The types of a request: its params, its result, and the params of the notifications that belong to it. */
export interface RpcRequest {
  readonly params: unknown;
  readonly result: unknown;
  readonly stream: unknown;
}

/** The requests of one side, by method. */
export type RpcRequests<R> = { readonly [M in keyof R]: RpcRequest };

/**
 * A request that was sent: its result, and the notifications that belong to it. `for await` reads them, in one loop; the loop ends with the
 * request, and throws its error. Leaving the loop does not cancel the request.
 */
export interface RpcCall<Result, Item> extends Promise<Result>, AsyncIterable<Item> {}

export interface RpcCallOptions {
  /**
   * Cancels the request as the contract says. The peer then ends it: with the protocol's result for that, which the call resolves with, or
   * with an error, and the call rejects with the signal's reason. A peer that does not end it is given up, and the call is `Disconnected`
   * (`timeout`): on a client after 30 s, or `answerTimeout` where that is less, and on a server after `socketWithin`.
   */
  readonly signal?: AbortSignal | undefined;
}

/** What one side may send: `R` are its requests, `N` its notifications. */
export interface RpcPeer<R extends RpcRequests<R>, N> {
  /**
   * Sends a request. Rejects with `Refusal` where the peer answers with an error, with `Violation` where its result breaks the schema, and
   * with `Disconnected` where the channel ends first. Never throws. It has no limit of time, because a turn may take hours: for one, pass
   * `{ signal: AbortSignal.timeout(60_000) }`.
   */
  call<M extends keyof R & string>(
    method: M,
    params: R[M]["params"],
    options?: RpcCallOptions,
  ): RpcCall<R[M]["result"], R[M]["stream"]>;
  /** Sends a notification. Throws and resolves as the `send` of a channel. */
  notify<M extends keyof N & string>(method: M, params: N[M]): Promise<void>;
}

/** The client's side of an open channel with methods. `await using`, `close` and the call's `signal` close it. */
export interface RpcChannel<R extends RpcRequests<R>, N> extends RpcPeer<R, N>, AsyncDisposable {
  /** Closes the channel and resolves when it is closed. @default 1000 */
  close(code?: number, reason?: string): Promise<void>;
  /** Resolves when the channel ended normally (code 1000 or this side's close), rejects with `Disconnected` or `Violation` otherwise. */
  readonly closed: Promise<Closed>;
}

/** The second argument of a handler of methods. */
export interface RpcHandlerCall<R extends RpcRequests<R>, N> extends RpcPeer<R, N> {
  /** Aborted when the peer cancels the request, and when the channel ends. */
  readonly signal: AbortSignal;
  /** The peer's id of the request; undefined for a notification. */
  readonly id: RpcId | undefined;
}

/** A session on a server with methods, reached by its key. `A` names the requests that ask a person. */
export interface RpcSession<R extends RpcRequests<R>, N, A extends keyof R & string> {
  /** Sends a notification to the session's readers. Without a reader it waits, within the server's limits. Throws and resolves as `notify` of a call. */
  notify<M extends keyof N & string>(method: M, params: N[M]): Promise<void>;
  /**
   * Asks a person: the question stays open until one reader answers it, `signal` withdraws it or the server's `askWithin` has passed (an hour by
   * default), also where a reader is cut meanwhile. Rejects as `call` does, and with `Disconnected` (`timeout`) after `askWithin`.
   */
  ask<M extends A>(method: M, params: R[M]["params"], options?: RpcCallOptions): Promise<R[M]["result"]>;
}

/** The second argument of a server's handler of methods. */
export interface RpcServerCall<R extends RpcRequests<R>, N, A extends keyof R & string>
  extends RpcHandlerCall<R, N>,
    Pick<RpcSession<R, N, A>, "ask">,
    Pick<CallContext<RpcSession<R, N, A>>, "request" | "principal" | "session"> {}
