import { unquoteName } from "./quote.js";

/** The `@@` line's two ranges; counts are null where they cannot be read. */
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
function parseExact(line: string): HunkHeader | null {
  if (!line.startsWith("@@ -")) return null;
  const numbers = [-1, -1, -1, -1];
  let which = 0;
  let i = 4;
  for (; ; i++) {
    const code = line.charCodeAt(i);
    const number = numbers[which]!;
    if (code >= 48 && code <= 57 && number < 1e14) numbers[which] = Math.max(0, number) * 10 + code - 48;
    else if (number < 0) return null;
    else if (code === 44 /* , */ && which % 2 === 0) which++;
    else if (which < 2 && line.startsWith(" +", i)) {
      which = 2;
      i++;
    } else break;
  }
  const behind = line.charCodeAt(i + 3);
  if (which < 2 || !line.startsWith(" @@", i) || !(behind === 32 || i + 3 === line.length)) return null;
  return {
    oldStart: numbers[0]!,
    oldCount: numbers[1]! < 0 ? 1 : numbers[1]!,
    newStart: numbers[2]!,
    newCount: numbers[3]! < 0 ? 1 : numbers[3]!,
    section: behind === 32 ? line.slice(i + 4) : undefined,
    exact: true,
  };
}

/** Reads a line that starts with `@@`. Null where a line of the hunk is glued to it. */
export function parseHunkHeader(line: string): HunkHeader | null {
  const exact = parseExact(line);
  if (exact !== null) return exact;
  const match = LOOSE.exec(line);
  if (match !== null) {
    const [, oldStart, oldCount, newStart, newCount, rest] = match;
    if (rest !== undefined && /^\S/.test(rest)) return null;
    return {
      oldStart: Number(oldStart),
      oldCount: Number(oldCount ?? 1),
      newStart: Number(newStart),
      newCount: Number(newCount ?? 1),
      section: rest?.trim() || undefined,
      exact: false,
    };
  }
  const end = line.indexOf("@@", 2);
  const section =
    end < 0
      ? line
          .slice(2)
          .trim()
          .replace(/^\.\.\.$/, "")
      : line.slice(end + 2).trim();
  return {
    oldStart: null,
    oldCount: null,
    newStart: null,
    newCount: null,
    section: section === "" ? undefined : section,
    exact: false,
  };
}

export interface NameLine {
  /** As written, prefix and all; null is `/dev/null`. */
  readonly name: string | null;
  readonly stamp?: string;
}

/** Reads what stands behind `--- ` or `+++ `: a name, quoted or not, and perhaps a tab and a time stamp. */
export function parseNameLine(text: string): NameLine {
  const quoted = unquoteName(text);
  const tab = text.indexOf("\t", quoted?.length ?? 0);
  const end = tab < 0 ? text.length : tab;
  const name = quoted?.name ?? text.slice(0, end);
  const stamp = text.slice(end + 1);
  return { name: name === "/dev/null" ? null : name, ...(stamp !== "" && { stamp }) };
}

/**
 * Reads what stands behind `diff --git `. Unquoted names may contain blanks: then only the split that gives the same name
 * on both sides is certain, and null says that there is none (a rename, which has its names below).
 */
export function parseGitNames(text: string): { before: string; after: string } | null {
  const first = unquoteName(text);
  if (first !== null) {
    const rest = text.slice(first.length + 1);
    return { before: first.name, after: unquoteName(rest)?.name ?? rest };
  }
  const quote = text.indexOf(' "');
  const second = quote < 0 ? null : unquoteName(text.slice(quote + 1));
  if (second !== null) return { before: text.slice(0, quote), after: second.name };
  const blanks = text.split(" ");
  if (blanks.length === 2) return { before: blanks[0]!, after: blanks[1]! };
  const middle = (text.length - 1) / 2;
  const before = text.slice(0, middle);
  const after = text.slice(middle + 1);
  return text[middle] === " " && dropFolder(before) === dropFolder(after) ? { before, after } : null;
}

function dropFolder(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}
