import type { AnyContract, AnyMessage, ContractValue } from "@parlance/wire";
import type { Handlers } from "./call.js";
import type { ServeOptions } from "./options.js";
import { type App, serve } from "./serve.js";
import { type CutOptions, cuttable } from "./testing/cuts.js";
import { exampleHandlers } from "./testing/examples.js";

/** A call that a double received, by its name in the contract. */
export type Asked<H> = {
  readonly [K in keyof H & string]: {
    readonly operation: K;
    readonly input: H[K] extends (input: infer I, ...rest: never[]) => unknown ? I : never;
    /** What the client has sent on a channel so far. */
    readonly received: readonly Received<H[K]>[];
  };
}[keyof H & string];

type Received<Handler> = Handler extends (input: never, channel: infer C, ...rest: never[]) => unknown
  ? C extends AsyncIterable<infer M extends AnyMessage>
    ? M
    : never
  : never;

/** A server for the tests of a client. */
export interface Double<H> extends App {
  /** The calls so far, in order. Resuming a stream or channel is not another call. */
  readonly asked: readonly Asked<H>[];
  /** Cuts every open connection, or the next one after a number of messages. */
  cut(options?: CutOptions): void;
}

/**
 * Makes a test server that answers from the contract's examples, or by the test's own handlers.
 *
 * A stream without a handler sends one example of each message that is no failure, and its first end. A channel does the same when it is open,
 * and then answers requests. Callers are not authenticated, and decisions are answered whether their question is open or not.
 */
export function double<H>(
  contract: ContractValue<unknown, H>,
  handlers: Partial<H> = {},
  options: ServeOptions = {},
): Double<H> {
  const any = contract as unknown as AnyContract;
  const asked: { operation: string; input: unknown; received: AnyMessage[] }[] = [];
  const received = new WeakMap<Request, AnyMessage[]>();
  const given = { ...exampleHandlers(any), ...(handlers as Handlers) };
  const recorded = Object.entries(given).map(([operation, handler]) => [
    operation,
    (input: unknown, ...rest: unknown[]) => {
      const { request } = rest.at(-1) as { request: Request };
      asked.push({ operation, input, received: messagesOf(request) });
      return handler(input, ...rest);
    },
  ]);

  function messagesOf(request: Request): AnyMessage[] {
    const messages = received.get(request) ?? [];
    received.set(request, messages);
    return messages;
  }

  const app = serve(contract, Object.fromEntries(recorded) as H, {
    allowAnonymous: true,
    keepsAsks: true,
    ...options,
    hooks: {
      ...options.hooks,
      message(called, message, from) {
        if (from === "client") messagesOf(called.request).push(message);
        options.hooks?.message?.(called, message, from);
      },
    },
  });
  return { ...cuttable(app), asked: asked as unknown as Asked<H>[] };
}
