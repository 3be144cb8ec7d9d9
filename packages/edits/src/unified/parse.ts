import { ordinals } from "../hunk.js";
import { quote, type Reading } from "../reading.js";
import { readHunk, startsFile } from "./body.js";
import { checkGlued, closeFile, readHeader } from "./file.js";
import { type Input, openInput, refuse, repair } from "./input.js";

export interface ParseOptions {
  /**
   * Refuse whatever `git apply` refuses to read. Otherwise what is certain is repaired, and every repair is listed. Both refuse a quoted
   * name that is broken or no UTF-8, a file that is created or deleted and has its mode changed, and text glued to a hunk header.
   */
  strict?: boolean;
  /** The file that hunks without `---` and `+++` belong to; without it they are an error. Not used by strict reading. */
  path?: string;
}

/**
 * Reads a unified diff, plain or with git's extended headers. An input in which nothing changes anything is an error.
 * Never throws; linear in the input. Hunks are given in the order they stand in.
 */
export function parsePatch(text: string, { strict = false, path }: ParseOptions = {}): Reading {
  const input = openInput(text, strict);
  const { lines, files, errors, repairs } = input;
  /** Whether the line before is prose: of several lines one repair tells. */
  let prose = false;
  for (let at = 0; at < lines.length && errors.length === 0; ) {
    const line = lines[at]!;
    if (line.startsWith("@@") && line[2] !== "@") {
      if (input.open === null) openPath(input, at, path);
      if (input.open !== null) at = readHunk(input, at, input.open);
      prose = false;
    } else if (line.startsWith("diff --git ") || startsFile(lines, at)) {
      at = readHeader(input, at);
      prose = false;
    } else prose = skip(input, at++, prose);
  }
  closeFile(input);
  if (errors.length === 0 && files.length === 0) refuse(input, 0, "no-hunk");
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: { files }, repairs };
}

/** Opens the file of hunks that have no header. */
function openPath(input: Input, line: number, path: string | undefined): void {
  if (path === undefined) return refuse(input, line, "no-file-header", quote(input.lines[line]!));
  repair(input, line, "missing-file-header", path);
  input.open = {
    file: { kind: "modify", before: path, after: path, hunks: [] },
    git: false,
    line,
    tellApart: ordinals(),
  };
}

/** Passes over a line that is no part of a patch, and tells whether it is prose. A file goes on behind it, but not for git. */
function skip(input: Input, at: number, prose: boolean): boolean {
  const line = input.lines[at]!;
  if (input.strict) closeFile(input);
  const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]?.length;
  if (fence !== undefined) {
    if (input.fence === 0) {
      input.fence = fence;
      repair(input, at, "fence");
    } else if (fence >= input.fence) input.fence = 0;
    return prose;
  }
  checkGlued(input, at);
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line))
    refuse(input, at, "binary", quote(input.open?.file.after ?? line));
  else if (/^(diff --(cc|combined) |@@@)/.test(line)) refuse(input, at, "combined-diff", quote(line));
  else if (!prose && line.trim() !== "" && !/^(diff |Index: |Only in |={3,}|-- $)/.test(line)) {
    repair(input, at, "prose", quote(line));
    return true;
  }
  return prose;
}
