/**
 * Names as git writes them: in double quotes with C escapes where a byte is outside printable ASCII or is `"` or `\`.
 * Bytes that are not UTF-8 become lone surrogates U+DC80 to U+DCFF, so that quoting gives them back.
 * Law: `unquoteName(quoteName(name)).name === name`.
 */
export function quoteName(name: string): string {
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(name)) return name;
  let quoted = '"';
  for (const character of name) {
    const code = character.codePointAt(0)!;
    if (code >= 0xdc80 && code <= 0xdcff) quoted += octal(code - 0xdc00);
    else if (code > 126 || code < 32) {
      const letter = LETTERS[code];
      if (letter !== undefined) quoted += `\\${letter}`;
      else for (const byte of new TextEncoder().encode(character)) quoted += octal(byte);
    } else quoted += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `${quoted}"`;
}

/** Reads the quoted name at the start of the text; `length` is how much of the text it took. Null if there is none. */
export function unquoteName(text: string): { name: string; length: number } | null {
  if (text[0] !== '"') return null;
  const match = /^"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*)"/.exec(text);
  if (match === null) return null;
  let name = "";
  let bytes: number[] = [];
  for (const [piece, digits, letter] of match[1]!.matchAll(/\\(?:([0-7]{3})|(.))|[^\\]+/gs)) {
    if (digits !== undefined) {
      bytes.push(Number.parseInt(digits, 8));
      continue;
    }
    name += decodeBytes(bytes);
    bytes = [];
    name += letter === undefined ? piece : UNESCAPED[letter]!;
  }
  return { name: name + decodeBytes(bytes), length: match[0].length };
}

const LETTERS: Record<number, string> = { 7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r" };
const UNESCAPED: Record<string, string> = {
  ...Object.fromEntries(Object.entries(LETTERS).map(([code, letter]) => [letter, String.fromCharCode(Number(code))])),
  '"': '"',
  "\\": "\\",
};

function octal(byte: number): string {
  return `\\${byte.toString(8).padStart(3, "0")}`;
}

function decodeBytes(bytes: readonly number[]): string {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i]!;
    const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    try {
      text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
        Uint8Array.from(bytes.slice(i, i + length)),
      );
      i += length;
    } catch {
      text += String.fromCharCode(0xdc00 + first);
      i++;
    }
  }
  return text;
}
