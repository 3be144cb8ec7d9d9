import type { KindOf } from "./names.js";
import { isLabel, isValue, kindOfLabel } from "./pairs.js";
import { valueAt } from "./quoted.js";
import { columnsIn } from "./tables.js";

/** What stands before a secret, as a word or at a word's end: a name's separator, a scheme, a flag. */
const BEFORE = /(?:[=:]\\*["'`]?|\b(?:bearer|basic|token|digest|apikey)|(?:^|\s)-u|--[\w.-]{2,80})\s*$/i;
/** A name and its separator, before a value in quotes. */
const QUOTED = /[\p{L}\p{M}\w.-]{1,80}(?:\\{0,7}["']?\]?\s{0,3}(?:=>|:=|[=:])|\\{0,7}["']\s{0,3},)$/u;
/** A separator that stands alone behind its name, as in `NAME = value`. */
const SEPARATOR = /^(?:=>|:=|[=:])["'`]?(?:\s|$)/;

/**
 * The position from which a text may hold the beginning of a secret that goes on in the next one: its last word, and the words before it
 * that name it.
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
  return Math.min(from, quotedFrom(text), pairFrom(text, kindOf), sentenceFrom(text), columnsIn(text, kindOf, []));
}

/** A name in a sentence, and the words between it and its value in quotes, with the quote. */
const SENTENCE =
  /(?:\b\w{1,20}[ -])?(?:pass(?:word|wd|phrase|code)|passwort|kennwort|senha|(?:api|access|auth|secret|private)[ -]\w{3,6})s?(?:[^\w"'`\n]{1,4}\w{1,30}){0,5}[^\w"'`\n]{0,4}(?:\\{0,7}["'`][^\s"'`]{0,200})?$/i;
/** The most characters of these. */
const LONG = 300;

/** Where a sentence stands that names a value to come, or one in quotes that is not closed. The text's length if there is none. */
function sentenceFrom(text: string): number {
  const from = Math.max(0, text.length - LONG);
  const found = SENTENCE.exec(text.slice(from));
  return found ? from + found.index : text.length;
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

/** The most characters between the beginning of an object and the end of a secret in it that another property names. */
const NEAR = 300;
const PROPERTY = /([A-Za-z_][\w-]{0,30})\\{0,7}["']?\s{0,3}[=:]\s{0,3}(?=\\{0,7}["'])/g;

/** Where an object stands that is not closed, and may hold a secret and its name side by side. The text's length if there is none. */
function pairFrom(text: string, kindOf: KindOf): number {
  const tail = text.slice(-NEAR);
  const at = tail.lastIndexOf("{");
  if (at < 0 || tail.lastIndexOf("}") > at) return text.length;
  const object = tail.slice(at);
  const open = text.length - object.length;
  for (const { index, 0: match, 1: name = "" } of object.matchAll(PROPERTY)) {
    if (!isLabel(name) && !isValue(name)) continue;
    const value = valueAt(object, index + match.length);
    const isOpen = value === undefined || value.to === object.length;
    // A value may come before its name, and a name may go on.
    if (isOpen || !isLabel(name) || kindOfLabel(object.slice(value.from, value.to), kindOf) !== "plain") return open;
  }
  return text.length;
}
