import type { CallOptions, ContractValue } from "@parlance/contract";
import { type AnyContract, bind, type Input, newKey, RESUME, Violation } from "@parlance/wire";
import type { OpenOptions } from "./channel.js";
import { loading } from "./loading.js";
import type { ConnectOptions } from "./options.js";
import { either, requests } from "./request.js";
import type { StreamSource } from "./stream.js";

/** A stream that is open, so that the end of its session is told from a cut. */
interface Reading {
  readonly session: unknown;
  readonly closedBy: string;
  /** The operation that ends the session, once it was called. */
  ending?: Promise<unknown>;
}

/**
 * A typed client of a contract: one method an operation and channel. Nothing is sent until a method is called.
 *
 * Errors: `Refusal` (the server said no), `Violation` (somebody broke the contract), `Disconnected` (nobody answered, or a
 * stream stopped without one of its end messages).
 */
export function connect<Client>(contract: ContractValue<Client, unknown>, options: ConnectOptions = {}): Client {
  const any = contract as unknown as AnyContract;
  if (any.format !== 1)
    throw new Violation(`the contract has format ${any.format}, this client reads format 1: update @parlance/client`, {
      code: "format",
      protocol: any.name,
      side: "client",
    });
  const requesting = requests(any, options);
  const readings = new Set<Reading>();
  const resumes =
    options.resume ??
    (typeof location === "undefined" || location.origin === new URL(options.baseUrl ?? any.url).origin);
  const client: Record<string, unknown> = {};

  for (const [name, operation] of Object.entries(any.operations)) {
    const takesInput = operation.parameters !== undefined || operation.body !== undefined;
    const run = operation.answer.stream ? stream : call;
    client[name] = takesInput
      ? (input: Input = {}, options?: CallOptions) => run(name, input, options)
      : (options?: CallOptions) => run(name, {}, options);
  }
  for (const [name, { parameters }] of Object.entries(any.channels)) {
    const open = async (input: Input, how: OpenOptions = {}) => {
      // A page that only streams never loads what channels need.
      const { openChannel } = await import("./channel.js");
      return openChannel(any, options, requesting, name, input, { ...how, key: resumes ? newKey() : undefined });
    };
    client[name] = parameters ? open : (how?: OpenOptions) => open({}, how);
  }
  return client as Client;

  function call(name: string, input: Input, options: CallOptions = {}): Promise<unknown> {
    const answer = requesting.call(name, input, options);
    for (const reading of readings)
      if (reading.closedBy === name && reading.session === sessionOf(input)) reading.ending = answer;
    return answer;
  }

  function stream(name: string, input: Input, { signal, headers }: CallOptions = {}) {
    bind(any, name, input);
    const described = any.operations[name]!.answer.stream!;
    const reading: Reading | undefined =
      described.closedBy === undefined ? undefined : { session: sessionOf(input), closedBy: described.closedBy };
    if (reading) readings.add(reading);
    const { path } = any.operations[name]!;
    const key = resumes ? { [RESUME]: newKey() } : undefined;
    const source: StreamSource = {
      name,
      stream: described,
      signal: either(options.signal, signal),
      open: (own) => requesting.send(name, input, { headers: { ...headers, ...key }, signal: own }),
      again:
        key &&
        ((method, cursor, own) =>
          requesting.ask(method, name, input, {
            headers: { ...headers, ...key, ...cursor },
            signal: own,
          })),
      deletes: Object.values(any.operations).some((one) => one.method === "DELETE" && one.path === path),
      sessionEnded: async () =>
        reading?.ending?.then(
          () => true,
          () => false,
        ) ?? false,
      over: () => reading && readings.delete(reading),
    };
    // A page that only uses channels never loads what streams need.
    return loading(import("./stream.js").then(({ messageStream }) => messageStream(any, options, source)));
  }

  function sessionOf(input: Input): unknown {
    return any.session === undefined ? undefined : input[any.session];
  }
}
