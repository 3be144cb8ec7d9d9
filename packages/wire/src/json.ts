import type { Side } from "./contract/contract.js";
import type { Json } from "./contract/schema.js";
import { quoteBody, Violation, type ViolationCode } from "./errors.js";
import { formatPointer } from "./internal/pointer.js";

/** The origin of a parsed body, for its errors. */
export interface Origin {
  readonly protocol: string;
  readonly side: Side;
  readonly subject?: string;
}

export type JsonObject = { [key: string]: unknown };

export const MAX_DEPTH = 64;

/**
 * Parses JSON text (RFC 8259). Throws `Violation` for malformed text, nesting deeper than 64, numbers that no double holds (`1e400`
 * would be read as Infinity, and written as null), and the keys by which a later merge would reach a prototype: `__proto__`, and
 * `constructor` with a `prototype` inside.
 */
export function parseJson(text: string, origin: Origin, subject = origin.subject): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const { text: quoted, details } = quoteBody(text);
    const what = `the body is not JSON${quoted === undefined ? "" : `: ${JSON.stringify(quoted)}`}`;
    throw new Violation(what, { code: "malformed_json", cause, details, ...origin, subject });
  }
  const found = isPlain(value) ? undefined : refused(value as object | number, 0);
  if (found) {
    const { what, code, path, keyword, params } = found;
    const at = formatPointer(path);
    throw new Violation(what, { code, flaws: keyword ? [{ at, keyword, params }] : [], ...origin, subject });
  }
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether every field has the required value. */
export function matches(body: Readonly<JsonObject>, values: Readonly<Record<string, Json>>): boolean {
  return Object.entries(values).every(([key, value]) => body[key] === value);
}

/** A forbidden part of a body. Its path is built while unwinding, so a valid body costs nothing. */
interface Refused {
  readonly what: string;
  readonly code: ViolationCode;
  readonly path: (string | number)[];
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Whether nothing in a value can be refused. */
function isPlain(value: unknown): boolean {
  return typeof value === "object" ? value === null : typeof value !== "number" || Number.isFinite(value);
}

/** Walks a parsed value that is not plain, which costs far less than a scan of its text. */
function refused(value: object | number, depth: number): Refused | undefined {
  if (typeof value === "number")
    return refusal("a number is too large for a double", "malformed_json", "type", { type: "number" });
  if (depth === MAX_DEPTH) return refusal(`the body is nested deeper than ${MAX_DEPTH}`, "too_deep");
  return Array.isArray(value) ? refusedIn(value, depth + 1) : refusedUnder(value as JsonObject, depth + 1);
}

// Apart, because V8 compiles a walk of both kinds to code that takes up to twice as long for what is nested.

function refusedIn(list: readonly unknown[], depth: number): Refused | undefined {
  for (let at = 0; at < list.length; at++) {
    const found = isPlain(list[at]) ? undefined : refused(list[at] as object | number, depth);
    if (found) return below(at, found);
  }
  return undefined;
}

function refusedUnder(object: JsonObject, depth: number): Refused | undefined {
  for (const key in object) {
    const inner = object[key];
    if (isPlain(inner) && key !== "__proto__") continue;
    const forbidden =
      key === "__proto__" || (key === "constructor" && isObject(inner) && Object.hasOwn(inner, "prototype"));
    const found = forbidden
      ? refusal(`the key ${key} is refused`, "forbidden_key", "propertyNames", { propertyName: key })
      : refused(inner as object | number, depth);
    if (found) return below(key, found);
  }
  return undefined;
}

function refusal(what: string, code: ViolationCode, keyword = "", params = {}): Refused {
  return { what, code, path: [], keyword, params };
}

function below(key: string | number, found: Refused): Refused {
  found.path.unshift(key);
  return found;
}
