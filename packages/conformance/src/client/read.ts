import { fault, Refusal, type RefusalDetails } from "@parlance/wire";
import { answerHeaders } from "../carried.js";
import { alike, equal, meet, Unmet } from "../case.js";
import type { Mutant } from "../mutant.js";
import { Ids, isAnswer, withoutOwnId } from "../rpc.js";
import { BYTES, type FlatInput, type Samples } from "../samples.js";
import { nextMessage } from "../server/read.js";
import type { JsonMessage, Told, ToldError } from "../steps.js";
import type { Exchange, Frames, TestedClient } from "../tested.js";

/** The case of a message that breaks its schema. */
export function aboutMutant(name: string, { keyword, at, name: which }: Mutant) {
  const title = `${name} is violated by a message that breaks ${keyword} at ${at}`;
  return { id: `schema/${which}`, title, at, kill: `keyword:${keyword}` };
}

/** The error that a client reports; undefined for none. */
export function meetError(told: Told, kind: ToldError["kind"] | undefined): void {
  const came = told.error ?? undefined;
  meet(came?.kind === kind, kind === undefined ? "no error" : `an error of the kind ${kind}`, came ?? "no error");
}

/** Everything that came, in order. */
export function meetMessages(told: Told, expected: readonly unknown[]): void {
  meet(alike(expected, told.messages), `the messages ${JSON.stringify(expected)}`, told.error ? told : told.messages);
}

/**
 * Everything that came on a channel with methods: what handlers got in order, and the answers in order. Which of the two comes first is up to the
 * client, as are the ids of answers.
 */
export function meetFrames(told: Told, expected: readonly JsonMessage[]): void {
  const sorted = (messages: readonly JsonMessage[]) =>
    [...messages].sort((one, other) => Number(isAnswer(one)) - Number(isAnswer(other)));
  const all = told.messages as readonly JsonMessage[];
  meet(all.length === expected.length, `the messages ${JSON.stringify(expected)}`, told.error ? told : all);
  const came = sorted(all);
  for (const [at, message] of sorted(expected).entries())
    new Ids().meet(withoutOwnId(message), withoutOwnId(came[at]!));
}

/**
 * The first of what came before a cut, in order. A body that fails may take with it what its reader has not yet been given (Streams,
 * ReadableStreamDefaultControllerError), and the suite cannot see what has been read.
 */
export function meetFirst(told: Told, sent: readonly unknown[]): void {
  const expected = sent.slice(0, told.messages.length);
  meet(alike(expected, told.messages), `the messages ${JSON.stringify(sent)}, or the first of them`, told);
}

/**
 * What a client reports of a stream in its plain form: each event in a chunk of its own, with lines that end in LF. Other forms of the stream are
 * compared with it, so a message that the client misreads fails its own case alone. A client that reports an error is held to the contract.
 */
export async function readPlainly(
  samples: Samples,
  peer: TestedClient,
  name: string,
  messages: readonly JsonMessage[],
): Promise<readonly unknown[]> {
  const key = `${name} ${JSON.stringify(messages)}`;
  let reading = peer.plain.get(key);
  if (!reading) {
    const blocks = messages.map((message) => samples.block(name, message));
    const call = { operation: name, input: samples.input(name), steps: samples.leaving(name, messages.length) };
    reading = peer.call(call, (exchange) => sendStream(samples, name, exchange, blocks));
    peer.plain.set(key, reading);
    reading.catch(() => peer.plain.delete(key));
  }
  const told = await reading;
  return told.error ? messages : told.messages;
}

/** Sends the head of a stream, with the declared headers. */
export function beginStream(samples: Samples, name: string, exchange: Exchange): void {
  const { status } = samples.contract.operations[name]!.answer;
  exchange.begin(status, "text/event-stream", textsOf(answerHeaders(samples, name)));
}

/** Sends a stream in chunks, with its sentinel, and ends it if it ends by itself. */
export async function sendStream(
  samples: Samples,
  name: string,
  exchange: Exchange,
  chunks: readonly (string | Uint8Array)[],
): Promise<void> {
  const { stream } = samples.contract.operations[name]!.answer;
  beginStream(samples, name, exchange);
  for (const chunk of chunks) await exchange.write(chunk);
  if (stream!.sentinel !== undefined) await exchange.write(`data: ${stream!.sentinel}\n\n`);
  if (samples.ends(name)) exchange.end();
}

/** The request of a call: its operation and its input, however it is written. */
export function meetRequest(samples: Samples, name: string, input: FlatInput, exchange: Exchange): void {
  const { method, target, headers, body } = exchange;
  const isJson = body !== "" && samples.contract.operations[name]?.binary === undefined;
  const asked = samples.talk.asked(method, target, Object.entries(headers), isJson ? jsonOf(body) : undefined);
  meet(asked?.name === name, `a request of ${name}`, `${method} ${target}`);
  meet(equal(input, asked.input), `the input ${JSON.stringify(input)}`, asked.input);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unmet("a body that is JSON", text);
  }
}

/** A refusal in the contract's own form. */
export function refuse(
  samples: Samples,
  name: string,
  exchange: Exchange,
  text: string,
  details: RefusalDetails,
): void {
  const { status, type, body } = fault(samples.contract, name, new Refusal(text, details));
  exchange.answer(status, type, body);
}

/** Answers a call so that it succeeds; a stream has one example of each message. */
export async function succeed(samples: Samples, name: string, exchange: Exchange): Promise<void> {
  const { answer } = samples.contract.operations[name]!;
  if (answer.stream === undefined) {
    const [example] = samples.answers(name);
    return answerWith(samples, name, exchange, example?.value);
  }
  const blocks = samples.flow(name).map((message) => samples.block(name, message));
  await sendStream(samples, name, exchange, [blocks.join("")]);
}

/** Headers as HTTP has them. */
export function textsOf(values: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
}

export function answerWith(samples: Samples, name: string, exchange: Exchange, value: unknown): void {
  const { status, json, text, binary } = samples.contract.operations[name]!.answer;
  const headers = textsOf(answerHeaders(samples, name));
  if (json !== undefined) exchange.answer(status, "application/json", JSON.stringify(value), headers);
  else if (binary !== undefined) exchange.answer(status, binary, BYTES, headers);
  else exchange.answer(status, text, text === undefined ? "" : String(value), headers);
}

/** Opens the socket of a channel. A plain request before it, such as one for a ticket, is refused. */
export function accepting(
  samples: Samples,
  name: string,
  serve: (frames: Frames, exchange: Exchange) => Promise<void>,
) {
  return async (exchange: Exchange): Promise<void> => {
    if (exchange.isSocket) return serve(exchange.accept(), exchange);
    refuse(samples, name, exchange, "this path is a WebSocket", { status: 426 });
  };
}

/** Throws `Violation` for a message of the client that breaks its schema. */
export async function meetHeard(samples: Samples, name: string, frames: Frames, expected: JsonMessage): Promise<void> {
  const came = await nextMessage(samples, name, frames, "client");
  meet(equal(expected, came), JSON.stringify(expected), came);
}

/** Holds the opening of a channel from the server's side. */
export async function openUp(samples: Samples, name: string, frames: Frames): Promise<void> {
  const { client, server } = samples.opening(name);
  for (const message of client) await meetHeard(samples, name, frames, message);
  for (const message of server) frames.send(samples.frame(name, "server", message));
}
