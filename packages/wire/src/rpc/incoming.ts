import type { RpcMethod } from "../contract/contract.js";
import type { RpcId } from "../contract/rpc.js";
import { Refusal } from "../errors.js";
import { CANCELLED } from "./error.js";
import { keyOf } from "./outgoing.js";

/** A request of the peer, until it is answered. */
export interface Request {
  readonly id: RpcId;
  readonly method: string;
  readonly session: unknown;
  readonly abort: AbortController;
}

/** How a request is answered. */
export type Answer = { readonly result: unknown } | { readonly refusal: Refusal };

const NONE: readonly Request[] = [];

/** The requests of the peer that are not answered yet, by its ids, which may be of any type. */
export class Incoming {
  readonly #methods: Readonly<Record<string, RpcMethod>>;
  readonly #session: string | undefined;
  readonly #open = new Map<RpcId, Request>();

  constructor(methods: Readonly<Record<string, RpcMethod>>, session: string | undefined) {
    this.#methods = methods;
    this.#session = session;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Opens a request. Returns undefined where the peer has an open request with this id. */
  open(id: RpcId, method: string, params: unknown): Request | undefined {
    if (this.#open.has(id)) return undefined;
    const request = { id, method, session: keyOf(params, this.#session), abort: new AbortController() };
    this.#open.set(id, request);
    return request;
  }

  /** Closes a request that is about to be answered. Returns false where it was answered already. */
  close(request: Request): boolean {
    return this.#open.get(request.id) === request && this.#open.delete(request.id);
  }

  /** Aborts the handler of the request with an id. */
  cancel(id: RpcId): void {
    this.#open.get(id)?.abort.abort(cancelled());
  }

  /** Aborts the handlers of the requests that a notification cancels. Returns these requests. */
  cancelBy(notification: string, params: unknown): readonly Request[] {
    if (this.#open.size === 0) return NONE;
    const key = keyOf(params, this.#session);
    const found = [...this.#open.values()].filter(
      ({ method, session }) => this.#methods[method]?.cancel === notification && session === key,
    );
    for (const { abort } of found) abort.abort(cancelled());
    return found;
  }

  /** The end of a cancelled request: the contract's result for it, or the error of JSON-RPC. */
  endOf({ method }: Request): Answer {
    const { cancelled } = this.#methods[method] ?? {};
    return cancelled === undefined
      ? { refusal: new Refusal("the request was cancelled", { code: String(CANCELLED) }) }
      : { result: cancelled };
  }

  /** Aborts all handlers, which cannot answer any more. */
  end(reason: unknown): void {
    for (const { abort } of this.#open.values()) abort.abort(reason);
    this.#open.clear();
  }
}

const cancelled = () => new DOMException("the peer has cancelled the request", "AbortError");
