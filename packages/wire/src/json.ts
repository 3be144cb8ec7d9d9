import type { Side } from "@parlance/contract";
import { Violation } from "./errors.js";

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
  if (tooDeep(text))
    throw new Violation(`the body is nested deeper than ${MAX_DEPTH}`, { code: "too_deep", ...origin });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw new Violation(`the body is not JSON: ${JSON.stringify(shown)}`, { code: "malformed_json", cause, ...origin });
  }
  if (isSuspicious(text) || LARGE.test(text)) refuseForbidden(value, origin);
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the brackets go deeper than the limit, strings skipped. Shorter texts than twice the limit cannot. */
function tooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) {
      // Strings are most of a body: jump to the quote that ends one.
      do i = text.indexOf('"', i + 1);
      while (escaped(text, i));
      if (i < 0) return false;
    } else if (c === 123 || c === 91) {
      if (++depth > MAX_DEPTH) return true;
    } else if (c === 125 || c === 93) depth--;
  }
  return false;
}

function escaped(text: string, quote: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(quote - 1 - slashes) === 92) slashes++;
  return slashes % 2 === 1;
}

/** The forbidden names, or an escape that could spell one. Three plain searches cost a third of one regular expression. */
function isSuspicious(text: string): boolean {
  return text.includes("__proto__") || text.includes('"constructor"') || text.includes("\\u00");
}

/** Numbers that may be above 1.8e308: an exponent of three digits, or so many digits that one of two is enough. */
const LARGE = /\d[eE]\+?\d{3}|\d{200}/;

function refuseForbidden(value: unknown, origin: Origin, at = ""): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Violation("a number is too large for a double", {
      code: "malformed_json",
      flaws: [{ at, keyword: "type", params: { type: "number" } }],
      ...origin,
    });
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__" || (key === "constructor" && isObject(inner) && Object.hasOwn(inner, "prototype")))
      throw new Violation(`the key ${key} is refused`, {
        code: "forbidden_key",
        flaws: [{ at: `${at}/${key}`, keyword: "propertyNames", params: { propertyName: key } }],
        ...origin,
      });
    refuseForbidden(inner, origin, `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}
