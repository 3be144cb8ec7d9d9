import { countLines, hunkId, lastLines } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { Hunk } from "../patch.js";
import { refuse } from "../read/message.js";
import { quote } from "../reading.js";
import { type Diff, mend, type OpenFile, take } from "./diff.js";
import { type HunkHeader, parseHunkHeader } from "./hunk-header.js";
import { isMarked, isNoNewline, LINE_FEED, MINUS, PLUS, SPACE, startsFile } from "./marks.js";

/** The lines of a hunk. */
interface Body {
  readonly lines: readonly string[];
  /** The hash of the lines, if they needed no change. */
  readonly hash?: string;
  /** Indexes of the lines without a line feed at the end of the file. */
  readonly unended?: readonly number[];
}

/** Where the lines of a hunk end, and what its diff ends with: a line feed, none, or the fence around it. */
export interface Extent {
  readonly end: number;
  readonly tail: "feed" | "torn" | "fence";
}

/** Reads the hunk whose `@@` line is next into its file, unless it changes nothing. Without an extent its counts have to fit. */
export function readHunk(diff: Diff, { file, git, tellApart }: OpenFile, extent?: Extent): void {
  const { at, text, offset } = diff;
  const line = take(diff);
  const written = withoutReturn(line);
  const header = extent ? parseHunkHeader(written) : parseHunkHeader(written, text, offset);
  if (header === null) return refuse(at, "glued-header", quote(line));
  const { oldStart, newStart, oldCount, newCount, section } = header;
  const created = file.kind === "create";
  const body = extent ? takeExtent(diff, header, extent, created) : takeCounted(diff, header, git);
  if (body === null) return mend(diff, at, oldStart === null ? "missing-line-numbers" : "wrong-count", quote(line));
  const { lines } = body;
  const count = countLines(lines);
  const fits = count.old === oldCount && count.new === newCount;
  if (!header.exact) mend(diff, at, oldStart === null ? "missing-line-numbers" : "hunk-header", quote(line));
  if (oldCount !== null && !fits)
    mend(diff, at, "wrong-count", `-${oldCount} +${newCount} for -${count.old} +${count.new}`);
  if (count.old + count.new === 2 * lines.length) {
    if (extent && !fits) refuse(at, "bad-hunk", "no line below it is changed");
    return mend(diff, at, "empty-hunk", quote(line));
  }
  // The lines that it replaces, or stands beside, are lost: the number alone does not say where the new ones go.
  if (!fits && oldCount! > 0 && count.old === 0 && file.kind === "modify")
    refuse(at, "bad-hunk", "old lines are counted, and not there");
  if (created && count.old > 0) refuse(at, "bad-hunk", `${file.after} is created, but has old lines`);
  if (file.kind === "delete" && count.new > 0) refuse(at, "bad-hunk", `${file.before} is deleted, but lines are left`);
  const id = tellApart(body.hash ?? hunkId(lines));
  const hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] } = { id, oldStart, newStart, lines };
  if (section !== undefined) hunk.section = section;
  const last = lastLines(body.unended ? lines : []);
  for (const index of body.unended ?? []) {
    if (index === last.old) hunk.oldNoNewline = true;
    if (index === last.new) hunk.newNoNewline = true;
    if (index !== last.old && index !== last.new) mend(diff, diff.at - 1, "misplaced-no-newline");
  }
  file.hunks.push(hunk);
}

/** Takes the lines up to where the header's counts end, as git reads them. Null where the lines do not fit them. */
function takeCounted(diff: Diff, { oldCount, newCount }: HunkHeader, git: boolean): Body | null {
  if (oldCount === null || newCount === null) return null;
  const { text, lines, at: from, offset: start } = diff;
  let offset = start;
  let old = oldCount;
  let added = newCount;
  let plain = true;
  let end = from;
  for (; old > 0 || added > 0; end++) {
    // Of the text, since a line is a view of it: to ask the line is to ask both.
    const mark = text.charCodeAt(offset);
    if (mark === SPACE || (mark === LINE_FEED && end < lines.length)) {
      if (mark === LINE_FEED) plain = false;
      old--;
      added--;
    } else if (mark === PLUS) added--;
    else if (mark === MINUS) {
      // Too large a count would swallow the next file's header; one that git wrote begins with `diff`.
      if (!diff.asGit && !git && startsFile(lines, end)) return null;
      old--;
    } else if (end > from && isNoNewline(lines[end])) plain = false;
    else return null;
    offset += lines[end]!.length + 1;
  }
  if (old < 0 || added < 0) return null;
  const noted = isNoNewline(lines[end]);
  if (!plain || noted) return takeLines(diff, noted ? end + 1 : end, false);
  diff.at = end;
  diff.offset = offset;
  return { lines: lines.slice(from, end), hash: diff.hash(start, offset - 1) };
}

/** Takes the lines before this one, and adds missing marks. */
function takeLines(diff: Diff, end: number, created: boolean): Body {
  const lines: string[] = [];
  const unended: number[] = [];
  while (diff.at < end) {
    const { at } = diff;
    const line = take(diff);
    if (isNoNewline(line)) {
      if (lines.length > 0) unended.push(lines.length - 1);
    } else if (isMarked(line)) lines.push(line);
    else {
      const blank = line === "" || line === "\r";
      if (blank) mend(diff, at, "blank-context");
      else mend(diff, at, "missing-space", quote(line));
      lines.push(`${blank && created ? "+" : " "}${line}`);
    }
  }
  return { lines, unended };
}

function takeExtent(diff: Diff, header: HunkHeader, extent: Extent, created: boolean): Body {
  return takeDoubled(diff, header, extent, created) ?? takeLines(diff, extent.end, created);
}

/**
 * Takes the lines of a hunk in which an empty line stands behind each: lines that kept their line feeds were joined by more of
 * them. A line without an empty one behind it has no newline at the end of the file.
 */
function takeDoubled(diff: Diff, { oldCount, newCount }: HunkHeader, { end: limit, tail }: Extent, created: boolean) {
  const { lines } = diff;
  // The `@@` line may have one behind it as well.
  const from = lines[diff.at] === "" ? diff.at + 1 : diff.at;
  if (lines[from + 1] !== "" || oldCount === null || newCount === null) return null;
  const kept: string[] = [];
  const unended: number[] = [];
  let old = oldCount;
  let added = newCount;
  let end = from;
  while (old > 0 || added > 0) {
    const line = end < limit ? lines[end]! : "";
    if (!isMarked(line)) return null;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
    kept.push(line);
    if (lines[++end] === "") end++;
    else unended.push(kept.length - 1);
  }
  const last = lastLines(kept);
  if (old < 0 || added < 0 || unended.some((index) => index !== last.old && index !== last.new)) return null;
  while (end < limit && lines[end] === "") end++;
  if (end < limit) return null;
  if (end === lines.length && unended.at(-1) === kept.length - 1) {
    // How the diff ends says how the file does only where its other side has no newline either, or where nothing else would
    // be changed there. A new file has no other side.
    const other = kept[last.old]?.slice(1) === kept[last.new]?.slice(1) && last.old !== last.new;
    const known = created ? tail === "torn" : (unended.length > 1 || other) && tail !== "feed";
    if (!known) unended.pop();
    if (!known && created) mend(diff, end - 1, "missing-final-newline", "whether the new file has one is not known");
  }
  if (!diff.repairs.some(({ kind }) => kind === "doubled-lines")) mend(diff, from, "doubled-lines");
  while (diff.at < end) take(diff);
  return { lines: kept, unended };
}
