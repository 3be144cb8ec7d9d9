import { unquoteName } from "./quote.js";

/** The `@@` line's two ranges; null where they cannot be read. */
export interface HunkHeader {
  readonly oldStart: number | null;
  readonly newStart: number | null;
  readonly oldCount: number | null;
  readonly newCount: number | null;
  readonly section: string | undefined;
  /** Written as the format has it. */
  readonly exact: boolean;
}

const LOOSE =
  /^@@ {0,9}-? {0,9}(\d{1,15})(?:, ?(\d{1,15}))?[ ,]{1,9}\+ {0,9}(\d{1,15})(?:, ?(\d{1,15}))?,? {0,9}(?:@@(.*))?$/s;

/** Reads `@@ -1,2 +3,4 @@ section`; null where the line is written otherwise. By hand: a regular expression was a fifth of the reading. */
function parseExact(line: string, text: string, start: number): HunkHeader | null {
  if (!line.startsWith("@@ -")) return null;
  const numbers = [-1, -1, -1, -1];
  let which = 0;
  let i = start + 4;
  for (; ; i++) {
    const code = text.charCodeAt(i);
    const number = numbers[which]!;
    if (code >= 48 && code <= 57 && number < 1e14) numbers[which] = Math.max(0, number) * 10 + code - 48;
    else if (number < 0) return null;
    else if (code === 44 /* , */ && which % 2 === 0) which++;
    else if (which < 2 && code === 32 && text.charCodeAt(i + 1) === 43 /* + */) {
      which = 2;
      i++;
    } else break;
  }
  if (which < 2 || !text.startsWith(" @@", i)) return null;
  const behind = text.charCodeAt(i + 3);
  const section = behind === 32 ? line.slice(i + 4 - start) : undefined;
  if (section === undefined && i + 3 !== start + line.length) return null;
  // A count that is not there is 1.
  const [oldStart, oldCount, newStart, newCount] = numbers as [number, number, number, number];
  return { oldStart, oldCount: Math.abs(oldCount), newStart, newCount: Math.abs(newCount), section, exact: true };
}

/**
 * Reads a line that starts with `@@`. Null where a line of the hunk is glued to it. `start` says where the line stands in a text that
 * it is a view of: to ask the text for a character is faster than to ask the line.
 */
export function parseHunkHeader(line: string, text = line, start = 0): HunkHeader | null {
  const exact = parseExact(line, text, start);
  if (exact !== null) return exact;
  const match = LOOSE.exec(line);
  const number = (group: number) => (match === null ? null : Number(match[group] ?? 1));
  const section = match === null ? line.replace(/^@@(.*?@@|(\s*\.\.\.$)?)/s, "") : (match[5] ?? "");
  if (match !== null && /^\S/.test(section)) return null;
  return {
    oldStart: number(1),
    oldCount: number(2),
    newStart: number(3),
    newCount: number(4),
    section: section.trim() || undefined,
    exact: false,
  };
}

export interface NameLine {
  /** As written, prefix and all; null is `/dev/null`, undefined a quoted name that cannot be read. */
  readonly name: string | null | undefined;
  readonly stamp?: string;
}

/**
 * Reads what stands behind `--- ` or `+++ `: a name, quoted or not, and perhaps a tab and a time stamp. GNU diff writes the epoch as
 * the time stamp of a file that is not there.
 */
export function parseNameLine(text: string): NameLine {
  const quoted = unquoteName(text);
  const tab = text.indexOf("\t", quoted?.length ?? 0);
  const end = tab < 0 ? text.length : tab;
  const name = quoted?.name ?? text.slice(0, end);
  const stamp = text.slice(end + 1) || undefined;
  if (quoted === null && name[0] === '"') return { name: undefined };
  return { name: name === "/dev/null" || (stamp !== undefined && isEpoch(stamp)) ? null : name, stamp };
}

/**
 * Reads what stands behind `diff --git `. Unquoted names may contain blanks: then only the split that gives the same name
 * on both sides is certain, and null says that there is none (a rename, which has its names below).
 */
export function parseGitNames(text: string): { before: string; after: string } | null {
  const first = unquoteName(text);
  const cut = first?.length ?? findCut(text);
  const before = first?.name ?? text.slice(0, cut);
  const rest = text.slice(cut + 1);
  const after = unquoteName(rest)?.name ?? rest;
  const broken = (first === null && before[0] === '"') || (after === rest && rest[0] === '"');
  return cut < 0 || broken ? null : { before, after };
}

/** The blank between two names of which the first is not quoted. */
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
  return Date.parse(stamp.replace(/^(\S+) (\S+?)(?:\.0+)? ([-+]\d\d):?(\d\d)$/, "$1T$2$3:$4")) === 0;
}

export function dropFolder(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}
