// Values in a text that need not be JSON: in quotes, in JSON within a text, in brackets.

import type { Span } from "./span.js";

/** A value behind a name. */
export interface Value extends Span {
  readonly quoted: boolean;
}

const OPENING = /(?<escapes>\\{0,7})(?<quote>["'`])/y;
const BARE = /[^\s"'`,;&<>(){}[\]\\]{3,}/y;
/** The end of a sentence, and no part of a value in it. */
const STOP = /[.!?:]+$/;

/** The value at a position: a text in quotes, or one without up to a space or separator. */
export function valueAt(text: string, at: number): Value | undefined {
  const quoted = quotedAt(text, at);
  if (quoted) return { ...quoted, quoted: true };
  BARE.lastIndex = at;
  const [bare] = BARE.exec(text) ?? [];
  return bare === undefined ? undefined : { from: at, to: at + bare.replace(STOP, "").length, quoted: false };
}

/** What stands in the quotes that open at a position. Quotes of JSON within a text have backslashes before them. */
export function quotedAt(text: string, at: number): Span | undefined {
  OPENING.lastIndex = at;
  const opening = OPENING.exec(text);
  if (!opening) return undefined;
  const { escapes = "", quote = "" } = opening.groups!;
  const from = OPENING.lastIndex;
  return { from, to: closing(text, from, quote, escapes.length) };
}

/** Where a text in quotes ends: at a quote with as many backslashes, at the line's end, or at the end of a text that is cut. */
function closing(text: string, from: number, quote: string, escapes: number): number {
  for (let at = from; at < text.length; at++) {
    const one = text[at];
    if (one === "\n" || one === "\r") return at;
    if (one !== quote) continue;
    let before = 0;
    while (at - before > from && text[at - before - 1] === "\\") before++;
    // More backslashes escape a quote or a backslash of the value.
    if (before % (2 * (escapes + 1)) === escapes) return at - escapes;
  }
  return text.length;
}

/** The most characters of an object or list that are read. */
const MOST = 5000;

/** The values in the object or list that opens at a position: its texts and numbers, without the names of properties. It may be cut. */
export function valuesIn(text: string, at: number): { readonly values: readonly Span[]; readonly to: number } {
  if (text[at] !== "{" && text[at] !== "[") return { values: [], to: at };
  const end = Math.min(text.length, at + MOST);
  const values: Span[] = [];
  let depth = 0;
  let i = at;
  while (i < end) {
    const one = text[i]!;
    if (one === "{" || one === "[") depth++;
    else if ((one === "}" || one === "]") && --depth === 0) break;
    const value = one === '"' || one === "\\" ? quotedAt(text, i) : numberAt(text, i);
    if (!value) {
      i++;
      continue;
    }
    i = value.to;
    while (text[i] === "\\") i++;
    if (text[i] === '"') i++;
    if (value.to > value.from && !/^\s*:/.test(text.slice(i, i + 10))) values.push(value);
  }
  return { values, to: i };
}

const NUMBER = /-?\d[\d.eE+-]*/y;

function numberAt(text: string, at: number): Span | undefined {
  NUMBER.lastIndex = at;
  return NUMBER.test(text) ? { from: at, to: NUMBER.lastIndex } : undefined;
}
