import type { RpcId } from "../contract/rpc.js";
import type { AnyMessage } from "../contract/schema.js";
import { brief, MAX_NAME, Violation } from "../errors.js";
import { isObject, type JsonObject, parseJson } from "../json.js";
import {
  type AnyContract,
  assertChecked,
  type CodecOptions,
  checkOf,
  type DecoderOptions,
  messageEncoder,
  type Read,
  type Written,
} from "../message.js";
import { INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, type RpcError } from "./error.js";

/** A frame in memory. Only those of requests and answers have an id. */
export interface RpcMessage extends AnyMessage {
  readonly id?: RpcId;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
}

/** A frame that breaks the protocol: the error that it is answered with, or none for an answer, which ends its request. */
export interface Flawed {
  readonly id: RpcId;
  readonly code?: number;
}

/** The names of the messages that answer requests. */
export const RESULT = "rpc.result";
export const ERROR = "rpc.error";

export const isExtension = ({ rpc }: AnyContract, method: string): boolean =>
  rpc?.extensions !== undefined && method.startsWith(rpc.extensions);

/** Encodes the frames of one side. An extension is not checked. */
export function rpcEncoder(contract: AnyContract, options: CodecOptions): (message: AnyMessage) => Written {
  const write = messageEncoder(contract, options);
  const known = new Set(options.names);
  return (message) => {
    if (known.has(message.type) || !isExtension(contract, message.type)) return write(message);
    const { type: method, ...fields } = message as RpcMessage;
    return { data: JSON.stringify({ jsonrpc: "2.0", method, ...fields }) };
  };
}

/**
 * Decodes the frames of the peer. A request that the contract does not have is read too, because it is answered. `flawed` is called before
 * a `Violation` is thrown, where the frame gets an answer.
 */
export function rpcDecoder(
  contract: AnyContract,
  { side, names, checks, reads }: DecoderOptions,
  flawed: (answer: Flawed) => void,
): (written: Written) => Read {
  const origin = { protocol: contract.name, side };
  const known = new Map(
    names.map((name) => [
      name,
      {
        isRequest: contract.methods?.[name]?.result !== undefined,
        check: checkOf(contract, checks!, contract.messages[name]!.schema, reads),
        origin: { ...origin, subject: name },
      },
    ]),
  );

  function refuse(what: string, id: RpcId | undefined, subject?: string): never {
    if (id !== undefined) flawed({ id, code: INVALID_REQUEST });
    throw new Violation(what, { code: "not_a_request", ...origin, subject });
  }

  function parse(text: string): JsonObject {
    let body: unknown;
    try {
      body = parseJson(text, origin);
    } catch (error) {
      const isText = error instanceof Violation && error.code === "malformed_json";
      flawed(isText ? { id: null, code: PARSE_ERROR } : flawOf(JSON.parse(text)));
      throw error;
    }
    if (reads.message) body = reads.message(body);
    if (Array.isArray(body)) return refuse("a batch of requests is not supported", null);
    return isObject(body) ? body : refuse("a frame is a JSON object", null);
  }

  /** The method of the frame before. Most frames have it, and comparing names is quicker than hashing a string that was just read. */
  let last: typeof known extends Map<string, infer K> ? K | undefined : never;
  return ({ data }) => {
    const body = parse(data);
    const { id, method } = body as { readonly id?: RpcId; readonly method?: unknown };
    const isId = id === undefined || id === null || typeof id === "string" || typeof id === "number";
    if (!isId) refuse("an id is a string, a number or null", null);
    const isCurrent = body.jsonrpc === "2.0";
    if (!isCurrent) flawed(flawOf(body));
    if (!isCurrent) refuse('a frame has "jsonrpc": "2.0"', undefined);
    if (method === undefined) return { message: answer(body, id) };
    if (typeof method !== "string") return refuse("a method is a string", id ?? null);
    if (last?.origin.subject !== method) last = known.get(method);
    const one = last;
    if (!one)
      return id === undefined && !isExtension(contract, method) ? { unknown: { body } } : read(method, id, body);
    if (one.isRequest && id === undefined)
      refuse(`${brief(method, MAX_NAME)} is a request, and has no id`, undefined, method);
    if (!one.isRequest && id !== undefined)
      refuse(`${brief(method, MAX_NAME)} is a notification, and has an id`, id, method);
    // Some peers write null for params that are left out.
    body.params ??= {};
    if (!one.check(body)) {
      if (id !== undefined) flawed({ id, code: INVALID_PARAMS });
      assertChecked(one.check, body, one.origin);
    }
    // The contract's own text of the name, whose hash is known.
    return read(one.origin.subject, id, body);
  };

  function answer(body: JsonObject, id: RpcId | undefined): RpcMessage {
    const { result, error } = body as { readonly result?: unknown; readonly error?: RpcError | null };
    if (id === undefined) return refuse("a frame is a request, a notification, a result or an error", null);
    // Peers of older versions write null for the one that is left out.
    const isError = error !== undefined && error !== null;
    const one = known.get(isError ? ERROR : RESULT);
    const isBoth = isError && result !== undefined && result !== null;
    if (isBoth || !one?.check(body)) flawed({ id });
    if (isBoth || !one || (!isError && result === undefined))
      return refuse("an answer has a result or an error", undefined);
    assertChecked(one.check, body, one.origin);
    return isError ? { type: ERROR, id, error } : { type: RESULT, id, result };
  }
}

/** The answer to a frame of which only the id and the kind are readable. A frame that is an answer ends its request. */
function flawOf(body: unknown): Flawed {
  const { id, method } = isObject(body) ? (body as { readonly id?: RpcId; readonly method?: unknown }) : {};
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return known !== null && method === undefined ? { id: known } : { id: known, code: INVALID_REQUEST };
}

function read(type: string, id: RpcId | undefined, { params }: JsonObject): { readonly message: RpcMessage } {
  return { message: id === undefined ? { type, params } : { type, id, params } };
}
