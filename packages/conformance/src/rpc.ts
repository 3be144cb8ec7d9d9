import { isObject, type Json, type RpcMethod, type Side } from "@parlance/wire";
import { alike, meet } from "./case.js";
import type { FlatInput, Placed, Samples } from "./samples.js";
import type { JsonMessage } from "./steps.js";

/** The messages that answer requests. */
export const RESULT = "rpc.result";
export const ERROR = "rpc.error";

// JSON-RPC 2.0, section 5.1, and the error of a request that was cancelled.
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const CANCELLED = -32800;

/** A method that no contract has, which broken peers recognize. */
export const UNKNOWN_METHOD = "parlance.unknown";

/** The id of the suite's own requests. */
const OWN_ID = "conformance";

/** A method with its name, as one side sends it. */
export interface Sent extends RpcMethod {
  readonly name: string;
  readonly isRequest: boolean;
}

/** The methods that one side sends. Programs do not see the notification that cancels by id: their SDK sends and answers it. */
export function methodsOf({ contract }: Samples, side: Side): Sent[] {
  return Object.entries(contract.methods ?? {}).flatMap(([name, method]) =>
    (method.by === side || method.by === "both") && name !== contract.rpc?.cancel
      ? [{ ...method, name, isRequest: method.result !== undefined }]
      : [],
  );
}

/** A request of the suite for its other cases: the first that the side may send. */
export function anyRequest(samples: Samples, name: string, side: Side): JsonMessage {
  const { name: method } = methodsOf(samples, side).find(({ isRequest }) => isRequest)!;
  return own(samples.example(name, side, method)!);
}

/** A message with the suite's own id, where it has one. */
export const own = (message: JsonMessage): JsonMessage => ("id" in message ? { ...message, id: OWN_ID } : message);

/** The results of a method's examples. */
export const results = (samples: Samples, { result }: RpcMethod): Placed<Json>[] => samples.examples(result!);

export const resultOf = (message: JsonMessage, result: Json): JsonMessage => ({
  type: RESULT,
  id: message.id!,
  result,
});

export const errorOf = (message: JsonMessage, code: number, text = "refused"): JsonMessage => ({
  type: ERROR,
  id: message.id!,
  error: { code, message: text },
});

/** The notification that cancels a request: that of its method for its session, or the one for its id. */
export function cancelOf({ contract }: Samples, message: JsonMessage): JsonMessage | undefined {
  const { cancel } = contract.methods![message.type]!;
  if (cancel === undefined)
    return contract.rpc?.cancel === undefined
      ? undefined
      : { type: contract.rpc.cancel, params: { requestId: message.id! } };
  const { session } = contract;
  const params = isObject(message.params) ? (message.params as FlatInput) : {};
  return { type: cancel, params: session === undefined ? {} : { [session]: params[session]! } };
}

/** Ids that a peer makes for its own requests, by those of the suite's messages. */
export class Ids {
  readonly #made = new Map<Json, Json>();

  /** Compares a message of the peer, and notes the id that it made for a request. */
  meet(expected: JsonMessage, came: JsonMessage): void {
    const isRequest = expected.type !== RESULT && expected.type !== ERROR && "id" in expected;
    if (isRequest && came.type === expected.type && came.id !== undefined) this.#made.set(expected.id!, came.id);
    const id = isRequest && came.id !== undefined ? { id: came.id } : {};
    meet(
      alike({ ...this.#withRequest(expected), ...id }, withoutWords(expected, came)),
      JSON.stringify(expected),
      came,
    );
  }

  /** The message with the peer's own id, where it answers a request of the peer. */
  answer(message: JsonMessage): JsonMessage {
    return message.id !== undefined && this.#made.has(message.id)
      ? { ...message, id: this.#made.get(message.id)! }
      : message;
  }

  /** The params of a cancel name a request of the peer. */
  #withRequest(message: JsonMessage): JsonMessage {
    const { requestId } = (message.params ?? {}) as { readonly requestId?: Json };
    return requestId !== undefined && this.#made.has(requestId)
      ? { ...message, params: { requestId: this.#made.get(requestId)! } }
      : message;
  }
}

/** The words of an error that each runtime makes by itself are its own. */
function withoutWords(expected: JsonMessage, came: JsonMessage): JsonMessage {
  const [one, other] = [expected.error, came.error] as ({ code?: number } | undefined)[];
  const isOwn =
    one?.code !== undefined && one.code === other?.code && (one.code <= INVALID_REQUEST || one.code === CANCELLED);
  return isOwn ? { ...came, error: expected.error! } : came;
}

export const isAnswer = (message?: JsonMessage): boolean => message?.type === RESULT || message?.type === ERROR;

/** An answer as a program reports it: the id is the program's own. */
export function withoutOwnId(message: JsonMessage): JsonMessage {
  if (!isAnswer(message)) return message;
  const { id, ...rest } = message;
  return rest as JsonMessage;
}
