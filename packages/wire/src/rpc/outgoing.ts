import type { RpcMethod, Side } from "../contract/contract.js";
import type { RpcCall, RpcCallOptions, RpcId } from "../contract/rpc.js";
import { disconnected } from "../errors.js";
import { isObject } from "../json.js";
import { Queue } from "../queue.js";
import { reading } from "../reading.js";

/** A request that waits for its answer. */
interface Pending {
  readonly method: string;
  readonly stream: string | undefined;
  readonly session: unknown;
  /** The params of the notifications that belong to it, until they are read. */
  readonly items: Queue<unknown>;
  /** The reason of the signal that cancelled it, and the limit of its end. */
  cancelled?: { readonly reason: unknown; readonly timer?: ReturnType<typeof setTimeout> };
  settle(how: Settled): void;
}

/** How a request has ended. */
type Settled = { readonly result: unknown } | { readonly error: unknown };

export interface OutgoingOptions {
  /** Names the channel in errors. */
  readonly what: string;
  readonly side: Side;
  readonly methods: Readonly<Record<string, RpcMethod>>;
  /** The property of params that holds a session's key. */
  readonly session: string | undefined;
  /** The notification that cancels a request by its id. */
  readonly cancel: string | undefined;
  /** Milliseconds for the end of a cancelled request. */
  readonly cancelWithin: number;
  /** Characters of unread notifications of one request. */
  readonly maxQueued: number;
  send(message: { readonly type: string; readonly id?: RpcId; readonly params: unknown }): void;
}

const NONE: readonly Pending[] = [];

/** Requests that were given up, whose answers may still come. */
const MAX_ABANDONED = 1000;

/** The requests that this side has open, by the ids that it made. */
export class Outgoing {
  readonly #options: OutgoingOptions;
  readonly #pending = new Map<RpcId, Pending>();
  /** Those that notifications may belong to, by session. */
  readonly #streams = new Map<unknown, Pending[]>();
  readonly #abandoned = new Set<RpcId>();
  #ids = 0;
  #over: { readonly error: unknown } | undefined;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pending.size;
  }

  call(method: string, params: unknown, { signal }: RpcCallOptions = {}): RpcCall<unknown, unknown> {
    const { what, methods, session, maxQueued, send } = this.#options;
    const id = ++this.#ids;
    const items = new Queue<unknown>({ limit: maxQueued });
    const result = new Promise<unknown>((resolve, reject) => {
      if (this.#over) throw this.#over.error;
      signal?.throwIfAborted();
      const { stream } = methods[method] ?? {};
      const onAbort = () => this.#cancel(id, signal!.reason);
      const pending: Pending = {
        method,
        stream,
        session: keyOf(params, session),
        items,
        settle(how) {
          signal?.removeEventListener("abort", onAbort);
          clearTimeout(pending.cancelled?.timer);
          if ("result" in how) {
            items.end();
            resolve(how.result);
          } else reject(how.error);
        },
      };
      // Before it is sent, because a peer in the same process may answer at once.
      this.#add(id, pending);
      try {
        send({ type: method, id, params });
      } catch (error) {
        this.#remove(id);
        throw error;
      }
      signal?.addEventListener("abort", onAbort, { once: true });
    });
    result.catch((error) => items.end(error));
    const readers = reading(`${what}: the call ${method}`, () => items.drained);
    return Object.assign(result, {
      [Symbol.asyncIterator]: () => {
        // The loop throws the error.
        result.catch(() => {});
        return readers(
          () => items.next(),
          () => items.end(),
        );
      },
    });
  }

  /** The id of the open request that an answer repeats as a text, as some peers do; any other id as it is. */
  idOf(id: RpcId): RpcId {
    const number = Number(id);
    return typeof id === "string" && this.#pending.has(number) && String(number) === id ? number : id;
  }

  /**
   * Settles the request of an answer. `read` gets its method, and the reason of the signal that cancelled it. Returns false where nothing has
   * been asked that this answers.
   */
  settle(id: RpcId, read: (method: string, cancelled: Pending["cancelled"]) => Settled): boolean {
    const pending = this.#remove(id);
    pending?.settle(read(pending.method, pending.cancelled));
    return pending !== undefined || this.#abandoned.delete(id);
  }

  /** Gives a notification to the request that it belongs to. */
  notified(method: string, params: unknown, size: number): void {
    if (this.#streams.size === 0) return;
    const key = keyOf(params, this.#options.session);
    let pending: Pending | undefined;
    for (const one of this.#streams.get(key) ?? NONE) if (one.stream === method) pending ??= one;
    if (!pending || pending.items.push(params, size)) return;
    const behind = `${this.#options.what}: more than ${this.#options.maxQueued} characters of ${pending.method} wait to be read`;
    pending.items.end(disconnected(behind, "slow_reader", false));
  }

  /** Rejects all. No further call can be made. */
  end(error: unknown): void {
    this.#over = { error };
    for (const id of [...this.#pending.keys()]) this.#remove(id)?.settle({ error });
    this.#abandoned.clear();
  }

  /** Asks the peer to end a request, and gives it up where the peer does not. */
  #cancel(id: RpcId, reason: unknown): void {
    const { what, side, methods, session, cancel: byId, cancelWithin, send } = this.#options;
    const pending = this.#pending.get(id);
    if (!pending) return;
    const giveUp = (error: unknown) => {
      if (!this.#remove(id)) return;
      if (this.#abandoned.size < MAX_ABANDONED) this.#abandoned.add(id);
      pending.settle({ error });
    };
    const { cancel } = methods[pending.method] ?? {};
    const notice = cancel !== undefined && [side, "both"].includes(methods[cancel]!.by) ? cancel : byId;
    if (notice === undefined) return giveUp(reason);
    const late = `${what}: the peer has not ended the cancelled ${pending.method} within ${cancelWithin} ms`;
    const timer = setTimeout(() => giveUp(disconnected(late, "timeout", false, reason)), cancelWithin);
    pending.cancelled = { reason, timer };
    try {
      send({ type: notice, params: notice === byId ? { requestId: id } : { [session!]: pending.session } });
    } catch (error) {
      giveUp(error);
    }
  }

  #add(id: RpcId, pending: Pending): void {
    this.#pending.set(id, pending);
    if (pending.stream === undefined) return;
    const others = this.#streams.get(pending.session);
    if (others) others.push(pending);
    else this.#streams.set(pending.session, [pending]);
  }

  #remove(id: RpcId): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending || !this.#pending.delete(id) || pending.stream === undefined) return pending;
    const left = this.#streams.get(pending.session)!.filter((one) => one !== pending);
    if (left.length > 0) this.#streams.set(pending.session, left);
    else this.#streams.delete(pending.session);
    return pending;
  }
}

/** The key of the session that params name. */
export function keyOf(params: unknown, session: string | undefined): unknown {
  return session !== undefined && isObject(params) ? params[session] : undefined;
}
