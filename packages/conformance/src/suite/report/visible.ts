/** Control characters but line ends, those of C1, and marks that change the direction of text or are a line's end to some. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
const HIDDEN = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;

/** Text of a peer as it may be shown: a terminal or page takes none of it for a command. Of JSON text the value stays the same. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
