import type { RpcId } from "../contract/rpc.js";
import type { Violation } from "../errors.js";
import { isObject, type JsonObject } from "../json.js";
import { INVALID_REQUEST, PARSE_ERROR } from "./error.js";

/** What follows from a frame that breaks the protocol. */
export interface Flawed {
  /** The error that it is answered with; none for an answer. */
  readonly reply?: { readonly id: RpcId; readonly code: number };
  /** The ids of the answers in it, which end their requests. */
  readonly ends?: readonly RpcId[];
}

/** Whether a value can be written back as it came. Digits of a larger number are lost when it is read. */
export const isId = (id: unknown): id is RpcId | undefined =>
  id === undefined ||
  id === null ||
  typeof id === "string" ||
  (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER);

/** What follows from a frame, or a batch, of which only the ids and the kinds are readable. */
export function flawOf(body: unknown): Flawed {
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

/** Maximum number of kinds of violations to print, so that a peer cannot fill the log. */
const MAX_KINDS = 100;

/** Prints the violations of a peer: once for each kind and place, because a wrong peer repeats it. */
export function violationLog(by: string): (violation: Violation, what: string) => void {
  const printed = new Set<string>();
  return ({ code, subject, flaws, message }, what) => {
    const kind = [what, code, subject, flaws[0]?.at.replace(/\d+/g, "0")].join(" ");
    if (printed.has(kind) || printed.size >= MAX_KINDS) return;
    printed.add(kind);
    console.warn(`${by}: ${what} was refused, printed once: ${message}`);
  };
}
