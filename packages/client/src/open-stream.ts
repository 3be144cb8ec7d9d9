import type { CallOptions, MessageStream } from "@parlance/contract";
import { type AnyContract, type AnyMessage, type Input, RESUME } from "@parlance/wire";
import type { ConnectOptions } from "./options.js";
import { either, type Requests } from "./request.js";
import { messageStream } from "./stream.js";

/** A stream that is open, so that the end of its session is told from a cut. */
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
  { send, ask }: Requests,
  name: string,
  { input, options, key, reading, over }: Opening,
): MessageStream<AnyMessage> {
  const { path, answer } = contract.operations[name]!;
  const headers = { ...options.headers, ...(key && { [RESUME]: key }) };
  return messageStream(contract, connection, {
    name,
    stream: answer.stream!,
    signal: either(connection.signal, options.signal),
    open: (signal) => send(name, input, { headers, signal }),
    again:
      key === undefined
        ? undefined
        : (method, cursor, signal) => ask(method, name, input, { headers: { ...headers, ...cursor }, signal }),
    deletes: Object.values(contract.operations).some((one) => one.method === "DELETE" && one.path === path),
    sessionEnded: async () =>
      reading.ending?.then(
        () => true,
        () => false,
      ) ?? false,
    over,
  });
}
