import { quote, type Reading } from "../reading.js";
import { readHunk } from "./body.js";
import { checkGlued, closeFile, readHeader } from "./file.js";
import { type Input, openInput, type Repairs, refuse, repair, take } from "./input.js";
import { isChanged, isListed, isMarked, startsFile, startsNames } from "./mark.js";

/** Reads a unified diff with some repairs, or strictly. */
export function parseBy(
  repairing: Repairs | null,
  text: string,
  { path, strip }: { path?: string; strip?: number },
): Reading {
  const input = openInput(text, repairing, strip);
  const { lines, files, errors, repairs } = input;
  /** Whether the line before is prose: of several lines one repair tells. */
  let prose = false;
  while (input.at < lines.length && errors.length === 0) {
    const line = lines[input.at]!;
    if (line.startsWith("@@") && line[2] !== "@") {
      if (input.item !== null) refuse(input, input.item, "stray-line", quote(lines[input.item]!));
      if (input.open === null) repairing?.openPath(input, path);
      if (input.open !== null) readHunk(input, input.open);
      else refuse(input, input.at, "no-file-header", quote(line));
      prose = false;
    } else if (line.startsWith("diff --git ") || startsFile(lines, input.at)) {
      readHeader(input);
      prose = false;
    } else prose = skip(input, prose);
  }
  closeFile(input);
  if (errors.length === 0 && files.length === 0) refuse(input, 0, "no-hunk");
  repairing?.check(input);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: { files }, repairs };
}

/** Passes over a line that is no part of a patch, and tells whether it is prose. A file goes on behind it, but not for git. */
function skip(input: Input, prose: boolean): boolean {
  const { at } = input;
  const line = take(input);
  if (input.repairing === null) closeFile(input);
  if (line === "") return prose;
  input.repairing?.pass(input, line);
  const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]?.length;
  if (fence !== undefined) {
    skipFence(input, at, fence);
    return prose;
  }
  // What follows a mail's signature is another mail.
  if (line === "-- ") input.tail = "none";
  checkGlued(input, at);
  // Names with lines of a hunk below them, but without its `@@`.
  if (input.tail === "none" && startsNames(input.lines, at) && isMarked(input.lines[at + 2] ?? "")) {
    checkGlued(input, input.at);
    take(input);
    input.tail = "unsure";
    return false;
  }
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line))
    refuse(input, at, "binary", quote(input.open?.file.after ?? line));
  else if (/^(diff --(cc|combined) |@@@)/.test(line)) refuse(input, at, "combined-diff", quote(line));
  else if (
    input.tail !== "none" &&
    (isChanged(line) ? !isProse(input, at, prose) : line[0] === " " && at === input.behind)
  )
    refuse(input, at, "stray-line", quote(line));
  else if (!prose && line.trim() !== "" && !/^(diff |Index: |Only in |={3,}|-- $)/.test(line)) {
    repair(input, at, "prose", quote(line));
    return true;
  }
  return prose;
}

/** What stands between two fences is prose, unless the first may have ended in the middle of a hunk. */
function skipFence(input: Input, at: number, length: number): void {
  if (input.fence === 0) {
    input.fence = length;
    repair(input, at, "fence");
    // Right behind a hunk it may be a line of the file.
    if (at !== input.behind) input.tail = "none";
    input.item = null;
  } else if (length >= input.fence) {
    input.fence = 0;
    if (input.tail !== "sure") return;
    input.tail = "none";
    const lost = findBehind(input);
    if (lost !== null) refuse(input, lost, "stray-line", quote(input.lines[lost]!));
  }
}

/** The first changed line right behind the end of a fence, which may be a line of the file: no item of a list. */
function findBehind({ lines, at }: Input): number | null {
  for (let i = at; i < at + 9 && /^(?:[-+ ]|`{3})/.test(lines[i] ?? ""); i++)
    if (isChanged(lines[i]!) && !isListed(lines[i]!, lines[i - 1]!, true, true)) return i;
  return null;
}

/** Whether a line with a mark behind a patch is an item of a list; where a hunk of the same file follows, it was none. */
function isProse(input: Input, at: number, prose: boolean): boolean {
  if (!isListed(input.lines[at]!, input.lines[at - 1]!, prose, input.tail === "sure")) return false;
  input.item ??= at;
  return true;
}
