import { setImmediate as tick } from "node:timers/promises";
import type { Act } from "@parlance/conformance";
import { type AnyContract, Disconnected, Refusal, type RpcId, Violation } from "@parlance/wire";

type JsonMessage = Extract<Act["steps"][number], { readonly send: unknown }>["send"];

// Messages of the suite as calls of a channel with methods, for the fixture and the client under test.

/** The sending half of a channel with methods. */
export interface Calls {
  call(method: string, params: unknown, options?: { readonly signal: AbortSignal }): Promise<unknown>;
  notify(method: string, params: unknown): Promise<void>;
}

/** The second argument of a handler. */
export interface Handling extends Calls {
  readonly id: RpcId | undefined;
  readonly signal: AbortSignal;
}

type Handler = (params: unknown, call: Handling) => unknown;

export const isAnswer = ({ type }: JsonMessage): boolean => type === RESULT || type === ERROR;

const RESULT = "rpc.result";
const ERROR = "rpc.error";
const CANCELLED = -32800;

export class Methods {
  readonly #contract: AnyContract;
  readonly #willAnswer: (id: unknown) => boolean;
  readonly #waiting = new Map<unknown, (answer: JsonMessage) => void>();
  readonly #aborts = new Map<unknown, AbortController>();
  #calls: Calls | undefined;

  /** `willAnswer` says whether a request gets an answer of its own, also where it is cancelled. */
  constructor(contract: AnyContract, willAnswer: (id: unknown) => boolean) {
    this.#contract = contract;
    this.#willAnswer = willAnswer;
  }

  attach(calls: Calls): void {
    this.#calls ??= calls;
  }

  /** Handlers of the other side's messages. */
  handlers(side: "client" | "server", got: (message: JsonMessage, call: Handling) => void): Record<string, Handler> {
    const others = Object.entries(this.#contract.methods!).filter(
      ([name, { by }]) => by !== side && name !== this.#contract.rpc?.cancel,
    );
    return Object.fromEntries(
      others.map(([type, { result }]): [string, Handler] => [
        type,
        (params, call) => {
          this.attach(call);
          const { id, signal } = call;
          const answered = result === undefined ? undefined : this.#answered(id, signal);
          const message = { type, ...(id !== undefined && { id }), ...(params !== undefined && { params }) };
          got(message as JsonMessage, call);
          return answered;
        },
      ]),
    );
  }

  #answered(id: unknown, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ type, result, error }) =>
        type === RESULT ? resolve(result) : reject(refusalOf(error as unknown as RpcFault)),
      );
      const onAbort = () => void (this.#willAnswer(id) || reject(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The handlers of all requests that wait fail. */
  fail(): void {
    const error = { code: -32603, message: "the handler fails here" };
    for (const settle of this.#waiting.values()) settle({ type: ERROR, error });
  }

  /** Sends a message; returns the answer to a request. Rejects with `Violation` for one that breaks the contract. */
  async send(message: JsonMessage): Promise<JsonMessage | undefined> {
    const { type, id, params } = message as JsonMessage & { readonly params?: { readonly requestId?: unknown } };
    if (isAnswer(message)) {
      this.#waiting.get(id)?.(message);
      // The answer is sent once the handler has returned.
      await tick();
      return undefined;
    }
    if (type === this.#contract.rpc?.cancel) {
      this.#aborts.get(params?.requestId)?.abort();
      return undefined;
    }
    if (id === undefined) {
      await this.#calls!.notify(type, params);
      return undefined;
    }
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    try {
      return { type: RESULT, id, result: (await this.#calls!.call(type, params, abort)) as never };
    } catch (error) {
      if (error instanceof Violation || error instanceof Disconnected) throw error;
      return { type: ERROR, id, error: this.#errorOf(error) as never };
    }
  }

  #errorOf(error: unknown): RpcFault {
    if (!(error instanceof Refusal)) return { code: CANCELLED, message: "the request was cancelled" };
    const { code, message, details } = error;
    const codes = {
      ...WORDS,
      ...Object.fromEntries(Object.entries(this.#contract.errors ?? {}).map(([n, { code }]) => [code, n])),
    };
    return { code: Number(codes[code] ?? code), message, ...(details !== undefined && { data: details }) };
  }
}

interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The words that a `Refusal` has for the codes of JSON-RPC. */
const WORDS: Readonly<Record<string, string | number>> = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  request_cancelled: CANCELLED,
};

function refusalOf({ code, message, data }: RpcFault): Refusal {
  return new Refusal(message, { code: String(code), details: data as never });
}
