import { hashParts } from "../hunk.js";
import type { FilePatch, Hunk } from "../patch.js";
import { HARMLESS, refuse, repair } from "../read/message.js";
import { quote, type Repair, type RepairKind } from "../reading.js";

export interface FileInProgress {
  readonly file: { -readonly [Key in keyof FilePatch]: FilePatch[Key] } & { hunks: Hunk[] };
  /** Whether it has git's header, and where its header begins. */
  readonly git: boolean;
  readonly line: number;
  /** Tells the names of its hunks apart where they are equal. */
  readonly tellApart: (name: string) => string;
}

export interface Diff {
  readonly text: string;
  readonly lines: readonly string[];
  /** Refuse what git refuses, instead of repairing it. */
  readonly strict: boolean;
  /** List no repair of what git reads as it is, and take one folder off each name, whatever it is called. */
  readonly asGit: boolean;
  readonly strip: number | undefined;
  /** The next line, and where it starts in the text. */
  at: number;
  offset: number;
  open: FileInProgress | null;
  readonly files: FilePatch[];
  readonly repairs: Repair[];
  /** The name of a hunk whose lines are in the text as they are. */
  readonly hash: (start: number, end: number) => string;
}

export function openDiff(
  text: string,
  lines: readonly string[],
  how: Pick<Diff, "strict" | "asGit" | "strip" | "repairs">,
): Diff {
  return { text, lines, ...how, at: 0, offset: 0, open: null, files: [], hash: hashParts(text) };
}

export function take(diff: Diff): string {
  const line = diff.lines[diff.at++]!;
  diff.offset += line.length + 1;
  return line;
}

/** Lists a repair. Strict reading refuses what git does not read as it is. */
export function mend({ strict, asGit, repairs }: Diff, at: number, kind: RepairKind, found?: string): void {
  if (strict && !HARMLESS.has(kind)) refuse(at, kind === "absolute-path" ? "bad-header" : "bad-hunk", found, kind);
  if (!strict || !asGit) repair(repairs, at, kind, found);
}

export const LINE_FEED = 10;
export const SPACE = 32;
export const PLUS = 43;
export const MINUS = 45;

export function isMarked(line: string): boolean {
  const mark = line.charCodeAt(0);
  return mark === SPACE || mark === PLUS || mark === MINUS;
}

/** Whether the line is added or deleted, and no rule or signature of prose: `---`, `-- `, `+++`. */
export function isChanged(line: string): boolean {
  const mark = line.charCodeAt(0);
  return (mark === PLUS || mark === MINUS) && !/^(?:--+|\+{3})\s*$/.test(line);
}

/** Whether a marked line behind a diff is an item of a list: it follows prose, or a blank line where the counts fit. */
export function isListed(line: string, before: string, prose: boolean, sure: boolean): boolean {
  return isItem(line) && (prose || (sure && before === "")) && !(isItem(before) && before[0] !== line[0]);
}

/** Whether the line may be an item of a list in prose; ` * ` behind the mark is a comment's. */
export function isItem(line: string): boolean {
  return /^[-+] (?!\* )\S/.test(line);
}

export function startsNames(lines: readonly string[], at: number): boolean {
  return (lines[at]?.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) ?? false;
}

/** Whether `--- `, `+++ ` and `@@` are here: a file, and not a deleted line that starts with `-- `. */
export function startsFile(lines: readonly string[], at: number): boolean {
  return startsNames(lines, at) && (lines[at + 2]?.startsWith("@@") ?? false);
}

/** As git has it, in any language: a backslash, a blank, and ten characters at least. */
export function isNoNewline(line: string | undefined): boolean {
  return line?.startsWith("\\ ") === true && line.length > 10;
}

/** Refuses a line that shows a change which lines cannot express. */
export function refuseForeign(line: string, at: number, name: string | null | undefined): void {
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line)) refuse(at, "binary", quote(name ?? line));
  if (/^(diff --(cc|combined) |@@@)/.test(line)) refuse(at, "combined-diff", quote(line));
}
