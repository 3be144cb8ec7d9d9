import { type AnyContract, assertChecked, checkOf, inputName, unbindAnswer } from "@parlance/wire";
import { parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import type { Conversations } from "../conversation.js";
import { type HeaderList, headerOf } from "../recording.js";
import { PLACEHOLDER } from "../redaction/known.js";
import type { Find, Open } from "./finding.js";

/** What any server or gateway answers before an operation is called (RFC 9110, section 15; RFC 6585), whatever the contract declares. */
const COMMON = new Set([
  ...[400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 417, 421, 422, 426, 429, 431],
  ...[500, 501, 502, 503, 504, 505],
]);

const IS_REDACTED = new RegExp(PLACEHOLDER.source);

const typeIn = (headers: HeaderList) =>
  /^[^;]*/
    .exec(headerOf(headers, "content-type") ?? "")![0]
    .trim()
    .toLowerCase();

/** Checks the content type of a request that was accepted. */
export function checkRequestType(contract: AnyContract, name: string, headers: HeaderList, find: Find): void {
  const operation = contract.operations[name];
  const expected = operation?.binary ?? (operation?.body === undefined ? undefined : "application/json");
  const type = typeIn(headers);
  if (expected !== undefined && type !== expected)
    find("header", `the body of ${name} is ${expected}, not ${type || "without a type"}`);
}

/** Checks the content type of a success, and its headers. Throws `Violation` for a header that is missing or of another type. */
export function checkAnswerHeaders(contract: AnyContract, name: string, headers: HeaderList, find: Find): void {
  const { answer } = contract.operations[name]!;
  const text = answer.text ?? answer.binary;
  const expected = answer.stream
    ? (answer.stream.lines ?? "text/event-stream")
    : (text ?? (answer.json && "application/json"));
  const type = typeIn(headers);
  // Clients take any text for text.
  const fits = type === expected || (text !== undefined && /^text\//.test(text) && /^text\//.test(type));
  if (expected !== undefined && !fits)
    find("header", `${name} is answered with ${expected}, not ${type || "without a type"}`);
  if (answer.headers === undefined) return;
  const all = new Headers();
  for (const [key, value] of headers) if (!key.startsWith(":")) all.append(key, value);
  // A type does not apply to a placeholder.
  if (Object.keys(answer.headers).some((key) => IS_REDACTED.test(all.get(key) ?? ""))) return;
  const origin = { protocol: contract.name, side: "server", subject: name } as const;
  const check = checkOf(contract, contract.checks, inputName(name, "Headers"));
  assertChecked(check, unbindAnswer(answer.headers, all), origin, "the headers of");
}

/** Checks the status of a refusal. */
export function checkRefusedStatus(
  { contract, faults }: Conversations,
  { status = 0 }: Open,
  names: readonly string[],
  find: Find,
): void {
  if (COMMON.has(status) || faults.includes(status)) return;
  if (Object.values(contract.fault.codes ?? {}).some((code) => code.status === status)) return;
  if (names.some((name) => contract.operations[name]?.faults?.[status])) return;
  find("status", `${names.join(" or ")}: the contract has no fault with ${status}`);
}

/** Checks the body of a refusal. Throws `Violation` where it breaks the contract's schema. */
export function checkRefusal(
  contract: AnyContract,
  { status = 0 }: Open,
  names: readonly string[],
  text: string,
  find: Find,
): void {
  if (names.some((name) => contract.operations[name]?.faults?.[status]?.text)) return;
  const { schema } = contract.fault;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return find(
      "schema",
      `server: the body of the ${status} of ${names.join(" or ")} is not JSON: it breaks ${schema}`,
    );
  }
  const origin = { protocol: contract.name, side: "server", subject: names.join(" or ") } as const;
  const check = contract.checks[schema];
  if (!check || isReadOtherwise(contract, body)) return;
  assertChecked(check, body, origin, `the body of the ${status} of`);
}

/** Whether a refusal has its text in another place that the contract reads, as other programs write it. */
function isReadOtherwise({ fault }: AnyContract, body: unknown): boolean {
  return fault.text.slice(1).some((pointer) => typeof valueAt(body, parsePointer(pointer)) === "string");
}
