// Texts that are in base64 in another, such as the content of a file.

import type { Span } from "./span.js";

/** A shorter word is left out whole, because it looks like one of a generator. */
const WORD = /(?<=;base64,)[\w+/-]{16,}={0,2}|(?<![\w+/-])[\w+/-]{127,}={0,2}/g;
/** The longest text that is read. */
const MOST = 1024 * 1024;
/** How many characters tell whether it is one. */
const HEAD = 24;
/** What no text has. */
const BINARY = /(?![\s\x9B])\p{Cc}/u;

/** The words of a text that are another text in base64. */
export function packedIn(text: string): (Span & { readonly plain: string })[] {
  if (text.length < 24) return [];
  return Array.from(text.matchAll(WORD), ({ index, 0: word }) => {
    const plain = decode(word.slice(0, HEAD)) === undefined || word.length > MOST ? undefined : decode(word);
    return plain === undefined ? [] : [{ from: index, to: index + word.length, plain }];
  }).flat();
}

/** The text that a word of base64 is; undefined where it is none. The last character of a part may be cut. */
function decode(word: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(word.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const isPart = word.length <= HEAD;
    const plain = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isPart });
    return BINARY.test(plain) ? undefined : plain;
  } catch {
    return undefined;
  }
}

/** A text as base64, in the alphabet of a word. */
export function encodeAs(word: string, plain: string): string {
  const text = btoa(Array.from(new TextEncoder().encode(plain), (byte) => String.fromCharCode(byte)).join(""));
  const own = /[-_]/.test(word) ? text.replaceAll("+", "-").replaceAll("/", "_") : text;
  return word.endsWith("=") ? own : own.replace(/=+$/, "");
}
