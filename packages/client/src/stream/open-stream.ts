import type { MessageStream, ReopenOptions } from "@parlance/contract";
import { type AnyContract, type AnyMessage, type Input, RESUME } from "@parlance/wire";
import { lifetime } from "../lifetime.js";
import { operations } from "../operation.js";
import type { ConnectOptions } from "../options.js";
import type { Requests } from "../request.js";
import { StreamReader } from "./stream.js";
import { textOf } from "./text.js";

/** An open stream, so that the end of its session differs from a cut. */
export interface Reading {
  readonly session: unknown;
  readonly closedBy: string | undefined;
  /** The operation that ends the session, once it was called. */
  ending?: Promise<unknown>;
}

export interface Opening {
  readonly input: Input;
  readonly options: ReopenOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  readonly reading: Reading;
  /** Called with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Sends an operation whose answer is a stream. */
export function openStream(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  { input, options: { headers, signal }, key, reading, over }: Opening,
): MessageStream<AnyMessage> {
  const { ask, cancel } = requests;
  const { send } = operations(contract, connection, requests);
  const { path, answer } = contract.operations[name]!;
  const stream = answer.stream!;
  const keyed = key === undefined ? undefined : { [RESUME]: key };
  // A server that does not know Parlance would take a DELETE for this operation of its own.
  const deletes = Object.values(contract.operations).some((one) => one.method === "DELETE" && one.path === path);
  const reader = new StreamReader(contract, connection, name, {
    what: `${contract.name}.${name}`,
    stream,
    life: lifetime(connection.signal, signal),
    send: (request) => send(name, input, headers, request, keyed),
    join: keyed && ((cursor, request) => ask("GET", name, input, headers, request, { ...keyed, ...cursor })),
    abandon(answered) {
      if (keyed && (answered || !deletes)) cancel(name, input, headers, keyed);
    },
    sessionEnded: () => sessionEnded(reading),
    over,
  });
  const { messages, opened } = reader;
  function close(): void {
    messages.clear();
    reader.close({}, new DOMException("the stream was cancelled", "AbortError"), true);
  }
  const iterator: AsyncIterator<AnyMessage> = {
    next: messages.next,
    async return() {
      close();
      return { done: true, value: undefined };
    },
  };
  const messageStream: MessageStream<AnyMessage> = {
    opened,
    cancel: close,
    [Symbol.asyncIterator]: () => iterator,
    text: () => textOf(contract, name, stream, messageStream),
  };
  return messageStream;
}

/** Whether this client has ended the stream's session. */
export async function sessionEnded({ closedBy, ending }: Reading): Promise<boolean> {
  if (closedBy === undefined || !ending) return false;
  return ending.then(
    () => true,
    () => false,
  );
}
