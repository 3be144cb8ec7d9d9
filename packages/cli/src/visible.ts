import type { Io } from "./io.js";

/** Control characters but the tab and the line feed, those that turn the direction of text, and those that end a line or have no width. */
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/**
 * A command's output, in which text of a peer or a file cannot control the terminal. An escape of JSON stands for the character, so that
 * JSON stays the same value.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same input and output, with every output made visible. A command that prints for another program has its standard output as it is. */
export function shownBy(io: Io, exact: boolean): Io {
  return { ...io, out: exact ? io.out : (text) => io.out(visible(text)), err: (text) => io.err(visible(text)) };
}
