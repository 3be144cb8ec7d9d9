import { countLines, hunkId, lastLines } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { Hunk } from "../patch.js";
import { quote } from "../reading.js";
import { type HunkHeader, parseHunkHeader } from "./hunk-header.js";
import { type Body, type Input, type OpenFile, refuse, repair, take } from "./input.js";
import { isMarked, isNoNewline, LINE_FEED, MINUS, PLUS, SPACE, startsFile } from "./mark.js";

/** Reads the hunk whose `@@` line is the next one into its file, unless it changes nothing. */
export function readHunk(input: Input, { file, git, tellApart }: OpenFile): void {
  const { at, text, offset } = input;
  const line = take(input);
  const header = parseHunkHeader(withoutReturn(line), text, offset);
  if (header === null) return refuse(input, at, "glued-header", quote(line));
  const { oldStart, newStart, oldCount, newCount, section } = header;
  const counted = input.repairing?.takeAhead(input, header) ?? takeCounted(input, header, git);
  input.tail = counted === null ? "unsure" : "sure";
  input.item = null;
  const body = counted ?? input.repairing?.takeMarked(input, header, file.kind === "create");
  if (!body) return repair(input, at, oldStart === null ? "missing-line-numbers" : "wrong-count", quote(line));
  input.behind = input.at;
  const { lines } = body;
  const count = counted === null ? countLines(lines) : { old: oldCount!, new: newCount! };
  if (!header.exact) repair(input, at, oldStart === null ? "missing-line-numbers" : "hunk-header", quote(line));
  if (oldCount !== null && (count.old !== oldCount || count.new !== newCount))
    repair(input, at, "wrong-count", `-${oldCount} +${newCount} for -${count.old} +${count.new}`);
  if (count.old + count.new === 2 * lines.length) return repair(input, at, "empty-hunk", quote(line));
  // What it replaces, or stands beside, is lost: the number alone does not say where the new lines go.
  if (counted === null && oldCount! > 0 && count.old === 0 && file.kind === "modify")
    refuse(input, at, "bad-hunk", "old lines are counted, and not there");
  if (file.kind === "create" && count.old > 0)
    refuse(input, at, "bad-hunk", `${file.after} is created, but has old lines`);
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
  const { text, lines, repairing, at: from, offset: start } = input;
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
      if (repairing && !git && startsFile(lines, end)) return null;
      old--;
    } else if (end > from && isNoNewline(lines[end])) plain = false;
    else return repairing?.takeFenced(input, oldCount, newCount) ?? null;
    offset += lines[end]!.length + 1;
  }
  if (old < 0 || added < 0) return null;
  const noted = isNoNewline(lines[end]);
  const behind = noted ? end + 1 : end;
  if (repairing?.goesOn(input, behind)) return null;
  if (!plain || noted) return mend(input, behind, false);
  input.at = end;
  input.offset = offset;
  return { lines: lines.slice(from, end), hash: input.hash(start, offset - 1) };
}

/** Takes the lines before this one, and adds missing marks. */
export function mend(input: Input, end: number, created: boolean): Body {
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
