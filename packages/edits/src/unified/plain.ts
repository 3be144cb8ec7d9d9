import type { FilePatch } from "../patch.js";
import { refuseDotsIn } from "../read/change.js";
import { refuse } from "../read/message.js";
import { quote, type Repair } from "../reading.js";
import { openDiff, take } from "./diff.js";
import { checkGlued, closeFile, readHeader } from "./header.js";
import { readHunk } from "./hunk.js";
import { isChanged, isListed, isMarked, startsFile, startsNames } from "./marks.js";

/**
 * Reads a text that is a unified diff as git reads it: counts have to fit. `strictly` reads what `git apply` does, text around
 * files included. Otherwise the text has nothing but the diff, names are read as in a model's answer, and what git reads
 * silently is listed.
 */
export function readPlain(text: string, strictly: boolean, strip: number | undefined, repairs: Repair[]): FilePatch[] {
  const lines = text.split("\n");
  const diff = openDiff(text, lines, { strict: true, asGit: strictly, strip, repairs });
  if (lines.pop() !== "") refuse(lines.length, "bad-hunk", undefined, "missing-final-newline");
  /** How sure the end of the patch is that was read last: a changed line behind it may be prose, or a line of a hunk. */
  let tail: "none" | "sure" | "unsure" = "none";
  let prose = false;
  while (diff.at < lines.length) {
    const { at } = diff;
    const line = lines[at]!;
    if (line.startsWith("@@") && line[2] !== "@") {
      if (diff.open === null) refuse(at, "no-file-header", quote(line));
      readHunk(diff, diff.open!);
      tail = "sure";
    } else if (line.startsWith("diff --git ") || startsFile(lines, at)) {
      readHeader(diff);
      tail = "unsure";
    } else {
      take(diff);
      refuseForeign(line, at, diff.open?.file.after);
      closeFile(diff);
      if (line === "") continue;
      if (!strictly) refuse(at, "stray-line", quote(line));
      checkGlued(diff, at);
      const behind = line[0] === " " && tail === "sure" && !prose && lines[at - 1] !== "";
      if (tail !== "none" && (behind || (isChanged(line) && !isListed(line, lines[at - 1]!, prose, tail === "sure"))))
        refuse(at, "stray-line", quote(line));
      // A mail's signature ends its patch; names without an @@ line may be the header of lines that would be lost.
      if (line === "-- ") tail = "none";
      else if (startsNames(lines, at) && isMarked(lines[at + 2] ?? "")) tail = "unsure";
      prose = line.trim() !== "" && !isMarked(line);
      continue;
    }
    prose = false;
  }
  closeFile(diff);
  if (diff.files.length === 0) refuse(0, "no-hunk");
  if (!strictly) refuseDotsIn(diff.files, lines);
  return diff.files;
}

/** Refuses a line that says that there is a change which lines cannot express. */
export function refuseForeign(line: string, at: number, name: string | null | undefined): void {
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line)) refuse(at, "binary", quote(name ?? line));
  if (/^(diff --(cc|combined) |@@@)/.test(line)) refuse(at, "combined-diff", quote(line));
}
