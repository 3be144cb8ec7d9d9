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

/** A frame in memory. Only those of requests and answers have an id. */
export interface RpcMessage extends AnyMessage {
  readonly id?: RpcId;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
}

/** What follows from a frame that breaks the protocol. */
export interface Flawed {
  /** The error that it is answered with; none for an answer. */
  readonly reply?: { readonly id: RpcId; readonly code: number };
  /** The ids of the answers in it, which end their requests. */
  readonly ends?: readonly RpcId[];
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

  const [forResult, forError] = [RESULT, ERROR].map((name) => known.get(name));
  known.delete(RESULT);
  known.delete(ERROR);

  function refuse(what: string, id: RpcId | undefined, subject?: string): never {
    if (id !== undefined) flawed({ reply: { id, code: INVALID_REQUEST } });
    throw new Violation(what, { code: "not_a_request", ...origin, subject });
  }

  function parse(text: string): JsonObject {
    let body: unknown;
    try {
      body = parseJson(text, origin);
    } catch (error) {
      const isText = error instanceof Violation && error.code === "malformed_json";
      flawed(isText ? { reply: { id: null, code: PARSE_ERROR } } : flawOf(JSON.parse(text)));
      throw error;
    }
    if (reads.message) body = reads.message(body);
    if (Array.isArray(body)) {
      flawed(flawOf(body));
      return refuse("a batch is not supported", undefined);
    }
    return isObject(body) ? body : refuse("a frame is a JSON object", null);
  }

  /** The method of the frame before. Most frames have it, and comparing names is quicker than hashing a string that was just read. */
  let last: typeof known extends Map<string, infer K> ? K | undefined : never;
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

/** Whether a value can be written back as it came. Digits of a larger number are lost when it is read. */
const isId = (id: unknown): id is RpcId | undefined =>
  id === undefined ||
  id === null ||
  typeof id === "string" ||
  (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER);

/** What follows from a frame, or a batch, of which only the ids and the kinds are readable. */
function flawOf(body: unknown): Flawed {
  const all = (Array.isArray(body) ? body : [body]).map((one) => (isObject(one) ? one : {}));
  const idOf = ({ id }: JsonObject): RpcId => (isId(id) ? (id ?? null) : null);
  const answers = all.filter((one) => one.method === undefined && idOf(one) !== null);
  const ends = answers.map(idOf);
  if (answers.length > 0 && answers.length === all.length) return { ends };
  return { reply: { id: Array.isArray(body) ? null : idOf(all[0]!), code: INVALID_REQUEST }, ends };
}

/** Characters of a frame over the limit in which its id and kind are looked for. */
const MAX_HEAD = 4096;

/** A member of an object, with its value where that is a text, a number or a word. */
const MEMBER = /\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"(?=\s*[,}])|[-+.\w]+(?=\s*[,}]))?/y;

/**
 * What follows from a frame over the limit, by the members at its beginning: most peers write the id and the method first. Undefined where it may
 * answer a request that cannot be known.
 */
export function flawOfHead(text: string): Flawed | undefined {
  const head = text.slice(0, MAX_HEAD);
  const first = head.trimStart()[0];
  if (first !== "{") return first === "[" ? undefined : { reply: { id: null, code: PARSE_ERROR } };
  const members: JsonObject = {};
  MEMBER.lastIndex = 0;
  for (let found = MEMBER.exec(head); found; found = found[2] === undefined ? null : MEMBER.exec(head)) {
    try {
      members[JSON.parse(found[1]!)] = JSON.parse(found[2] ?? "{}");
    } catch {
      break;
    }
  }
  const { id, method, params } = members;
  if (method !== undefined || params !== undefined)
    return { reply: { id: isId(id) ? (id ?? null) : null, code: INVALID_REQUEST } };
  return ("result" in members || "error" in members) && isId(id) && (id ?? null) !== null ? { ends: [id!] } : undefined;
}

function read(type: string, id: RpcId | undefined, { params }: JsonObject): { readonly message: RpcMessage } {
  return { message: id === undefined ? { type, params } : { type, id, params } };
}
