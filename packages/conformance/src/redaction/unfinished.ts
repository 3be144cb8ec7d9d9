import type { KindOf } from "./names.js";
import { columnsIn } from "./tables.js";

/** What stands before a secret, as a word or at a word's end: a name's separator, a scheme, a flag. */
const BEFORE = /(?:[=:]\\*["'`]?|\b(?:bearer|basic|token|digest|apikey)|(?:^|\s)-u|--[\w.-]{2,80})\s*$/i;
/** A name and its separator, before a value in quotes. */
const QUOTED = /[\p{L}\p{M}\w.-]{1,80}(?:\\{0,7}["']?\]?\s{0,3}(?:=>|:=|[=:])|\\{0,7}["']\s{0,3},)$/u;
/** A separator that stands alone behind its name, as in `NAME = value`. */
const SEPARATOR = /^(?:=>|:=|[=:])["'`]?(?:\s|$)/;

/**
 * The position from which a text may hold the beginning of a secret that goes on in the next one, however long it is: its last word, and
 * the words before it that name it.
 */
export function unfinished(text: string, kindOf: KindOf): number {
  const pem = text.lastIndexOf("-----BEGIN");
  if (pem >= 0 && !text.includes("-----END", pem)) return pem;
  // Behind the last word and its spaces a separator may follow.
  let from = wordBefore(text, text.trimEnd().length);
  for (let words = 0; words < 3 && from > 0; words++) {
    if (!BEFORE.test(text.slice(Math.max(0, from - 100), from)) && !SEPARATOR.test(text.slice(from))) break;
    from = wordBefore(text, text.slice(0, from).trimEnd().length);
  }
  return Math.min(from, quotedFrom(text), columnsIn(text, kindOf, []));
}

/** Where a name stands whose value is in quotes that are not closed: it may have many words. The text's length if there is none. */
function quotedFrom(text: string): number {
  const quote = Math.max(text.lastIndexOf('"'), text.lastIndexOf("'"));
  if (quote < 0 || /[\r\n]/.test(text.slice(quote))) return text.length;
  const from = Math.max(0, quote - 130);
  const before = text.slice(from, quote).replace(/\\+$/, "").trimEnd();
  const named = /[=:>,]$/.test(before) ? QUOTED.exec(before) : null;
  return named ? from + named.index : text.length;
}

/** Where the word begins that ends at a position. */
function wordBefore(text: string, end: number): number {
  let at = end;
  while (at > 0 && !/\s/.test(text[at - 1]!)) at--;
  return at;
}
