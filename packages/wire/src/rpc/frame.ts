import type { Check, Reads } from "../contract/check.js";
import type { Side } from "../contract/contract.js";
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
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, type RpcError } from "./error.js";
import { type Flawed, flawOf, isId } from "./flaw.js";

/** A frame in memory. Only those of requests and answers have an id. */
export interface RpcMessage extends AnyMessage {
  readonly id?: RpcId;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
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

/** A frame that the contract defines. */
interface Known {
  readonly isRequest: boolean;
  readonly check: Check;
  readonly origin: { readonly protocol: string; readonly side: Side; readonly subject: string };
}

function framesOf(contract: AnyContract, { side, names, checks, reads }: DecoderOptions): Map<string, Known> {
  return new Map(
    names.map((name) => [
      name,
      {
        isRequest: contract.methods?.[name]?.result !== undefined,
        check: checkOf(contract, checks!, contract.messages[name]!.schema, reads),
        origin: { protocol: contract.name, side, subject: name },
      },
    ]),
  );
}

type Refuse = (what: string, id: RpcId | undefined, subject?: string) => never;
type Origin = { readonly protocol: string; readonly side: Side };

/** Refuses a frame that is none of JSON-RPC. With an id it is answered. */
function refusing(origin: Origin, flawed: (what: Flawed) => void): Refuse {
  return (what, id, subject) => {
    if (id !== undefined) flawed({ reply: { id, code: INVALID_REQUEST } });
    throw new Violation(what, { code: "not_a_request", ...origin, subject });
  };
}

/** Parses a frame to the form that the contract documents. */
function parser(
  origin: Origin,
  reads: Reads | undefined,
  refuse: Refuse,
  flawed: (what: Flawed) => void,
): (text: string) => JsonObject {
  return (text) => {
    let body: unknown;
    try {
      body = parseJson(text, origin);
    } catch (error) {
      const isText = error instanceof Violation && error.code === "malformed_json";
      flawed(isText ? { reply: { id: null, code: PARSE_ERROR } } : flawOf(JSON.parse(text)));
      throw error;
    }
    if (reads?.message) body = reads.message(body);
    if (Array.isArray(body)) {
      flawed(flawOf(body));
      return refuse("a batch is not supported", undefined);
    }
    return isObject(body) ? body : refuse("a frame is a JSON object", null);
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
  const known = framesOf(contract, { side, names, checks, reads });
  const [forResult, forError] = [RESULT, ERROR].map((name) => known.get(name));
  known.delete(RESULT);
  known.delete(ERROR);

  const refuse = refusing(origin, flawed);
  const parse = parser(origin, reads, refuse, flawed);

  /** The method of the frame before. Most frames have it, and comparing names is quicker than hashing a string that was just read. */
  let last: Known | undefined;
  return ({ data }) => {
    const body = parse(data);
    const { id, method } = body as { readonly id?: RpcId; readonly method?: unknown };
    if (!isId(id)) refuse("an id is a string, null, or a number below 2^53", method === undefined ? undefined : null);
    const isCurrent = body.jsonrpc === "2.0";
    if (!isCurrent) flawed(flawOf(body));
    if (!isCurrent) refuse('a frame has "jsonrpc": "2.0"', undefined);
    if (method === undefined) return { message: answer(body, id) };
    if (typeof method !== "string") return refuse("a method is a string", id ?? null);
    if (last?.origin.subject !== method) last = known.get(method);
    const one = last;
    if (!one) return other(method, id, body);
    if (one.isRequest && id === undefined)
      refuse(`${brief(method, MAX_NAME)} is a request, and has no id`, undefined, method);
    if (!one.isRequest && id !== undefined)
      refuse(`${brief(method, MAX_NAME)} is a notification, and has an id`, id, method);
    // Some peers write null for params that are left out.
    body.params ??= {};
    if (!one.check(body)) {
      if (id !== undefined) flawed({ reply: { id, code: INVALID_PARAMS } });
      assertChecked(one.check, body, one.origin);
    }
    // The contract's own text of the name, whose hash is known.
    return read(one.origin.subject, id, body);
  };

  /** Reads a request or notification that the contract does not define. */
  function other(method: string, id: RpcId | undefined, body: JsonObject): Read {
    if (id === undefined && !isExtension(contract, method)) return { unknown: { body } };
    if (method !== RESULT && method !== ERROR) return read(method, id, body);
    // In memory, answers have these names.
    flawed({ reply: { id: id!, code: METHOD_NOT_FOUND } });
    return refuse(`there is no method ${method}: names that begin with rpc. are reserved`, undefined);
  }

  function answer(body: JsonObject, id: RpcId | undefined): RpcMessage {
    const { result, error } = body as { readonly result?: unknown; readonly error?: RpcError | null };
    if (id === undefined) return refuse("a frame is a request, a notification, a result or an error", null);
    // Peers of older versions write null for the one that is left out.
    const isError = error !== undefined && error !== null;
    const one = isError ? forError : forResult;
    const isBoth = isError && result !== undefined && result !== null;
    if (isBoth || !one?.check(body)) flawed({ ends: [id] });
    if (isBoth || !one || (!isError && result === undefined))
      return refuse("an answer has a result or an error", undefined);
    assertChecked(one.check, body, one.origin);
    return isError ? { type: ERROR, id, error } : { type: RESULT, id, result };
  }
}

function read(type: string, id: RpcId | undefined, { params }: JsonObject): { readonly message: RpcMessage } {
  return { message: id === undefined ? { type, params } : { type, id, params } };
}
