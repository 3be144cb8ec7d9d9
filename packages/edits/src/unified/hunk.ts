import { countLines, hunkId, lastLines } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { Hunk } from "../patch.js";
import { refuse } from "../read/message.js";
import { quote } from "../reading.js";
import {
  type Diff,
  type FileInProgress,
  isMarked,
  isNoNewline,
  LINE_FEED,
  MINUS,
  mend,
  PLUS,
  SPACE,
  startsFile,
  take,
} from "./diff.js";

/** The `@@` line's two ranges; null where they cannot be read. */
export interface HunkHeader {
  readonly oldStart: number | null;
  readonly newStart: number | null;
  readonly oldCount: number | null;
  readonly newCount: number | null;
  readonly section: string | undefined;
  /** Written as the format has it. */
  readonly isExact: boolean;
}

const LOOSE =
  /^@@ {0,9}-? {0,9}(\d{1,15})(?:, ?(\d{1,15}))?[ ,]{1,9}\+ {0,9}(\d{1,15})(?:, ?(\d{1,15}))?,? {0,9}(?:@@(.*))?$/s;

/** Reads a line that starts with `@@`. Null where a line of the hunk is glued to it. */
export function parseHunkHeader(line: string): HunkHeader | null {
  const exact = parseExact(line);
  if (exact !== null) return exact;
  const match = LOOSE.exec(line);
  const isExact = false;
  if (match === null) {
    const section = line.replace(/^@@(.*?@@|(\s*\.\.\.$)?)/s, "").trim() || undefined;
    return { oldStart: null, oldCount: null, newStart: null, newCount: null, section, isExact };
  }
  const [oldStart, oldCount, newStart, newCount] = [match[1], match[2] ?? 1, match[3], match[4] ?? 1].map(Number);
  const behind = match[5] ?? "";
  if (/^\S/.test(behind)) return null;
  const section = behind.trim() || undefined;
  return { oldStart: oldStart!, oldCount: oldCount!, newStart: newStart!, newCount: newCount!, section, isExact };
}

/** Reads `@@ -1,2 +3,4 @@ section` by hand: an expression took a third of the time of a diff with many small hunks. */
function parseExact(line: string): HunkHeader | null {
  const numbers: [number, number, number, number] = [0, 1, 0, 1];
  let at = 4;
  for (let i = 0; i < 4; i++) {
    // A count may be left out; the second range begins with a plus.
    if (i % 2 === 1 && line[at] !== ",") continue;
    if (i === 2 && !line.startsWith(" +", at)) return null;
    const from = i === 0 ? at : i === 2 ? at + 2 : at + 1;
    at = endOfDigits(line, from);
    if (at === from || at > from + 15) return null;
    numbers[i] = Number(line.slice(from, at));
  }
  const isWhole = line.startsWith(" @@", at) && (at + 3 === line.length || line[at + 3] === " ");
  if (!line.startsWith("@@ -") || !isWhole) return null;
  const [oldStart, oldCount, newStart, newCount] = numbers;
  const section = at + 3 < line.length ? line.slice(at + 4) : undefined;
  return { oldStart, oldCount, newStart, newCount, section, isExact: true };
}

function endOfDigits(line: string, from: number): number {
  let at = from;
  while (line.charCodeAt(at) >= 48 && line.charCodeAt(at) <= 57) at++;
  return at;
}

/** Writes a hunk, one without a place as `@@ ... @@`. */
export function formatHunk({ oldStart, newStart, lines, anchors, ...hunk }: Hunk, out: string[]): void {
  const section = hunk.section ?? anchors?.at(-1);
  const count = countLines(lines);
  const range = (start: number, count: number) => (count === 1 ? `${start}` : `${start},${count}`);
  const isPlaced = oldStart !== null && newStart !== null;
  const place = isPlaced ? `-${range(oldStart, count.old)} +${range(newStart, count.new)}` : "...";
  out.push(section === undefined ? `@@ ${place} @@` : `@@ ${place} @@ ${section}`);
  const last = hunk.oldNoNewline || hunk.newNoNewline ? lastLines(lines) : { old: -1, new: -1 };
  const ends = [hunk.oldNoNewline ? last.old : -1, hunk.newNoNewline ? last.new : -1];
  for (let i = 0; i < lines.length; i++) {
    out.push(lines[i]!);
    if (i === ends[0] || i === ends[1]) out.push("\\ No newline at end of file");
  }
}

type WritableHunk = { -readonly [Name in keyof Hunk]: Hunk[Name] };

interface HunkBody {
  readonly lines: readonly string[];
  /** The hash of the lines, if they needed no change and are as many as counted. */
  readonly hash?: string;
  /** Indexes of the lines without a line feed at the end of the file. */
  readonly unended?: readonly number[];
}

/** Where the lines of a hunk end, and what its diff ends with: a line feed, none, or the fence around it. */
interface Extent {
  readonly end: number;
  readonly tail: "feed" | "torn" | "fence";
}

/** Reads the hunk whose `@@` line is next into its file, unless it changes nothing. Without an extent its counts have to fit. */
export function readHunk(diff: Diff, { file, git, tellApart }: FileInProgress, extent?: Extent): void {
  const { at } = diff;
  const line = take(diff);
  const header = parseHunkHeader(withoutReturn(line));
  if (header === null) return refuse(at, "glued-header", quote(line));
  const isCreated = file.kind === "create";
  const body = extent
    ? (takeDoubled(diff, header, extent, isCreated) ?? takeLines(diff, extent.end, isCreated))
    : takeCounted(diff, header, git);
  const { oldStart, newStart, section } = header;
  const numbering = oldStart === null ? "missing-line-numbers" : "hunk-header";
  if (body === null) return mend(diff, at, oldStart === null ? numbering : "wrong-count", quote(line));
  if (!header.isExact) mend(diff, at, numbering, quote(line));
  if (!checkCounts(diff, at, header, body, file, extent !== undefined)) return;
  const { lines, unended = [] } = body;
  const id = tellApart(body.hash ?? hunkId(lines));
  const hunk: WritableHunk = { id, oldStart, newStart, lines };
  if (section !== undefined) hunk.section = section;
  if (unended.length > 0) noteEnds(diff, hunk, unended);
  file.hunks.push(hunk);
}

function noteEnds(diff: Diff, hunk: WritableHunk, unended: readonly number[]): void {
  const last = lastLines(hunk.lines);
  for (const index of unended) {
    if (index === last.old) hunk.oldNoNewline = true;
    if (index === last.new) hunk.newNoNewline = true;
    if (index !== last.old && index !== last.new) mend(diff, diff.at - 1, "misplaced-no-newline");
  }
}

function checkCounts(
  diff: Diff,
  at: number,
  { oldCount, newCount }: HunkHeader,
  { lines, hash }: HunkBody,
  { kind, before, after }: FileInProgress["file"],
  isLenient: boolean,
): boolean {
  const count = hash === undefined ? countLines(lines) : { old: oldCount!, new: newCount! };
  const isFitting = count.old === oldCount && count.new === newCount;
  if (oldCount !== null && !isFitting)
    mend(diff, at, "wrong-count", `-${oldCount} +${newCount} for -${count.old} +${count.new}`);
  if (count.old + count.new === 2 * lines.length) {
    if (isLenient && !isFitting) refuse(at, "bad-hunk", "no line below it is changed");
    mend(diff, at, "empty-hunk", quote(diff.lines[at]!));
    return false;
  }
  // The lines that it replaces, or stands beside, are lost: the number alone does not say where the new ones go.
  if (!isFitting && oldCount! > 0 && count.old === 0 && kind === "modify")
    refuse(at, "bad-hunk", "old lines are counted, and not there");
  if (kind === "create" && count.old > 0) refuse(at, "bad-hunk", `${after} is created, but has old lines`);
  if (kind === "delete" && count.new > 0) refuse(at, "bad-hunk", `${before} is deleted, but lines are left`);
  return true;
}

/** Takes the lines up to where the header's counts end, as git reads them. Null where the lines do not fit them. */
function takeCounted(diff: Diff, { oldCount, newCount }: HunkHeader, git: boolean): HunkBody | null {
  if (oldCount === null || newCount === null) return null;
  const { lines, at: from, offset: start } = diff;
  const found = findCounted(diff, oldCount, newCount, git);
  if (found === null) return null;
  const { end, offset, isPlain } = found;
  const isNoted = isNoNewline(lines[end]);
  if (!isPlain || isNoted) return takeLines(diff, isNoted ? end + 1 : end, false);
  diff.at = end;
  diff.offset = offset;
  return { lines: lines.slice(from, end), hash: diff.hash(start, offset - 1) };
}

/** Where the counts end; `isPlain`: each line has its mark. */
function findCounted({ text, lines, at: from, offset: start, asGit }: Diff, old: number, added: number, git: boolean) {
  let offset = start;
  let isPlain = true;
  let end = from;
  for (; old > 0 || added > 0; end++) {
    // Of the text, since a line is a view of it: to ask the line is to ask both.
    const mark = text.charCodeAt(offset);
    if (mark === SPACE || (mark === LINE_FEED && end < lines.length)) {
      if (mark === LINE_FEED) isPlain = false;
      old--;
      added--;
    } else if (mark === PLUS) added--;
    else if (mark === MINUS) {
      // Too large a count would swallow the next file's header; one that git wrote begins with `diff`.
      if (!asGit && !git && startsFile(lines, end)) return null;
      old--;
    } else if (end > from && isNoNewline(lines[end])) isPlain = false;
    else return null;
    offset += lines[end]!.length + 1;
  }
  return old < 0 || added < 0 ? null : { end, offset, isPlain };
}

function takeLines(diff: Diff, end: number, isCreated: boolean): HunkBody {
  const lines: string[] = [];
  const unended: number[] = [];
  while (diff.at < end) {
    const { at } = diff;
    const line = take(diff);
    const isBlank = line === "" || line === "\r";
    if (isMarked(line)) lines.push(line);
    else if (!isNoNewline(line)) {
      mend(diff, at, isBlank ? "blank-context" : "missing-space", isBlank ? undefined : quote(line));
      lines.push(`${isBlank && isCreated ? "+" : " "}${line}`);
    } else if (lines.length > 0) unended.push(lines.length - 1);
  }
  return { lines, unended };
}

function takeDoubled(diff: Diff, header: HunkHeader, { end: limit, tail }: Extent, created: boolean): HunkBody | null {
  const { lines } = diff;
  // The `@@` line may have one behind it as well.
  const from = lines[diff.at] === "" ? diff.at + 1 : diff.at;
  const found = lines[from + 1] === "" ? findDoubled(lines, from, limit, header) : null;
  if (found === null) return null;
  const { kept, unended, end } = found;
  const last = lastLines(kept);
  if (unended.some((index) => index !== last.old && index !== last.new)) return null;
  if (end === lines.length && unended.at(-1) === kept.length - 1) {
    // How the diff ends says how the file does only where its other side has no newline either, or where nothing else would
    // be changed there. A new file has no other side.
    const isOther = kept[last.old]?.slice(1) === kept[last.new]?.slice(1) && last.old !== last.new;
    const isKnown = created ? tail === "torn" : (unended.length > 1 || isOther) && tail !== "feed";
    if (!isKnown) unended.pop();
    if (!isKnown && created) mend(diff, end - 1, "missing-final-newline", "whether the new file has one is not known");
  }
  if (!diff.repairs.some(({ kind }) => kind === "doubled-lines")) mend(diff, from, "doubled-lines");
  while (diff.at < end) take(diff);
  return { lines: kept, unended };
}

function findDoubled(lines: readonly string[], from: number, limit: number, { oldCount, newCount }: HunkHeader) {
  const kept: string[] = [];
  const unended: number[] = [];
  let [old, added, end] = [oldCount ?? -1, newCount ?? -1, from];
  while (old > 0 || added > 0) {
    const line = end < limit ? lines[end]! : "";
    if (!isMarked(line)) return null;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
    kept.push(line);
    if (lines[++end] === "") end++;
    else unended.push(kept.length - 1);
  }
  while (end < limit && lines[end] === "") end++;
  return old < 0 || added < 0 || end < limit ? null : { kept, unended, end };
}
