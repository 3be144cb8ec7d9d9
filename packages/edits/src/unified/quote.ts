/**
 * Names as git writes them: in double quotes with C escapes where a byte is outside printable ASCII or is `"` or `\`.
 * Law: `unquoteName(quoteName(name)).name === name`, for every name that UTF-8 can say.
 */
export function quoteName(name: string): string {
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(name)) return name;
  let quoted = "";
  for (const byte of new TextEncoder().encode(name)) {
    const character = String.fromCharCode(byte);
    const letter = LETTERS[byte - 7];
    if (letter !== undefined) quoted += `\\${letter}`;
    else if (byte < 32 || byte > 126) quoted += `\\${byte.toString(8).padStart(3, "0")}`;
    else quoted += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `"${quoted}"`;
}

/**
 * Reads the quoted name at the start of the text; `length` is how much of the text it took. Null if there is none, or one with
 * an escape that C does not have, or with bytes that are no UTF-8: a string cannot hold them, and a file of another name is not meant.
 */
export function unquoteName(text: string): { name: string; length: number } | null {
  if (text[0] !== '"') return null;
  const match = /^"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*)"/.exec(text);
  if (match === null) return null;
  try {
    const bytes = match[1]!.replace(/\\([0-7]{3})|\\(.)|[^\\]+/gs, (piece, digits, letter) =>
      digits === undefined ? encodeURIComponent(UNESCAPED[letter] ?? letter ?? piece) : percent(digits),
    );
    return { name: decodeURIComponent(bytes), length: match[0].length };
  } catch {
    return null;
  }
}

/** What C writes for the control characters from 7 on. */
const LETTERS = "abtnvfr";
const UNESCAPED: Record<string, string> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

function percent(digits: string): string {
  return `%${Number.parseInt(digits, 8).toString(16).padStart(2, "0")}`;
}
