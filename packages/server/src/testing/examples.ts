import {
  type AnyContract,
  type AnyMessage,
  type ChannelContract,
  type Examples,
  inputName,
  messageDecoder,
  misuse,
  Refusal,
  type RpcMethod,
  type Stream,
  type StreamHead,
} from "@parlance/wire";
import { keyPath, valueAt, withValue } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import type { AnyChannel } from "@parlance/wire/link";
import type { Handlers } from "../call.js";

type Input = Readonly<Record<string, unknown>>;

/** Handlers that answer from the contract's examples, which are loaded by the first call. */
export function exampleHandlers(contract: AnyContract): Handlers {
  const streams = Object.entries(contract.operations).map(([name, { answer }]) => {
    const { stream } = answer;
    if (stream)
      return [
        name,
        async (input: Input, call: Cancel & Partial<StreamHead<object>>) => {
          call.headers?.(await headersOf(contract, name));
          return play(contract, stream, input, call);
        },
      ] as const;
    return [name, (input: Input) => answerOf(contract, name, input)] as const;
  });
  const channels = Object.entries(contract.channels).map(([name, channel]) => {
    if (contract.methods) return [name, methodHandlers(contract, contract.methods)] as const;
    return [name, (input: Input, open: AnyChannel) => converse(contract, channel, input, open)] as const;
  });
  return Object.fromEntries([...streams, ...channels]) as Handlers;
}

interface Cancel {
  readonly signal: AbortSignal;
}

async function examplesOf({ name, accepts }: AnyContract): Promise<Examples> {
  const { examples } = await accepts();
  if (!examples) throw misuse(`the code of ${name} has no examples: generate it again`);
  return (await examples()).examples;
}

async function answerOf(contract: AnyContract, name: string, input: Input): Promise<unknown> {
  const { json, text, binary, headers } = contract.operations[name]!.answer;
  if (binary !== undefined) throw missing(contract, `the bytes that ${name} answers`);
  if ((json ?? text ?? headers) === undefined) return undefined;
  const { schemas, texts } = await examplesOf(contract);
  const body = json === undefined ? text && (texts[name] ?? "") : ofSession(contract, schemas[json], input);
  if (headers === undefined) return body;
  return { headers: await headersOf(contract, name), ...(body !== undefined && { body }) };
}

async function headersOf(contract: AnyContract, name: string): Promise<object> {
  const { headers = {} } = contract.operations[name]!.answer;
  const example = (await examplesOf(contract)).schemas[inputName(name, "Headers")];
  const required = Object.keys(headers).filter((key) => headers[key]!.required);
  if (example === undefined && required.length > 0)
    throw missing(contract, `the header ${required.join(" or ")} that ${name} answers`);
  return (example ?? {}) as object;
}

function missing({ name }: AnyContract, what: string): Refusal {
  return new Refusal(`${name} has no example of ${what}: write one, or answer by a handler or a recording`, {
    status: 501,
  });
}

/** Each message that is no failure, in the contract's order, and then the first that ends the stream. */
async function* play(
  contract: AnyContract,
  stream: Stream,
  input: Input,
  { signal }: Cancel,
): AsyncGenerator<AnyMessage> {
  const ends = [...(stream.end ?? []), ...(stream.mayEnd ?? [])].filter((name) => !isFault(contract, name));
  const others = stream.messages.filter((name) => !isFault(contract, name) && !ends.includes(name));
  yield* await messagesOf(contract, stream.messages, [...others, ...ends.slice(0, 1)], input);
  if (stream.end ?? stream.sentinel ?? stream.mayEnd) return;
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", resolve, { once: true });
  });
}

/** The opening message, each other message that answers none of the client's, and then the answers. */
async function converse(
  contract: AnyContract,
  described: ChannelContract,
  input: Input,
  channel: AnyChannel,
): Promise<void> {
  const { server, open } = described;
  const exchanges = (contract.exchanges ?? []).filter(({ by }) => by === "client");
  const answers = exchanges.flatMap((exchange) => exchange.answers.map(({ message }) => message));
  const first = server.filter((name) => name === open?.server);
  const others = server.filter((name) => !isFault(contract, name) && !answers.includes(name) && name !== first[0]);
  for (const message of await messagesOf(contract, server, [...first, ...others], input)) channel.send(message);
  for await (const message of channel) {
    const asked = exchanges.find(({ ask }) => ask === message.type);
    const answer = asked?.answers[0];
    if (answer?.message === undefined) continue;
    const [example] = await messagesOf(contract, server, [answer.message], input);
    const { key } = asked!;
    const place = key && keyPath(answer.key ?? key);
    channel.send(place ? (withValue(example, place, valueAt(message, keyPath(key!))) as never) : example!);
  }
}

/** Answers each request of a client. A request with a stream first gets an example of its notification. */
function methodHandlers(contract: AnyContract, methods: Readonly<Record<string, RpcMethod>>): object {
  const requests = Object.entries(methods).filter(([, { by, result }]) => by !== "server" && result !== undefined);
  const handler =
    ({ stream, result }: RpcMethod) =>
    async (params: Input, { notify }: Notifying) => {
      const { schemas } = await examplesOf(contract);
      if (stream !== undefined) {
        const frame = schemas[contract.messages[stream]!.schema] as { readonly params?: unknown };
        notify(stream, ofSession(contract, frame.params, params));
      }
      return ofSession(contract, schemas[result!], params);
    };
  return Object.fromEntries(requests.map(([name, method]) => [name, handler(method)]));
}

interface Notifying {
  notify(method: string, params: unknown): unknown;
}

function isFault({ messages }: AnyContract, name: string): boolean {
  return messages[name]!.fault !== undefined;
}

/** The examples of these messages, as they are in memory. */
async function messagesOf(
  contract: AnyContract,
  all: readonly string[],
  names: readonly string[],
  input: Input,
): Promise<AnyMessage[]> {
  const { schemas } = await examplesOf(contract);
  const decode = messageDecoder(contract, {
    side: "server",
    names: all,
    checks: contract.checks,
    reads: contract.reads,
  });
  return names.map((name) => {
    const data = JSON.stringify(ofSession(contract, schemas[contract.messages[name]!.schema], input));
    const read = decode({ event: name, data });
    if (!("message" in read)) throw misuse(`the example of ${name} in ${contract.name} is another message`);
    return read.message;
  });
}

/** Replaces an example's session name with the requested one. */
function ofSession({ session }: AnyContract, example: unknown, input: Input): unknown {
  const has = session !== undefined && isObject(example) && Object.hasOwn(example, session);
  return has && input[session] !== undefined ? { ...example, [session]: input[session] } : example;
}
