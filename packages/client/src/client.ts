import type { AnyContract, CallOptions, ConnectionEvent, ContractValue, Input, ReopenOptions } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { misuse, Violation } from "@parlance/wire/errors";
import { newKey } from "@parlance/wire/resume-key";
import type { OpenOptions, openChannel } from "./channel/channel.js";
import { unloaded } from "./failures.js";
import { lazy, type Opening } from "./lazy.js";
import type { Operations, operations } from "./operation.js";
import { assertCallOptions, assertOptions, type ConnectOptions } from "./options.js";
import { requests } from "./request.js";
import type { openStream } from "./stream/open-stream.js";

/** The code of each kind of conversation: contained in the entry, or loaded when a conversation first needs it. */
export interface Parts {
  readonly operations: () => Promise<{ readonly operations: typeof operations }>;
  readonly streams: () => Promise<{ readonly openStream: typeof openStream }>;
  readonly channels: () => Promise<{ readonly openChannel: typeof openChannel }>;
}

/** An open stream. It distinguishes the end of its session from a cut. */
interface Reading {
  readonly session: unknown;
  readonly closedBy: string | undefined;
  /** The operation that ended the session, once called. */
  ending?: Promise<unknown>;
}

/** The client of a contract: one method for each operation and channel. */
export function client<Client>(
  parts: Parts,
  contract: ContractValue<Client, unknown>,
  connection: ConnectOptions = {},
): Client {
  const any = contract as unknown as AnyContract;
  check(any);
  assertOptions(connection);
  const requesting = requests(any, connection);
  let operating: Operations | undefined;
  const readings = new Set<Reading>();
  const resumes =
    connection.resume ?? (typeof location === "undefined" || location.origin === new URL(requesting.url("")).origin);
  const client: Record<string, unknown> = {};

  for (const [name, { parameters, body, answer }] of Object.entries(any.operations)) {
    const run = answer.stream ? stream : call;
    client[name] = method(parameters ?? body, (input, options?: CallOptions) => run(name, input, options));
  }
  for (const [name, { parameters }] of Object.entries(any.channels))
    client[name] = method(parameters, async (input, how: OpenOptions = {}) => {
      assertCallOptions(how);
      const { openChannel } = await parts.channels();
      const watched = watching(connection, how);
      return openChannel(any, watched, requesting, name, input, { ...how, key: resumes ? newKey() : undefined });
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
      return transfer((await parts.operations()).operations, requesting, name, input, options);
    }
    operating ??= (await parts.operations()).operations(any, connection, requesting);
    return operating.call(name, input, options);
  }

  function stream(name: string, input: Input, options: ReopenOptions = {}) {
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
    return lazy(
      `${any.name}.${name}`,
      Promise.all([parts.operations(), parts.streams()]).then(([{ operations }, { openStream }]) =>
        openStream(operations, any, watching(connection, options), requesting, name, opening),
      ),
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

/** A method with its options alone where nothing is declared for it to carry. */
function method<Options>(carries: unknown, run: (input: Input, options?: Options) => unknown): unknown {
  return carries
    ? (input: Input = {}, options?: Options) => run(input, options)
    : (options?: Options) => run({}, options);
}

function check(contract: AnyContract | undefined): void {
  if (!contract?.operations) throw misuse("connect needs a contract, such as that of @parlance/protocols/based");
  const { format, name } = contract;
  if (format !== 1)
    throw new Violation(`connect needs a contract of format 1, not ${format}: update @parlance/client`, {
      code: "format",
      protocol: name,
      side: "client",
    });
}
