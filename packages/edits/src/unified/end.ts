import type { HunkHeader } from "./hunk-header.js";
import type { Input } from "./input.js";
import { isChanged, isFence, isItem, isMarked, isNoNewline, startsFile, startsNames } from "./mark.js";

/** Finds the hunk's end by the look of its lines: before the next header, the fence's end or prose. */
export function endByMarks(input: Input, from: number, { oldCount, newCount }: HunkHeader, created: boolean): number {
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

/**
 * Whether lines of the hunk follow although its counts are used up: a line with a mark, or context that lost its space with
 * changed lines behind it.
 */
export function goesOn(input: Input, at: number): boolean {
  const { lines, fence } = input;
  let i = at;
  while (lines[i] === "") i++;
  const line = lines[i];
  if (line === undefined || line.startsWith("@@") || startsNames(lines, i) || isBoundary(input, i)) return false;
  if (isMarked(line)) return line[0] === " " || isChanged(line);
  if (fence === 0 && i > at) return false;
  for (; i < lines.length && !isBoundary(input, i); i++) {
    if (isChanged(lines[i]!)) return true;
    if (fence === 0 && isBlank(lines[i]!)) return false;
  }
  return false;
}

/** What stands behind a hunk: a header, the end of the fence or of a mail, or a list in prose. */
function isBoundary({ lines, fence }: Input, at: number): boolean {
  const line = lines[at]!;
  return (
    /^(@@|diff --git |Index: )/.test(line) ||
    startsFile(lines, at) ||
    (line === "-- " && /^\d+\./.test(lines[at + 1] ?? "")) ||
    // Outside a fence this is a line of the file: a patch of a markdown file would end in its middle, in silence.
    (fence > 0 ? isFence(line, fence) : lines[at - 1] === "" && isItem(line))
  );
}

function isBlank(line: string): boolean {
  return line.trim() === "";
}
