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

const EXACT = /^@@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@(?: (.*))?$/s;
const LOOSE =
  /^@@ {0,9}-? {0,9}(\d{1,15})(?:, ?(\d{1,15}))?[ ,]{1,9}\+ {0,9}(\d{1,15})(?:, ?(\d{1,15}))?,? {0,9}(?:@@(.*))?$/s;

/** Reads a line that starts with `@@`. Null where a line of the hunk is glued to it. */
export function parseHunkHeader(line: string): HunkHeader | null {
  const exact = EXACT.exec(line);
  const match = exact ?? LOOSE.exec(line);
  if (match !== null) {
    const [, oldStart, oldCount, newStart, newCount, rest] = match;
    if (exact === null && rest !== undefined && /^\S/.test(rest)) return null;
    const section = exact === null ? rest?.trim() || undefined : rest;
    return {
      oldStart: Number(oldStart),
      oldCount: Number(oldCount ?? 1),
      newStart: Number(newStart),
      newCount: Number(newCount ?? 1),
      section,
      exact: exact !== null,
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
