import type { AnyContract, AnyMessage, ContractValue } from "@parlance/wire";
import type { ServeOptions } from "./options.js";
import { type App, serve } from "./serve.js";
import { type CutOptions, cuttable } from "./testing/cuts.js";
import { exampleHandlers } from "./testing/examples.js";

/** A call that a double received, by its name in the contract. */
export type Asked<H> = {
  readonly [K in keyof H & string]: NonNullable<H[K]> extends (...args: never[]) => unknown
    ? {
        readonly operation: K;
        readonly input: InputOf<NonNullable<H[K]>>;
        /** The messages that the client has sent on a channel so far. */
        readonly received: readonly Received<H[K]>[];
      }
    : Asked<NonNullable<H[K]>>;
}[keyof H & string];

type InputOf<Handler> = Handler extends (input: infer I, ...rest: never[]) => unknown ? I : never;

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
 * and then answers requests. A method is answered with its example, and one with a stream first sends an example of that. Callers are not authenticated, and decisions are answered whether their question is open or not.
 */
export function double<H>(
  contract: ContractValue<unknown, H>,
  handlers: Partial<H> = {},
  options: ServeOptions = {},
): Double<H> {
  const any = contract as unknown as AnyContract;
  const asked: { operation: string; input: unknown; received: AnyMessage[] }[] = [];
  const received = new WeakMap<Request, AnyMessage[]>();
  const examples = exampleHandlers(any) as Readonly<Record<string, Handler | Readonly<Record<string, Handler>>>>;
  const recorded = Object.entries({ ...examples, ...(handlers as typeof examples) }).map(([name, handler]) =>
    typeof handler === "function"
      ? [name, recorder(name, handler)]
      : [name, mapped({ ...examples[name], ...handler }, recorder)],
  );

  function recorder(operation: string, handler: Handler): Handler {
    return (input, ...rest) => {
      const { request } = rest.at(-1) as { request: Request };
      asked.push({ operation, input, received: messagesOf(request) });
      return handler(input, ...rest);
    };
  }

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

type Handler = (input: unknown, ...rest: unknown[]) => unknown;

function mapped(
  handlers: Readonly<Record<string, Handler>>,
  change: (name: string, handler: Handler) => Handler,
): Record<string, Handler> {
  return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, change(name, handler)]));
}
