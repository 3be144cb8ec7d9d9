import { hasDots } from "../elision.js";
import { needOptions, needPatch, needText } from "../need.js";
import type { FilePatch, Patch } from "../patch.js";
import { refuseDotsIn } from "../read/change.js";
import { attempt, refuse, Unreadable } from "../read/message.js";
import { parseWith } from "../read/reader.js";
import { quote, type Reading, type Repair } from "../reading.js";
import { unifiedDiffs } from "./block.js";
import {
  type Diff,
  isChanged,
  isListed,
  isMarked,
  openDiff,
  refuseForeign,
  startsFile,
  startsNames,
  take,
} from "./diff.js";
import { checkGlued, closeFile, formatHeader, impliesGitHeader, readHeader } from "./header.js";
import { formatHunk, readHunk } from "./hunk.js";

export interface ParseOptions {
  /**
   * Refuse everything that `git apply` refuses to read. Otherwise certain repairs are made, and every repair is listed. Both
   * refuse a quoted name that is broken or not UTF-8, names that contradict git's header, a file that is created or deleted
   * and has its mode changed, text glued to a hunk header, and changed lines outside of any hunk.
   */
  strict?: boolean | undefined;
  /** The file of hunks without `---` and `+++`; without it they are an error. Ignored by strict reading. */
  path?: string | undefined;
  /**
   * Leading folders to take off each name of a header, as `git apply -p` does: each slash counts, and a
   * name that has fewer is an error. The names of renames have no `a/`, so one less of them.
   * By default strict reading takes off one, lenient reading the `a/` and `b/` that are there.
   */
  strip?: number | undefined;
}

/**
 * Reads a unified diff, plain or with git's extended headers; text around it is left out. An input without any change is an
 * error. Never throws; linear in the input. Hunks keep the order of the input.
 */
export function parsePatch(text: string, options: ParseOptions = {}): Reading {
  needOptions(options, { strict: "boolean", path: "string", strip: "number" });
  needText({ text });
  const { strict, path, strip } = options;
  if (strict) return parseStrictly(text, { strip });
  const plain = parsePlain(text, strip);
  return plain.ok ? plain : parseWith([unifiedDiffs(strip)], text, { path, limit: Number.POSITIVE_INFINITY });
}

/** `parsePatch` with `strict: true`, for a page that reads only what git writes: a bundle of it has no tolerant reader. */
export function parseStrictly(text: string, options: Pick<ParseOptions, "strip"> = {}): Reading {
  needOptions(options, { strip: "number" });
  needText({ text });
  return parseBy((repairs) => readPlain(text, true, options.strip, repairs));
}

/** Reads a text that is nothing but a diff whose counts fit: any other is an error here. Faster than to look for blocks. */
export function parsePlain(text: string, strip?: number): Reading {
  return parseBy((repairs) => {
    // A quick check, as most texts are no diff alone.
    if (!/^\n*(?:diff --git |--- )/.test(text)) refuse(0, "no-hunk");
    const files = readPlain(text, false, strip, repairs);
    if (hasDots(text)) refuseDotsIn(files, text.split("\n"));
    return files;
  });
}

function parseBy(readFiles: (repairs: Repair[]) => FilePatch[]): Reading {
  const read = attempt(readFiles);
  if (read instanceof Unreadable)
    return { ok: false, errors: [{ line: read.line + 1, reason: read.reason, message: read.message }] };
  for (const repair of read.repairs) repair.line++;
  return { ok: true, patch: { files: read.files }, repairs: read.repairs };
}

/**
 * Reads a text that is a unified diff as git reads it: counts have to fit. `strictly` reads what `git apply` does, text around
 * files included. Otherwise the text has nothing but the diff, names are read as in a model's answer, and what git reads
 * silently is listed.
 */
function readPlain(text: string, strictly: boolean, strip: number | undefined, repairs: Repair[]): FilePatch[] {
  const lines = text.split("\n");
  const diff = openDiff(text, lines, { strict: true, asGit: strictly, strip, repairs });
  if (lines.pop() !== "") refuse(lines.length, "bad-hunk", undefined, "missing-final-newline");
  const tail: Tail = { end: "none", isProse: false };
  while (diff.at < lines.length) {
    const { at } = diff;
    const line = lines[at]!;
    const isHunk = line.startsWith("@@") && line[2] !== "@";
    if (isHunk) readHunk(diff, diff.open ?? refuse(at, "no-file-header", quote(line)));
    else if (line.startsWith("diff --git ") || startsFile(lines, at)) readHeader(diff);
    else {
      refuseForeign(line, at, diff.open?.file.after);
      take(diff);
      closeFile(diff);
      if (line !== "" && !strictly) refuse(at, "stray-line", quote(line));
      if (line !== "") passText(diff, at, tail);
      continue;
    }
    tail.end = isHunk ? "sure" : "unsure";
    tail.isProse = false;
  }
  closeFile(diff);
  if (diff.files.length === 0) refuse(0, "no-hunk");
  return diff.files;
}

/** How sure the end of the patch is that was read last: a changed line behind it may be prose, or a line of a hunk. */
interface Tail {
  end: "none" | "sure" | "unsure";
  isProse: boolean;
}

/** Passes over a line of text, unless it may be one of the hunk before. */
function passText(diff: Diff, at: number, tail: Tail): void {
  const { lines } = diff;
  const line = lines[at]!;
  const isSure = tail.end === "sure";
  checkGlued(diff, at);
  const isBehind = line[0] === " " && isSure && !tail.isProse && lines[at - 1] !== "";
  const isStray = isBehind || (isChanged(line) && !isListed(line, lines[at - 1] ?? "", tail.isProse, isSure));
  if (tail.end !== "none" && isStray) refuse(at, "stray-line", quote(line));
  // A mail's signature ends its patch; names without an @@ line may be the header of lines that would be lost.
  if (line === "-- ") tail.end = "none";
  else if (startsNames(lines, at) && isMarked(lines[at + 2] ?? "")) tail.end = "unsure";
  tail.isProse = line.trim() !== "" && !isMarked(line);
}

/**
 * Writes a patch as a unified diff, byte for byte as `git diff` writes it, with git's extended header where a plain one
 * does not suffice. Law: `parsePatch(formatPatch(p)).patch` equals `p` for everything that a unified diff can express. It
 * has no field for `reason`, keeps only the last of several anchors (as section), and writes a replacement of a whole file
 * as a creation, since its old text is not known. Hunks without a place become `@@ ... @@`, for lenient readers only.
 */
export function formatPatch(patch: Patch): string {
  needPatch({ patch });
  const out: string[] = [];
  let isOpen = false;
  for (const file of patch.files) {
    // The next file's names would be taken for those of a header that has no hunks.
    if (isOpen && file.git === undefined && !impliesGitHeader(file)) out.push("");
    isOpen = file.hunks.length === 0;
    formatHeader(file, out);
    for (const hunk of file.hunks) formatHunk(hunk, out);
  }
  return out.length === 0 ? "" : `${out.join("\n")}\n`;
}
