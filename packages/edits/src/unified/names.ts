export interface NameLine {
  /** As written, prefix and all; null is `/dev/null`, undefined a quoted name that cannot be read. */
  readonly name: string | null | undefined;
  readonly stamp?: string;
}

const TIME = / \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(?: ?[-+]\d\d:?\d\d|Z)?$/;

/** Reads a name, quoted or not, and a stamp. GNU diff writes the epoch as the stamp of a file that is not there. */
export function parseNameLine(text: string, asGit = false): NameLine {
  const quoted = unquoteName(text);
  if (quoted === null && text[0] === '"') return { name: undefined };
  const tab = text.indexOf("\t", quoted?.length);
  const time = tab < 0 && quoted === null && !asGit ? text.search(TIME) : -1;
  const end = tab >= 0 ? tab : time > 0 ? time : text.length;
  const name = quoted?.name ?? text.slice(0, end);
  const stamp = text.slice(end + 1) || undefined;
  return { name: name === "/dev/null" || (stamp !== undefined && isEpoch(stamp)) ? null : name, stamp };
}

/** Reads both names behind `diff --git `. Unquoted names with blanks are certain only where both are the same; else null. */
export function parseGitNames(text: string): { before: string; after: string } | null {
  const first = unquoteName(text);
  const cut = first?.length ?? findCut(text);
  const before = first?.name ?? text.slice(0, cut);
  const rest = text.slice(cut + 1);
  const after = unquoteName(rest)?.name ?? rest;
  const broken = (first === null && before[0] === '"') || (after === rest && rest[0] === '"');
  return cut < 0 || broken ? null : { before, after };
}

function findCut(text: string): number {
  const quote = text.indexOf(' "');
  if (quote >= 0 && unquoteName(text.slice(quote + 1)) !== null) return quote;
  const blank = text.indexOf(" ");
  if (text.indexOf(" ", blank + 1) < 0) return blank;
  const middle = (text.length - 1) / 2;
  const same = dropFolder(text.slice(0, middle)) === dropFolder(text.slice(middle + 1));
  return text[middle] === " " && same ? middle : -1;
}

function isEpoch(stamp: string): boolean {
  if (stamp.length > 80 || !/19(?:70|69)/.test(stamp)) return false;
  const [, date, time, hours = "+00", minutes = "00"] =
    /^(\S{10})[T ](\d\d:\d\d:\d\d)(?:\.0+)?(?: ?([-+]\d\d):?(\d\d)|Z| UTC| GMT)?$/.exec(stamp) ?? [];
  if (date !== undefined) return Date.parse(`${date}T${time}${hours}:${minutes}`) === 0;
  return Date.parse(/[-+]\d{4}$/.test(stamp) ? stamp : `${stamp} +0000`) === 0;
}

export function dropFolder(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** Drops so many leading folders, several slashes counting as one; empty where the name has fewer, unless `few` is allowed. */
export function dropFolders(name: string, count: number, few = false): string {
  let rest = name;
  for (let i = 0; i < count; i++) {
    if (rest.includes("/")) rest = dropFolder(rest);
    else if (!few) return "";
  }
  return rest.replace(/\/{2,}/g, "/");
}

/** The letters of C's escapes, from character 7 on. */
const LETTERS = "abtnvfr";

/** Names as git writes them. Law: `unquoteName(quoteName(name)).name === name`, for every name that UTF-8 can say. */
export function quoteName(name: string): string {
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(name)) return name;
  let quoted = "";
  for (const byte of new TextEncoder().encode(name)) {
    const character = String.fromCharCode(byte);
    const letter = LETTERS[byte - 7] ?? (character === '"' || character === "\\" ? character : undefined);
    if (letter !== undefined) quoted += `\\${letter}`;
    else quoted += byte < 32 || byte > 126 ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  }
  return `"${quoted}"`;
}

/** Reads the quoted name at the start of the text, and its length in it. Null if there is none, or one that is not UTF-8. */
export function unquoteName(text: string): { name: string; length: number } | null {
  const match = /^"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*)"/.exec(text);
  if (match === null) return null;
  try {
    const bytes = match[1]!.replace(/\\([0-7]{3})|\\(.)|[^\\]+/gs, (piece, digits, letter) => {
      if (digits !== undefined) return `%${Number.parseInt(digits, 8).toString(16).padStart(2, "0")}`;
      const code = letter === undefined ? -1 : LETTERS.indexOf(letter);
      return encodeURIComponent(code < 0 ? (letter ?? piece) : String.fromCharCode(code + 7));
    });
    return { name: decodeURIComponent(bytes), length: match[0].length };
  } catch {
    return null;
  }
}
