import type { AnyContract, Bytes, CallOptions, Input } from "@parlance/wire";
import { disconnected, misuse } from "@parlance/wire/errors";
import { inputName, unbindAnswer } from "@parlance/wire/header";
import { assertChecked, checkOf } from "@parlance/wire/message-decoder";
import { timedOut } from "./failures.js";
import { type Lifetime, lifetime, within } from "./lifetime.js";
import { type Operations, operations } from "./operation.js";
import { ANSWER_TIMEOUT, type ConnectOptions, IDLE_TIMEOUT } from "./options.js";
import type { Requests } from "./request.js";
import { discard } from "./response.js";

/**
 * Calls an operation with bytes in its request or its answer, or whose answer has headers or may have no body. A download is read at its
 * reader's pace. It errors with `Disconnected` when cut; cancelling it ends the request.
 */
export async function transfer(
  requests: Requests,
  name: string,
  input: Input,
  options: CallOptions & { readonly body?: Bytes },
): Promise<unknown> {
  const { contract, connection } = requests;
  const { binary, answer, ...rest } = contract.operations[name]!;
  const body = binary === undefined ? undefined : bytesOf(options.body, `${contract.name}.${name}`);
  let answered: Response | undefined;
  const nothing = new Error("the answer has no body");
  const ask: Requests["ask"] = async (method, name, input, own, life, ours, init) => {
    const upload = body && ({ body, duplex: "half" } as RequestInit);
    const fields = { ...ours, ...(binary !== undefined && { "Content-Type": binary }) };
    answered = await requests.ask(method, name, input, own, life, fields, upload ?? init);
    if (answered.status !== answer.none) return answered;
    discard(answered);
    throw nothing;
  };
  // Bytes are sent and requested like text of their media type.
  const operation = { ...rest, answer: { ...answer, ...(answer.binary !== undefined && { text: answer.binary }) } };
  const asText: AnyContract = { ...contract, operations: { [name]: operation } };
  const repeated = body instanceof ReadableStream ? { ...connection, retryWaits: [] } : connection;
  const { send, call } = operations(asText, repeated, { ...requests, ask });
  let value: unknown;
  try {
    value =
      answer.binary === undefined
        ? await call(name, input, options)
        : await download(send, asText, connection, name, input, options);
  } catch (error) {
    if (error === nothing) return undefined;
    throw error;
  }
  if (answer.headers === undefined) return value;
  const headers = readHeaders(contract, name, answered!.headers);
  return { headers, ...(value !== undefined && { body: value }) };
}

/** The declared headers of an answer. @throws `Violation` where one is missing or of another type */
export function readHeaders(contract: AnyContract, name: string, all: Headers): Readonly<Record<string, unknown>> {
  const headers = unbindAnswer(contract.operations[name]!.answer.headers!, all);
  const origin = { protocol: contract.name, side: "server" as const, subject: name };
  assertChecked(checkOf(contract, contract.checks, inputName(name, "Headers")), headers, origin, "the headers of");
  return headers;
}

function bytesOf(body: unknown, what: string): Bytes {
  if (body instanceof ReadableStream || body instanceof Uint8Array || body instanceof Blob) return body as Bytes;
  throw misuse(`${what} needs the option \`body\`: a ReadableStream, a Uint8Array or a Blob`);
}

async function download(
  send: Operations["send"],
  contract: AnyContract,
  connection: ConnectOptions,
  name: string,
  input: Input,
  { headers, signal }: CallOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { answerTimeout = ANSWER_TIMEOUT, idleTimeout = IDLE_TIMEOUT } = connection;
  const what = `${contract.name}.${name}`;
  const life = lifetime(connection.signal, signal);
  try {
    const late = () => timedOut(what, answerTimeout, contract.operations[name]!.method !== "POST");
    const { body } = await within(life, () => send(name, input, headers, life), answerTimeout, late);
    return paced((body ?? new Response("").body!).getReader(), life, what, idleTimeout);
  } catch (error) {
    life.abort(error);
    throw error;
  }
}

function paced(
  bytes: ReadableStreamDefaultReader<Uint8Array>,
  life: Lifetime,
  what: string,
  idleTimeout: number,
): ReadableStream<Uint8Array> {
  const idle = () => disconnected(`${what}: nothing came within ${idleTimeout} ms`, "idle", false);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await within(life, () => bytes.read(), idleTimeout, idle);
          if (value && !ArrayBuffer.isView(value)) throw new TypeError("a chunk of the body is not bytes");
          if (!done) return controller.enqueue(value);
          life.release();
          controller.close();
        } catch (cause) {
          const { aborted, reason } = life.signal;
          const error = aborted ? reason : disconnected(`${what}: the answer was cut`, "ended_early", false, cause);
          life.abort(error);
          bytes.cancel().catch(() => {});
          controller.error(error);
        }
      },
      cancel(reason) {
        bytes.cancel(reason).catch(() => {});
        life.abort(reason ?? new DOMException("the download was cancelled", "AbortError"));
      },
    },
    { highWaterMark: 0 },
  );
}
