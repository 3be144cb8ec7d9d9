import type { Check, Checks, ContractValue, Reads } from "./contract/check.js";
import type { Side } from "./contract/contract.js";
import type { AnyMessage } from "./contract/schema.js";
import { describe, type Flaw, misuse, Violation } from "./errors.js";
import { valueAt } from "./internal/pointer.js";
import { isObject, type JsonObject, parseJson } from "./json.js";
import { namer, stripper } from "./tag.js";

export type AnyContract = ContractValue<unknown, unknown>;

/** A message as text: the data of an SSE event or a WebSocket frame. */
export interface Written {
  readonly event?: string | undefined;
  readonly data: string;
}

/** The result of decoding: a message of the contract, or an unknown one. */
export type Read = { readonly message: AnyMessage } | { readonly unknown: Unknown };

export interface Unknown {
  readonly event?: string | undefined;
  readonly body: unknown;
}

export interface Codec {
  /**
   * Throws `Violation` where the message is not one of the codec's or breaks its schema. An encoder that serves many connections may
   * return the text of the last call with the same `saying`.
   */
  encode(message: AnyMessage, saying?: object): Written;
  /** Throws `Violation` where the text is not a JSON object, or is a known message that breaks its schema. */
  decode(written: Written): Read;
}

export interface CodecOptions {
  /** The side that writes these messages. */
  readonly side: Side;
  /** The names that this stream or channel may carry, in contract order. */
  readonly names: readonly string[];
  /** By schema title. Without them nothing is checked: the compiler has checked what a client sends. */
  readonly checks?: Checks | undefined;
  /** The profile of the contract to write. */
  readonly profile?: string | undefined;
}

export interface DecoderOptions extends CodecOptions {
  /** How this side is read: the contract's `reads` of the server, those of `accepts()` of the client. */
  readonly reads: Reads;
}

/** A message's check, the origin for its errors, and the removal of its tag. Created once, not for each message. */
interface Known {
  readonly check: Check;
  readonly strip: (body: JsonObject, tagged: string) => AnyMessage;
  readonly origin: { readonly protocol: string; readonly side: Side; readonly subject: string };
}

/** The decoding half of a codec. */
export function messageDecoder(contract: AnyContract, options: DecoderOptions): Codec["decode"] {
  const { side, reads } = options;
  const { name: protocol, tag } = contract;
  const messages = knownOf(contract, options, reads);
  const nameOf = namer(contract, reads);
  const origin = { protocol, side };
  const byEvent = tag.in === "event";
  const namedByEvent = tag.in === "property" && tag.event && tag.property;
  /** The message before. Most have its name, and comparing names is quicker than hashing a string that was just read. */
  let message: Known | undefined;
  return ({ event, data }) => {
    let body = parseJson(data, origin, event) as JsonObject;
    if (reads.message) body = reads.message(body) as JsonObject;
    if (!byEvent && !isObject(body))
      throw new Violation("a message is a JSON object", { code: "not_an_object", ...origin, subject: event });
    if (namedByEvent && event !== undefined && valueAt(body, [namedByEvent]) === undefined) body[namedByEvent] = event;
    const name = nameOf(event, body);
    if (message?.origin.subject !== name) message = knownAs(contract, messages, name);
    if (!message) return { unknown: { event, body } };
    assertChecked(message.check, body, message.origin);
    return { message: message.strip(body, name as string) };
  };
}

/** The messages of one direction, by name. */
export function knownOf(
  contract: AnyContract,
  { side, names, checks }: CodecOptions,
  reads?: Reads,
): Map<string, Known> {
  return new Map(
    names.map((name) => {
      const check = checks ? checkOf(contract, checks, contract.messages[name]!.schema, reads) : unchecked;
      const origin = { protocol: contract.name, side, subject: name };
      return [name, { check, origin, strip: stripper(contract, name) }];
    }),
  );
}

/** The message of a tag: the one with this name, else the one whose name is a prefix of it. */
export function knownAs({ prefixed }: AnyContract, messages: Map<string, Known>, tag: unknown): Known | undefined {
  return messages.get(tag as string) ?? messages.get(prefixed?.(tag, messages) as string);
}

/** The contract's name of a message in memory, whose own may be one of many with a prefix. */
export function nameIn({ prefixed, messages }: AnyContract, type: string): string {
  return Object.hasOwn(messages, type) ? type : (prefixed?.(type, new Map(Object.entries(messages))) ?? type);
}

function unchecked(): boolean {
  return true;
}

/** The check of a schema; with `reads`, the one that reads what the schema tolerates. */
export function checkOf(contract: AnyContract, checks: Checks, schema: string, reads?: Reads): Check {
  const check = reads?.tolerant?.[schema] ?? checks[schema];
  if (!check) throw misuse(`the contract ${contract.name} has no check for ${schema}: generate it again`);
  return check;
}

/** Throws `Violation` with every flaw that the check found; its message attributes them to `part`, such as "the answer of". */
export function assertChecked(
  check: Check,
  body: unknown,
  origin: { protocol: string; side: Side; subject: string },
  part = "the message",
): void {
  if (check(body)) return;
  const found = flaws(check);
  throw new Violation(`${describe(found)} in ${part} ${origin.subject}`, { code: "schema", flaws: found, ...origin });
}

export function flaws(check: Check): Flaw[] {
  return (check.errors ?? []).map(({ instancePath: at, keyword, params, branch }) => ({ at, keyword, params, branch }));
}
