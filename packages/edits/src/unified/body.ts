import { countLines, hunkId, lastLines } from "../hunk.js";
import type { Hunk } from "../patch.js";
import { quote } from "../reading.js";
import { startsNames } from "./file.js";
import { type HunkHeader, parseHunkHeader } from "./header.js";
import { type Input, isFence, type OpenFile, offsetOf, refuse, repair } from "./input.js";

const LINE_FEED = 10;
const SPACE = 32;
const PLUS = 43;
const MINUS = 45;

/** Reads the hunk whose `@@` line is at `at` into its file, unless it changes nothing; gives the line behind it. */
export function readHunk(input: Input, at: number, { file, git, tellApart }: OpenFile): number {
  const line = input.lines[at]!;
  const from = at + 1;
  const header = parseHunkHeader(line.endsWith("\r") ? line.slice(0, -1) : line, input.text, offsetOf(input, at));
  if (header === null) {
    refuse(input, at, "glued-header", quote(line));
    return from;
  }
  const { oldStart, newStart, oldCount, newCount, section } = header;
  const counted = endByCounts(input, from, header, git);
  if (counted === null && input.strict) {
    repair(input, at, oldStart === null ? "missing-line-numbers" : "wrong-count", quote(line));
    return from;
  }
  const created = file.kind === "create";
  const end = counted?.end ?? endByMarks(input, from, header, created);
  const hash = counted?.hash;
  const unended = hash === undefined ? [] : null;
  const lines = unended === null ? input.lines.slice(from, end) : mend(input, from, end, created, unended);
  const count = counted === null ? countLines(lines) : { old: oldCount!, new: newCount! };
  if (!header.exact) repair(input, at, oldStart === null ? "missing-line-numbers" : "hunk-header", quote(line));
  if (oldCount !== null && (count.old !== oldCount || count.new !== newCount))
    repair(input, at, "wrong-count", `-${oldCount} +${newCount} for -${count.old} +${count.new}`);
  if (count.old + count.new === 2 * lines.length) {
    repair(input, at, "empty-hunk", quote(line));
    return end;
  }
  if (created && count.old > 0) refuse(input, at, "bad-hunk", `${file.after} is created, but has old lines`);
  if (file.kind === "delete" && count.new > 0)
    refuse(input, at, "bad-hunk", `${file.before} is deleted, but lines are left`);
  const id = tellApart(hash ?? hunkId(lines));
  const hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] } = { id, oldStart, newStart, lines };
  if (section !== undefined) hunk.section = section;
  const last = unended?.length ? lastLines(lines) : null;
  for (const index of unended ?? []) {
    if (index === last?.old) hunk.oldNoNewline = true;
    if (index === last?.new) hunk.newNoNewline = true;
    if (index !== last?.old && index !== last?.new) repair(input, end - 1, "misplaced-no-newline");
  }
  file.hunks.push(hunk);
  return end;
}

/**
 * Where the hunk ends by its header's counts, as git reads it; null where the lines do not fit them, or where lines of the
 * hunk follow. With the hash of the lines, if they are the hunk's as they stand.
 */
function endByCounts(input: Input, from: number, { oldCount, newCount }: HunkHeader, git: boolean) {
  if (oldCount === null || newCount === null) return null;
  const { text, lines, strict } = input;
  const start = offsetOf(input, from);
  let offset = start;
  let old = oldCount;
  let added = newCount;
  let plain = true;
  let end = from;
  for (; old > 0 || added > 0; end++) {
    // Of the text, since a line is a view of it: to ask the line is to ask both.
    const mark = text.charCodeAt(offset);
    if (mark === SPACE || mark === LINE_FEED) {
      if (mark === LINE_FEED) plain = false;
      old--;
      added--;
    } else if (mark === PLUS) added--;
    else if (mark === MINUS) {
      // A count that is too large would swallow the next file's header; one that git wrote begins with `diff`.
      if (!strict && !git && startsFile(lines, end)) return null;
      old--;
    } else if (end > from && isNoNewline(lines[end])) plain = false;
    else return null;
    offset += lines[end]!.length + 1;
  }
  input.line = end;
  input.offset = offset;
  if (isNoNewline(lines[end])) {
    plain = false;
    end++;
  }
  if (old < 0 || added < 0 || (!strict && goesOn(input, end))) return null;
  return { end, hash: plain ? input.hash(start, offset - 1) : undefined };
}

/** Where the hunk ends by what its lines look like: before the next header, the fence's end or prose. */
function endByMarks(input: Input, from: number, { oldCount, newCount }: HunkHeader, created: boolean): number {
  const { lines, fence } = input;
  /** Behind the last line with a mark. Those without one are context that lost its space, or prose behind the patch. */
  let marked = from;
  let added = 0;
  let removed = 0;
  let notes = 0;
  let end = from;
  for (; end < lines.length && !isBoundary(input, end); end++) {
    const line = lines[end]!;
    if (isNoNewline(line)) notes++;
    else if (!isMarked(line)) continue;
    else if (line[0] === "+") added++;
    else if (line[0] === "-") removed++;
    marked = end + 1;
  }
  if (fence === 0) {
    let blank = marked;
    while (blank < end && !isBlank(lines[blank]!)) blank++;
    let prose = blank;
    while (prose < end && isBlank(lines[prose]!)) prose++;
    if (prose < end) end = blank;
  }
  if (oldCount !== null && newCount !== null) {
    // The header says how many are missing.
    const missingNew = newCount - (marked - from - notes - removed);
    const missingOld = created ? missingNew : oldCount - (marked - from - notes - added);
    return Math.min(end, marked + Math.max(0, Math.min(missingOld, missingNew)));
  }
  while (end > marked && isBlank(lines[end - 1]!)) end--;
  return end;
}

/** The lines with the marks they lack; those of them that have no newline at the end of the file go to `unended`. */
function mend(input: Input, from: number, end: number, created: boolean, unended: number[]): string[] {
  const mended: string[] = [];
  for (let i = from; i < end; i++) {
    const line = input.lines[i]!;
    if (isNoNewline(line)) {
      if (mended.length > 0) unended.push(mended.length - 1);
    } else if (isMarked(line)) mended.push(line);
    else {
      const blank = line === "" || line === "\r";
      if (blank) repair(input, i, "blank-context");
      else repair(input, i, "missing-space", quote(line));
      mended.push(`${blank && created ? "+" : " "}${line}`);
    }
  }
  return mended;
}

/** Whether lines of the hunk follow although its counts are used up. */
function goesOn(input: Input, at: number): boolean {
  const { lines } = input;
  let i = at;
  while (lines[i] === "") i++;
  const line = lines[i] ?? "";
  return isMarked(line) && !/^(-{2,3}|\+{3})\s*$/.test(line) && !isBoundary(input, i);
}

/** What stands behind a hunk: a header, the end of the fence or of a mail, or a list in prose. */
function isBoundary({ lines, fence }: Input, at: number): boolean {
  const line = lines[at]!;
  return (
    /^(@@|diff --git |Index: )/.test(line) ||
    startsFile(lines, at) ||
    (line === "-- " && /^\d+\./.test(lines[at + 1] ?? "")) ||
    // Outside a fence this is a line of the file: a patch of a markdown file would end in its middle, in silence.
    (fence > 0 ? isFence(line, fence) : lines[at - 1] === "" && /^[-+] \S/.test(line))
  );
}

/** Whether `--- `, `+++ ` and `@@` stand here: a file, and not a deleted line that starts with `-- `. */
export function startsFile(lines: readonly string[], at: number): boolean {
  return startsNames(lines, at) && (lines[at + 2]?.startsWith("@@") ?? false);
}

function isMarked(line: string): boolean {
  const mark = line.charCodeAt(0);
  return mark === SPACE || mark === PLUS || mark === MINUS;
}

/** As git has it, in any language: a backslash, a blank, and ten characters at least. */
function isNoNewline(line: string | undefined): boolean {
  return line?.startsWith("\\ ") === true && line.length > 10;
}

function isBlank(line: string): boolean {
  return line.trim() === "";
}
