import type { Contract, Fault, FaultPlaces } from "./contract/contract.js";
import type { AnyMessage, Json } from "./contract/schema.js";
import { brief, MAX_MESSAGE, misuse, quoteBody, Refusal } from "./errors.js";
import { parsePointer, setAt, valueAt } from "./internal/pointer.js";
import { isObject, type JsonObject } from "./json.js";

/** An HTTP refusal before it is sent. */
export interface Faulted {
  readonly status: number;
  readonly type: "application/json" | "text/plain";
  readonly body: string;
}

/** Encodes a refusal as the protocol's answer to an operation (undefined before one is known). */
export function fault(contract: Contract, operation: string | undefined, refusal: Refusal): Faulted {
  const status = statusOf(contract.fault, refusal);
  const asText = operation === undefined ? undefined : contract.operations[operation]?.faults?.[status]?.text;
  if (asText) return { status, type: "text/plain", body: whole(refusal).text };
  return {
    status,
    type: "application/json",
    body: JSON.stringify(write(constants(contract), contract.fault, contract.fault, refusal)),
  };
}

/** The constants that distinguish the body, when it is a message too. */
function constants({ messages, fault }: Contract): JsonObject {
  return { ...Object.values(messages).find(({ schema }) => schema === fault.schema)?.shape?.const };
}

/** The inverse: decodes a refusal from a status and a body. A body not in the protocol's form is quoted in the message, or in `details.body`. */
export function unfault(contract: Contract, status: number, body: string, retryAfter?: number): Refusal {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // It is quoted as it is.
  }
  const said = shorten(read(parsed, contract.fault));
  // JSON such as `{"error":null}` is not a usable message.
  const silent = parsed !== undefined && !Object.values(parsed ?? {}).some(Boolean);
  const shown = said.text
    ? said
    : silent
      ? { text: `status ${status} without a reason` }
      : quoteBody(body, MAX_MESSAGE);
  const details = { retryAfter, bare: !body || undefined };
  const text = shown.text || `status ${status}`;
  return new Refusal(text, { status, ...said, ...shown, ...details });
}

/** Encodes a refusal as the failure message of a stream or channel. */
export function faultMessage(contract: Contract, name: string, refusal: Refusal): AnyMessage {
  const places = contract.messages[name]?.fault;
  if (!places) throw misuse(`${contract.name}: ${name} does not say where its fault is`);
  return write({ type: name }, places, contract.fault, refusal) as JsonObject & AnyMessage;
}

/** The inverse; undefined for a message that reports no fault. */
export function unfaultMessage(contract: Contract, message: AnyMessage): Refusal | undefined {
  const places = ownEntry(contract.messages, message.type)?.fault;
  if (!places) return undefined;
  const said = shorten(read(message as AnyMessage & JsonObject, places));
  const status = said.code === undefined ? undefined : ownEntry(contract.fault.codes, said.code)?.status;
  return new Refusal(said.text ?? message.type, { status, ...said });
}

/** An own entry: every object inherits such names as "constructor". */
function ownEntry<T>(entries: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

function statusOf({ codes = {} }: Fault, refusal: Refusal): number {
  return refusal.status ?? ownEntry(codes, refusal.code)?.status ?? 500;
}

/**
 * The code of a refusal that names none of the protocol's: the status's generic one, or that of 400 or 500. A code that only shares
 * the status would report something that did not happen.
 */
function genericCode(codes: NonNullable<Fault["codes"]>, status: number): string | undefined {
  const generic = (of: number) => Object.keys(codes).find((name) => codes[name]!.generic && codes[name]!.status === of);
  return generic(status) ?? generic(status < 500 ? 400 : 500);
}

function write(body: JsonObject, places: FaultPlaces, faults: Fault, refusal: Refusal): JsonObject {
  const codes = faults.codes ?? {};
  const code = ownEntry(codes, refusal.code)
    ? refusal.code
    : (genericCode(codes, statusOf(faults, refusal)) ?? refusal.code);
  if (places.code) setAt(body, places.code[0]!, code);
  const { text, details = places.noDetails } = whole(refusal);
  setAt(body, places.text[0]!, text);
  if (places.details && details !== undefined) setAt(body, places.details[0]!, details);
  if (places.recoverable)
    setAt(body, places.recoverable[0]!, refusal.recoverable ?? ownEntry(codes, code)?.recoverable ?? refusal.retryable);
  return body;
}

/** What a fault has about its refusal. */
interface FaultFields {
  readonly text?: string;
  readonly code?: string;
  readonly details?: Json;
  readonly recoverable?: boolean;
}

/** Keeps the peer's text on one line. Where it is longer, `details.body` has all of it. */
function shorten({ text, ...said }: FaultFields): FaultFields {
  const line = text === undefined ? undefined : brief(text);
  if (line === undefined || line === text) return { text: line!, ...said };
  const { details } = said;
  return {
    text: line,
    ...said,
    details: { ...(isObject(details) ? (details as { [key: string]: Json }) : {}), body: text! },
  };
}

/** The inverse: a refusal of another server is sent on in that server's words. */
function whole({ message, details }: Refusal): { readonly text: string; readonly details?: Json | undefined } {
  const { body, ...others } = (isObject(details) ? details : {}) as { readonly [key: string]: Json };
  if (typeof body !== "string" || body === message || brief(body) !== message) return { text: message, details };
  return { text: body, details: Object.keys(others).length > 0 ? others : undefined };
}

function read(body: unknown, places: FaultPlaces): FaultFields {
  const first = (pointers: readonly string[] | undefined, type: string): unknown =>
    pointers
      ?.map((pointer) => valueAt(body, parsePointer(pointer)))
      .find((value) => value !== undefined && (type === "any" || typeof value === type));
  return {
    text: first(places.text, "string") as string | undefined,
    code: first(places.code, "string") as string | undefined,
    details: first(places.details, "any") as Json | undefined,
    recoverable: first(places.recoverable, "boolean") as boolean | undefined,
  };
}
