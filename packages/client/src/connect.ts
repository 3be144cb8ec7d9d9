import type {
  AnyContract,
  AnyMessage,
  CallOptions,
  ConnectionEvent,
  ContractValue,
  Input,
  MessageStream,
  ReopenOptions,
} from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { misuse, Violation } from "@parlance/wire/errors";
import { reading } from "@parlance/wire/reading";
import { newKey } from "@parlance/wire/resume-key";
import type { OpenOptions } from "./channel/channel.js";
import { unloaded } from "./failures.js";
import { operations } from "./operation.js";
import { assertCallOptions, assertOptions, type ConnectOptions } from "./options.js";
import { requests } from "./request.js";
import type { Opening, StreamSource } from "./stream/source.js";

/** An open stream. It distinguishes the end of its session from a cut. */
interface Reading {
  readonly session: unknown;
  readonly closedBy: string | undefined;
  /** The operation that ended the session, once called. */
  ending?: Promise<unknown>;
}

/**
 * A typed client of a contract: one method for each operation and channel. Nothing is sent until a method is called. A page loads the code
 * of streams and of channels when it first opens one.
 *
 * Errors: `Refusal` (the server refused), `Violation` (the contract was broken), `Disconnected` (no answer came, or a
 * stream stopped without one of its end messages).
 */
export function connect<Client>(contract: ContractValue<Client, unknown>, connection: ConnectOptions = {}): Client {
  const any = contract as unknown as AnyContract;
  check(any);
  assertOptions(any, connection);
  const requesting = requests(any, connection);
  const operating = operations(any, connection, requesting);
  const readings = new Set<Reading>();
  const resumes =
    connection.resume ?? (typeof location === "undefined" || location.origin === new URL(requesting.url("")).origin);
  const client: Record<string, unknown> = {};

  for (const [name, { parameters, body, answer }] of Object.entries(any.operations)) {
    const run = answer.stream ? stream : call;
    client[name] = method(parameters ?? body, (input, options?: CallOptions) => run(name, input, options));
  }
  for (const [name, { parameters }] of Object.entries(any.channels))
    client[name] = method(parameters, async (input, ...given: object[]) => {
      // A channel with methods takes its handlers before the options.
      const handlers = any.methods && ((given.shift() ?? {}) as OpenOptions["handlers"]);
      const [how = {}]: readonly OpenOptions[] = given;
      assertCallOptions(how);
      const { openChannel } = await import("./channel/channel.js").catch(unloaded);
      const own = { ...how, handlers, key: resumes ? newKey() : undefined };
      return openChannel(any, watching(connection, how), requesting, name, input, own);
    });
  return client as Client;

  function call(name: string, input: Input, options: CallOptions = {}): Promise<unknown> {
    const answer = called(name, input, options);
    for (const reading of readings)
      if (reading.closedBy === name && reading.session === sessionOf(input)) reading.ending = answer;
    return answer;
  }

  async function called(name: string, input: Input, options: CallOptions): Promise<unknown> {
    assertCallOptions(options);
    if (any.operations[name]!.transfer) {
      const { transfer } = await import("./transfer.js").catch(unloaded);
      return transfer(requesting, name, input, options);
    }
    return operating.call(name, input, options);
  }

  function stream(name: string, input: Input, options: ReopenOptions = {}): MessageStream<AnyMessage, unknown> {
    assertCallOptions(options);
    bind(any, name, input);
    const reading: Reading = { session: sessionOf(input), closedBy: any.operations[name]!.answer.stream!.closedBy };
    readings.add(reading);
    const opening: Opening = {
      input,
      options,
      key: resumes ? newKey() : undefined,
      sessionEnded: async () =>
        reading.ending?.then(
          () => true,
          () => false,
        ) ?? false,
      over: () => readings.delete(reading),
    };
    const code = import("./stream/open-stream.js").catch(unloaded);
    return present(
      `${any.name}.${name}`,
      code.then(({ openStream }) => openStream(any, watching(connection, options), requesting, name, opening)),
    );
  }

  function sessionOf(input: Input): unknown {
    return any.session === undefined ? undefined : input[any.session];
  }
}

/** The client's options, with the callback of a call beside its own. */
function watching(connection: ConnectOptions, { onConnection }: CallOptions): ConnectOptions {
  const { onConnection: shared } = connection;
  if (!onConnection) return connection;
  if (!shared) return { ...connection, onConnection };
  // Both are called, also where one of them throws.
  const both = (event: ConnectionEvent) => Promise.all([shared, onConnection].map(async (one) => one(event)));
  return { ...connection, onConnection: both };
}

/** Presents a stream whose code is still being loaded. `what` names it in errors. */
function present<M>(what: string, load: Promise<StreamSource<M>>): MessageStream<M, unknown> {
  let source: StreamSource<M> | undefined;
  const opened = load.then((it) => {
    source = it;
    return it.opened;
  });
  opened.catch(() => {});
  const readers = reading(what, () => source?.cancelled === true);
  function cancel(): void {
    if (source) return source.close();
    load.then((it) => it.close()).catch(() => {});
  }
  const iterable = <T>(next: (it: StreamSource<M>) => Promise<IteratorResult<T>>): AsyncIterable<T> => ({
    [Symbol.asyncIterator]: () => readers(() => (source ? next(source) : load.then(next)), cancel),
  });
  const messages = iterable((it) => it.messages.next());
  const batches = iterable((it) => it.messages.batch());
  return {
    opened,
    cancel,
    failure: async () => (await load).failure(),
    text: async () => (await load).text(messages),
    batches: () => batches,
    ...messages,
  };
}

/** A method with its options alone where nothing is declared for it to carry. */
function method<Rest extends unknown[]>(carries: unknown, run: (input: Input, ...rest: Rest) => unknown): unknown {
  return carries ? (input: Input = {}, ...rest: Rest) => run(input, ...rest) : (...rest: Rest) => run({}, ...rest);
}

function check(contract: AnyContract | undefined): void {
  if (!contract?.operations) throw misuse("connect needs a contract, such as @parlance/protocols/based");
  const { format, name } = contract;
  if (!(format < 3))
    throw new Violation(`connect needs a contract of format 1 or 2, not ${format}: update @parlance/client`, {
      code: "format",
      protocol: name,
      side: "client",
    });
}
