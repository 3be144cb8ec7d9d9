import { countLines, hunkId, lastLines } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { Hunk } from "../patch.js";
import { quote } from "../reading.js";
import { endByMarks, goesOn, isNoNewline, startsFile } from "./end.js";
import { type HunkHeader, parseHunkHeader } from "./hunk-header.js";
import { type Input, isFence, type OpenFile, refuse, repair, take, takeTo } from "./input.js";
import { isMarked, LINE_FEED, MINUS, PLUS, SPACE } from "./mark.js";

/** A hunk's lines as found. */
interface Body {
  readonly lines: readonly string[];
  /** The hash of the lines, if they needed no change. */
  readonly hash?: string;
  /** Indexes of the lines that have no newline at the end of the file. */
  readonly unended?: readonly number[];
}

/** Reads the hunk whose `@@` line is the next one into its file, unless it changes nothing. */
export function readHunk(input: Input, { file, git, tellApart }: OpenFile): void {
  const { at, text, offset } = input;
  const line = take(input);
  const header = parseHunkHeader(withoutReturn(line), text, offset);
  if (header === null) return refuse(input, at, "glued-header", quote(line));
  const { oldStart, newStart, oldCount, newCount, section } = header;
  const counted = takeDoubled(input, header) ?? takeCounted(input, header, git);
  input.tail = counted === null ? "unsure" : "sure";
  input.item = null;
  if (counted === null && input.strict)
    return repair(input, at, oldStart === null ? "missing-line-numbers" : "wrong-count", quote(line));
  const created = file.kind === "create";
  const body = counted ?? takeMarked(input, header, created);
  input.behind = input.at;
  const { lines } = body;
  const count = counted === null ? countLines(lines) : { old: oldCount!, new: newCount! };
  if (!header.exact) repair(input, at, oldStart === null ? "missing-line-numbers" : "hunk-header", quote(line));
  if (oldCount !== null && (count.old !== oldCount || count.new !== newCount))
    repair(input, at, "wrong-count", `-${oldCount} +${newCount} for -${count.old} +${count.new}`);
  if (count.old + count.new === 2 * lines.length) return repair(input, at, "empty-hunk", quote(line));
  if (created && count.old > 0) refuse(input, at, "bad-hunk", `${file.after} is created, but has old lines`);
  if (file.kind === "delete" && count.new > 0)
    refuse(input, at, "bad-hunk", `${file.before} is deleted, but lines are left`);
  const id = tellApart(body.hash ?? hunkId(lines));
  const hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] } = { id, oldStart, newStart, lines };
  if (section !== undefined) hunk.section = section;
  if (body.unended !== undefined) sayUnended(input, hunk, body.unended);
  file.hunks.push(hunk);
}

function sayUnended(input: Input, hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] }, unended: readonly number[]) {
  const last = lastLines(hunk.lines);
  for (const index of unended) {
    if (index === last.old) hunk.oldNoNewline = true;
    if (index === last.new) hunk.newNoNewline = true;
    if (index !== last.old && index !== last.new) repair(input, input.at - 1, "misplaced-no-newline");
  }
}

/**
 * Takes the lines up to where the header's counts end, as git reads them. Null where the lines do not fit them, or where
 * lines of the hunk follow.
 */
function takeCounted(input: Input, { oldCount, newCount }: HunkHeader, git: boolean): Body | null {
  if (oldCount === null || newCount === null) return null;
  const { text, lines, strict, at: from, offset: start } = input;
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
    else return takeFenced(input, oldCount, newCount);
    offset += lines[end]!.length + 1;
  }
  if (old < 0 || added < 0) return null;
  const noted = isNoNewline(lines[end]);
  const behind = noted ? end + 1 : end;
  if (!strict && goesOn(input, behind)) return null;
  if (!plain || noted) return mend(input, behind, false);
  input.at = end;
  input.offset = offset;
  return { lines: lines.slice(from, end), hash: input.hash(start, offset - 1) };
}

/**
 * Takes the lines of a hunk in a markdown fence in which fences of the file have lost their leading space: while the counts
 * are open, such a line ends nothing. Only where the counts fit and the patch ends or goes on right behind them.
 */
function takeFenced(input: Input, oldCount: number, newCount: number): Body | null {
  const { lines, fence, at: from } = input;
  if (input.strict || fence === 0) return null;
  let inner = false;
  let old = oldCount;
  let added = newCount;
  let end = from;
  for (; old > 0 || added > 0; end++) {
    const line = lines[end];
    if (line === undefined || line.startsWith("@@") || line.startsWith("diff --git ") || startsFile(lines, end))
      return null;
    inner ||= isFence(line, fence);
    if (isNoNewline(line)) continue;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
  }
  let behind = end;
  while (lines[behind] === "") behind++;
  const next = lines[behind];
  const closed = next !== undefined && (isFence(next, fence) || /^(@@|diff --git )/.test(next));
  return inner && old === 0 && added === 0 && (closed || startsFile(lines, behind)) ? mend(input, end, false) : null;
}

/**
 * Takes the lines of a hunk in which an empty line stands behind each: lines that kept their line feeds were joined by more
 * of them. A line without an empty one behind it has no newline at the end of the file.
 */
function takeDoubled(input: Input, { oldCount, newCount }: HunkHeader): Body | null {
  const { lines, at: from, strict, fence } = input;
  if (strict || lines[from + 1] !== "" || oldCount === null || newCount === null) return null;
  const kept: string[] = [];
  const unended: number[] = [];
  let old = oldCount;
  let added = newCount;
  let end = from;
  while (old > 0 || added > 0) {
    const line = lines[end];
    if (line === undefined || !isMarked(line)) return null;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
    kept.push(line);
    if (lines[++end] === "") end++;
    else unended.push(kept.length - 1);
  }
  const last = lastLines(kept);
  if (old < 0 || added < 0 || unended.some((index) => index !== last.old && index !== last.new)) return null;
  // Where the patch itself ends, that says nothing of the file, unless its other side
  // has no newline either, or nothing else would be changed there.
  const atEnd = end === lines.length || (fence > 0 && isFence(lines[end]!, fence));
  const other = kept[last.old]?.slice(1) === kept[last.new]?.slice(1) && last.old !== last.new;
  const told = (unended.length > 1 || other) && !(end === lines.length && input.ended);
  if (atEnd && !told && unended.at(-1) === kept.length - 1) unended.pop();
  if (!input.doubled) repair(input, from, "doubled-lines");
  input.doubled = true;
  takeTo(input, end);
  return { lines: kept, unended };
}

function takeMarked(input: Input, header: HunkHeader, created: boolean): Body {
  return mend(input, endByMarks(input, input.at, header, created), created);
}

/** Takes the lines before this one, and adds missing marks. */
function mend(input: Input, end: number, created: boolean): Body {
  const mended: string[] = [];
  const unended: number[] = [];
  while (input.at < end) {
    const { at } = input;
    const line = take(input);
    if (isNoNewline(line)) {
      if (mended.length > 0) unended.push(mended.length - 1);
    } else if (isMarked(line)) mended.push(line);
    else {
      const blank = line === "" || line === "\r";
      if (blank) repair(input, at, "blank-context");
      else repair(input, at, "missing-space", quote(line));
      mended.push(`${blank && created ? "+" : " "}${line}`);
    }
  }
  return { lines: mended, unended };
}
