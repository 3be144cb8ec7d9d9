import { countLines, type hunkIds } from "../hunk.js";
import type { Hunk } from "../patch.js";
import { quote } from "../reading.js";
import { type HunkHeader, parseHunkHeader } from "./header.js";
import { type Input, refuse, repair, textOf } from "./input.js";

const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const BACKSLASH = 92;

type HunkIds = ReturnType<typeof hunkIds>;
type Draft = { -readonly [Key in keyof Hunk]: Hunk[Key] };

/** Reads the hunk whose `@@` line is at `at`. The hunk is null where it was refused or left out; `next` is the line behind. */
export function readHunk(
  input: Input,
  at: number,
  creates: boolean,
  nextId: HunkIds,
): { hunk: Hunk | null; next: number } {
  const line = input.lines[at]!;
  const header = parseHunkHeader(line.endsWith("\r") ? line.slice(0, -1) : line);
  if (header === null) {
    refuse(input, at, "glued-header", quote(line));
    return { hunk: null, next: at + 1 };
  }
  const exact = header.oldCount === null ? null : readCounted(input, at + 1, header);
  if (exact === null && input.strict) {
    repair(input, at, header.exact ? "wrong-count" : "hunk-header", quote(line));
    return { hunk: null, next: at + 1 };
  }
  const body = exact ?? readLoosely(input, at + 1, header, creates);
  if (!header.exact) repair(input, at, header.oldStart === null ? "missing-line-numbers" : "hunk-header", quote(line));
  if (exact === null && header.oldCount !== null) {
    const { old, new: added } = countLines(body.lines);
    if (old !== header.oldCount || added !== header.newCount)
      repair(input, at, "wrong-count", `-${header.oldCount} +${header.newCount} for -${old} +${added}`);
  }
  if (!hasChanges(body.lines)) {
    repair(input, at, "empty-hunk", quote(line));
    return { hunk: null, next: body.next };
  }
  const { oldStart, newStart, section } = header;
  const hunk: Draft = { id: nextId(body.text ?? body.lines.join("\n")), oldStart, newStart, lines: body.lines };
  if (section !== undefined) hunk.section = section;
  if (body.unended.length > 0) Object.assign(hunk, readNoNewline(input, body));
  return { hunk, next: body.next };
}

function hasChanges(lines: readonly string[]): boolean {
  for (const line of lines) if (line.charCodeAt(0) !== SPACE) return true;
  return false;
}

interface Body {
  lines: string[];
  /** The lines with line feeds between them, where the input has them so. */
  readonly text?: string;
  /** Indexes into `lines` of those with `\ No newline at end of file` below them. */
  readonly unended: number[];
  next: number;
}

/** Reads by the header's counts, as git does. Null where they do not fit, or where lines of the hunk follow its end. */
function readCounted(input: Input, from: number, header: HunkHeader): Body | null {
  const { lines, strict, git } = input;
  let old = header.oldCount!;
  let added = header.newCount!;
  let copied = from;
  let body: string[] | null = null;
  const unended: number[] = [];
  const blanks: number[] = [];
  let length = 0;
  let i = from;
  for (; old > 0 || added > 0; i++) {
    const line = lines[i];
    if (line === undefined) return null;
    const mark = line.length === 0 ? -1 : line.charCodeAt(0);
    if (mark === BACKSLASH) {
      if (length === 0) return null;
      body ??= [];
      for (; copied < i; copied++) body.push(lines[copied]!);
      copied++;
      unended.push(length - 1);
      continue;
    }
    if (mark === SPACE) {
      old--;
      added--;
    } else if (mark === MINUS) {
      // A count that is too large would swallow the next file's header.
      if (!strict && !git && line.startsWith("--- ") && startsFile(lines, i)) return null;
      old--;
    } else if (mark === PLUS) added--;
    else if (mark === -1) {
      blanks.push(length);
      old--;
      added--;
    } else return null;
    length++;
  }
  if (old < 0 || added < 0) return null;
  const end = i;
  if (lines[i]?.charCodeAt(0) === BACKSLASH && length > 0) {
    unended.push(length - 1);
    i++;
  }
  if (!strict && goesOn(input, i)) return null;
  if (body === null && blanks.length === 0)
    return { lines: lines.slice(from, end), text: textOf(input, from, end), unended, next: i };
  const result = body === null ? lines.slice(from, end) : body.concat(lines.slice(copied, end));
  for (const index of blanks) result[index] = " ";
  for (const index of blanks) repair(input, from + index, "blank-context");
  return { lines: result, unended, next: i };
}

/** Reads up to the next header, fence or prose, and takes what has no mark for context. */
function readLoosely(input: Input, from: number, header: HunkHeader, creates: boolean): Body {
  const { lines } = input;
  const body: string[] = [];
  const sources: number[] = [];
  const unended: number[] = [];
  let marked = 0;
  let i = from;
  for (; i < lines.length && !isBoundary(input, i); i++) {
    const line = lines[i]!;
    const mark = line.charCodeAt(0);
    if (mark === BACKSLASH && line.startsWith("\\ ")) {
      if (body.length > 0) unended.push(body.length - 1);
      continue;
    }
    const marks = mark === SPACE || mark === MINUS || mark === PLUS;
    if (marks && isBullet(input, i)) break;
    const blank = line === "" || line === "\r";
    body.push(marks ? line : blank && creates ? `+${line}` : ` ${line}`);
    sources.push(i);
    if (marks) marked = body.length;
  }
  const tail = keepTail(input, body, marked, header, creates);
  body.length = tail;
  for (let k = 0; k < tail; k++) {
    const line = lines[sources[k]!]!;
    if (line === "" || line === "\r") repair(input, sources[k]!, "blank-context");
    else if (body[k] !== line) repair(input, sources[k]!, "missing-space", quote(line));
  }
  // Where the tail was cut, reading goes on right behind the last line that was kept (and its "\ No newline").
  let next = tail === sources.length ? i : (sources[tail - 1] ?? from - 1) + 1;
  if (lines[next]?.startsWith("\\ ")) next++;
  return { lines: body, unended: unended.filter((index) => index < tail), next };
}

/**
 * How much to keep of a body whose last lines, behind `marked`, have no mark: they are context without its space, or
 * empty lines and prose behind the patch. The header's counts say how many are missing; in a fence there is no prose.
 */
function keepTail(input: Input, body: readonly string[], marked: number, header: HunkHeader, creates: boolean): number {
  let end = body.length;
  if (input.fence === 0) {
    const blank = body.findIndex((line, i) => i >= marked && line.length < 3 && line.trim().length <= 1);
    const prose = blank >= 0 && body.some((line, i) => i > blank && line.trim().length > 1);
    if (prose) end = blank;
  }
  const rest = body.slice(0, marked);
  const count = countLines(rest);
  if (header.oldCount !== null) {
    const missing = creates
      ? header.newCount! - count.new
      : Math.min(header.oldCount - count.old, header.newCount! - count.new);
    return Math.min(end, marked + Math.max(0, missing));
  }
  while (end > marked && body[end - 1]!.trim().length <= 1) end--;
  return end;
}

/** Whether lines of the hunk follow although its counts are used up. */
function goesOn(input: Input, at: number): boolean {
  const { lines } = input;
  let i = at;
  while (lines[i] === "") i++;
  const mark = lines[i]?.charCodeAt(0);
  if (mark !== SPACE && mark !== PLUS && mark !== MINUS) return false;
  return !isBoundary(input, i) && !isBullet(input, i) && !/^(-{2,3}|\+{3})\s*$/.test(lines[i]!);
}

function isBoundary({ lines, fence }: Input, at: number): boolean {
  const line = lines[at]!;
  switch (line[0]) {
    case "@":
      return line.startsWith("@@");
    case "d":
      return line.startsWith("diff --git ");
    case "I":
      return line.startsWith("Index: ");
    case "-":
      return (
        (line.startsWith("--- ") && startsFile(lines, at)) || (line === "-- " && /^\d+\./.test(lines[at + 1] ?? ""))
      );
    case "`":
    case "~":
      // Outside a fence this is a line of the file: a patch of a markdown file would end in its middle, in silence.
      return fence > 0 && (/^(`{3,}|~{3,})\s*$/.exec(line)?.[1]?.length ?? 0) >= fence;
    default:
      return false;
  }
}

/** Whether `--- `, `+++ ` and `@@` stand here: the next file, and not a deleted line that starts with `-- `. */
function startsFile(lines: readonly string[], at: number): boolean {
  return (lines[at + 1]?.startsWith("+++ ") ?? false) && (lines[at + 2]?.startsWith("@@") ?? false);
}

/** Whether the line is an item of a list in the prose behind a patch. */
function isBullet({ lines, fence }: Input, at: number): boolean {
  return fence === 0 && lines[at - 1] === "" && /^[-+] \S/.test(lines[at]!);
}

function readNoNewline(input: Input, { lines, unended, next }: Body): { oldNoNewline?: true; newNoNewline?: true } {
  const ends: { oldNoNewline?: true; newNoNewline?: true } = {};
  const lastOld = lines.findLastIndex((line) => line[0] !== "+");
  const lastNew = lines.findLastIndex((line) => line[0] !== "-");
  for (const index of unended) {
    const old = index === lastOld;
    const added = index === lastNew;
    if (old) ends.oldNoNewline = true;
    if (added) ends.newNoNewline = true;
    if (!old && !added) repair(input, next - 1, "misplaced-no-newline", quote(lines[index]!));
  }
  return ends;
}
