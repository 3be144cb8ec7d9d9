import type { Contract, Fault, FaultPlaces, Json } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { misuse, Refusal } from "./errors.js";
import type { JsonObject } from "./json.js";
import { get, parts, set } from "./pointer.js";

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
  if (asText) return { status, type: "text/plain", body: refusal.message };
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

/** The inverse: decodes a refusal from a status and a body. A body not in the protocol's form is quoted in the message. */
export function unfault(contract: Contract, status: number, body: string, retryAfter?: number): Refusal {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // It is quoted as it is.
  }
  const said = read(parsed, contract.fault);
  const shown = (body.length > 200 ? `${body.slice(0, 200)}…` : body).trim() || `status ${status}`;
  // JSON such as `{"error":null}` is not a usable message.
  const silent = parsed !== undefined && !Object.values(parsed ?? {}).some(Boolean);
  const text = silent ? `status ${status} without a reason` : shown;
  return new Refusal(said.text || text, { status, ...said, retryAfter, bare: !body || undefined });
}

/** Encodes a refusal as the failure message of a stream or channel. */
export function faultMessage(contract: Contract, name: string, refusal: Refusal): AnyMessage {
  const places = contract.messages[name]?.fault;
  if (!places) throw misuse(`${contract.name}: ${name} does not say where its fault is`);
  return write({ type: name }, places, contract.fault, refusal) as JsonObject & AnyMessage;
}

/** The inverse; undefined for a message that reports no fault. */
export function unfaultMessage(contract: Contract, message: AnyMessage): Refusal | undefined {
  const places = contract.messages[message.type]?.fault;
  if (!places) return undefined;
  const said = read(message as AnyMessage & JsonObject, places);
  const status = said.code === undefined ? undefined : contract.fault.codes?.[said.code]?.status;
  return new Refusal(said.text ?? message.type, { status, ...said });
}

function statusOf({ codes = {} }: Fault, refusal: Refusal): number {
  return refusal.status ?? codes[refusal.code]?.status ?? 500;
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
  const code = codes[refusal.code] ? refusal.code : (genericCode(codes, statusOf(faults, refusal)) ?? refusal.code);
  if (places.code) set(body, places.code[0]!, code);
  set(body, places.text[0]!, refusal.message);
  const details = refusal.details ?? places.noDetails;
  if (places.details && details !== undefined) set(body, places.details[0]!, details);
  if (places.recoverable)
    set(body, places.recoverable[0]!, refusal.recoverable ?? codes[code]?.recoverable ?? refusal.retryable);
  return body;
}

function read(
  body: unknown,
  places: FaultPlaces,
): { text?: string; code?: string; details?: Json; recoverable?: boolean } {
  const first = (pointers: readonly string[] | undefined, type: string): unknown =>
    pointers
      ?.map((pointer) => get(body, parts(pointer)))
      .find((value) => value !== undefined && (type === "any" || typeof value === type));
  return {
    text: first(places.text, "string") as string | undefined,
    code: first(places.code, "string") as string | undefined,
    details: first(places.details, "any") as Json | undefined,
    recoverable: first(places.recoverable, "boolean") as boolean | undefined,
  };
}
