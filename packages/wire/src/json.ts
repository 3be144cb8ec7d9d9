import type { Side } from "@parlance/contract";
import { Violation, type ViolationCode } from "./errors.js";

/** What a parsed body is about, for the errors it may raise. */
export interface Origin {
  readonly protocol: string;
  readonly side: Side;
  readonly subject?: string;
}

export type JsonObject = { [key: string]: unknown };

export const MAX_DEPTH = 64;

/**
 * JSON text (RFC 8259) to a value. Throws `Violation` for malformed text, nesting deeper than 64, numbers that no double holds (`1e400`
 * would be read as Infinity, and written as null), and the keys by which a later merge would reach a prototype: `__proto__`, and
 * `constructor` with a `prototype` inside.
 */
export function parseJson(text: string, origin: Origin): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw new Violation(`the body is not JSON: ${JSON.stringify(shown)}`, { code: "malformed_json", cause, ...origin });
  }
  inspect(value, [], origin);
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Walks a parsed value, which costs far less than a scan of its text. `path` leads to the value. */
function inspect(value: unknown, path: (string | number)[], origin: Origin): void {
  if (typeof value === "number" && !Number.isFinite(value))
    refuse("a number is too large for a double", "malformed_json", origin, path, "type", { type: "number" });
  if (typeof value !== "object" || value === null) return;
  if (path.length === MAX_DEPTH) refuse(`the body is nested deeper than ${MAX_DEPTH}`, "too_deep", origin);
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const inner = (value as JsonObject)[key];
    // Strings are most of a body.
    if (typeof inner === "string" && key !== "__proto__") continue;
    path.push(key);
    if (key === "__proto__" || (key === "constructor" && isObject(inner) && Object.hasOwn(inner, "prototype")))
      refuse(`the key ${key} is refused`, "forbidden_key", origin, path, "propertyNames", { propertyName: key });
    inspect(inner, path, origin);
    path.pop();
  }
}

function refuse(
  what: string,
  code: ViolationCode,
  origin: Origin,
  path: readonly (string | number)[] = [],
  keyword?: string,
  params = {},
): never {
  const at = path.map((key) => `/${`${key}`.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  throw new Violation(what, { code, flaws: keyword ? [{ at, keyword, params }] : [], ...origin });
}
