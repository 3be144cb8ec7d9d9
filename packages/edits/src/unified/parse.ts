import { areWordyDots } from "../dots.js";
import { ordinals } from "../hunk.js";
import { isSamePath, listPaths } from "../mentions.js";
import { needOptions } from "../need.js";
import { quote, type Reading } from "../reading.js";
import { readHunk } from "./body.js";
import { startsFile, startsNames } from "./end.js";
import { checkGlued, closeFile, readHeader } from "./file.js";
import { HEADER, type Input, openInput, refuse, repair, take } from "./input.js";
import { isChanged, isListed, isMarked } from "./mark.js";

export interface ParseOptions {
  /**
   * Refuse everything that `git apply` refuses to read. Otherwise certain repairs are made, and every repair is listed. Both
   * refuse a quoted name that is broken or not UTF-8, names that contradict git's header, a file that is created or deleted
   * and has its mode changed, text glued to a hunk header, and changed lines outside of any hunk.
   */
  strict?: boolean;
  /** The file of hunks without `---` and `+++`; without it they are an error. Ignored by strict reading. */
  path?: string;
  /**
   * Leading folders to take off each name of a header, as `git apply -p` does: each slash counts, and a
   * name that has fewer is an error. The names of renames have no `a/`, so one less of them.
   * By default strict reading takes off one, lenient reading the `a/` and `b/` that are there.
   */
  strip?: number;
}

/**
 * Reads a unified diff, plain or with git's extended headers. An input without any change is an error.
 * Never throws; linear in the input. Hunks keep the order of the input.
 */
export function parsePatch(text: string, options: ParseOptions = {}): Reading {
  needOptions(options, { strict: "boolean", path: "string", strip: "number" });
  const { strict = false, path, strip } = options;
  const input = openInput(text, strict, strip);
  const { lines, files, errors, repairs } = input;
  /** Whether the line before is prose: of several lines one repair tells. */
  let prose = false;
  while (input.at < lines.length && errors.length === 0) {
    const line = lines[input.at]!;
    if (line.startsWith("@@") && line[2] !== "@") {
      if (input.item !== null) refuse(input, input.item, "stray-line", quote(lines[input.item]!));
      if (input.open === null) openPath(input, input.astray ? undefined : path);
      if (input.open !== null) readHunk(input, input.open);
      prose = false;
    } else if (line.startsWith("diff --git ") || startsFile(lines, input.at)) {
      readHeader(input);
      prose = false;
    } else prose = skip(input, prose);
  }
  closeFile(input);
  if (errors.length === 0 && files.length === 0) refuse(input, 0, "no-hunk");
  if (!strict) refuseElisions(input);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: { files }, repairs };
}

/** A new line with words between dots would overwrite the lines that it stands for. */
function refuseElisions(input: Input): void {
  if (!/\.{3}|…/.test(input.text)) return;
  for (const { hunks } of input.files)
    for (const { lines } of hunks) {
      const dots = lines.filter((line) => areWordyDots(line.slice(1)));
      if (dots.length === 0 || dots.some((line) => line[0] !== "+") || !lines.some((line) => line[0] === "-")) continue;
      return refuse(input, Math.max(0, input.lines.indexOf(dots[0]!)), "ambiguous", quote(dots[0]!.slice(1)));
    }
}

/** Opens the file of hunks that have no header. */
function openPath(input: Input, path: string | undefined): void {
  const { at } = input;
  if (path === undefined) return refuse(input, at, "no-file-header", quote(input.lines[at]!));
  repair(input, at, "missing-file-header", path);
  input.open = {
    file: { kind: "modify", before: path, after: path, hunks: [] },
    git: false,
    line: at,
    tellApart: ordinals(),
  };
}

/** Passes over a line that is no part of a patch, and tells whether it is prose. A file goes on behind it, but not for git. */
function skip(input: Input, prose: boolean): boolean {
  const { at } = input;
  const line = take(input);
  if (input.strict) closeFile(input);
  if (line === "") return prose;
  leaveFile(input, line);
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
  else if (input.tail !== "none" && isChanged(line) && !isProse(input, at, prose))
    refuse(input, at, "stray-line", quote(line));
  else if (!prose && line.trim() !== "" && !/^(diff |Index: |Only in |={3,}|-- $)/.test(line)) {
    repair(input, at, "prose", quote(line));
    return true;
  }
  return prose;
}

/** Ends the file where a line of prose names another one. */
function leaveFile(input: Input, line: string): void {
  const path = input.open?.file.after ?? input.open?.file.before;
  if (path == null || isChanged(line) || HEADER.test(line) || listPaths(line).every((each) => isSamePath(each, path)))
    return;
  closeFile(input);
  input.astray = true;
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
