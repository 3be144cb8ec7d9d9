import type { CallOptions, MessageStream } from "@parlance/contract";
import { type AnyContract, type AnyMessage, type Input, RESUME } from "@parlance/wire";
import { lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import type { Requests } from "../request.js";
import { messageStream } from "./stream.js";

/** An open stream, so that the end of its session differs from a cut. */
export interface Reading {
  readonly session: unknown;
  readonly closedBy: string | undefined;
  /** The operation that ends the session, once it was called. */
  ending?: Promise<unknown>;
}

export interface Opening {
  readonly input: Input;
  readonly options: CallOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  readonly reading: Reading;
  readonly over: () => void;
}

/** Sends an operation whose answer is a stream. */
export function openStream(
  contract: AnyContract,
  connection: ConnectOptions,
  { send, ask, cancel }: Requests,
  name: string,
  { input, options, key, reading, over }: Opening,
): MessageStream<AnyMessage> {
  const { path, answer } = contract.operations[name]!;
  const { headers } = options;
  const keyed = key === undefined ? undefined : { [RESUME]: key };
  // A server that does not know Parlance would take a DELETE for this operation of its own.
  const deletes = Object.values(contract.operations).some((one) => one.method === "DELETE" && one.path === path);
  return messageStream(contract, connection, {
    name,
    stream: answer.stream!,
    life: lifetime(connection.signal, options.signal),
    open: (request) => send(name, input, headers, request, keyed),
    join: keyed && ((cursor, request) => ask("GET", name, input, headers, request, { ...keyed, ...cursor })),
    abandon(answered) {
      if (keyed && (answered || !deletes)) cancel(name, input, headers, keyed);
    },
    sessionEnded: async () =>
      reading.ending?.then(
        () => true,
        () => false,
      ) ?? false,
    over,
  });
}
