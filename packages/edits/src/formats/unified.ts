import { parseHunkHeader } from "../unified/hunk-header.js";
import { parseGitNames, parseNameLine } from "../unified/name.js";
import { parsePatch } from "../unified/parse.js";
import type { Format, Taken } from "./block.js";
import { closesFence } from "./fence.js";
import { refuse, Unreadable } from "./message.js";

/** The path of a `---` or `+++` line, without its prefix; null for /dev/null. */
function pathOf(line: string): string | null {
  return (
    parseNameLine(line.slice(4), false)
      .name?.replace(/^[ab]\//, "")
      .trim() ?? null
  );
}

const HEADER =
  /^(?:index |old mode |new mode |deleted file |new file |similarity |dissimilarity |rename |copy |--- |\+\+\+ |Binary files |GIT binary |@@|diff --git )/;

/**
 * A unified diff in a model's output, fenced or bare. Here only its ends are found; `parsePatch` reads it. A fence with
 * `diff` or `patch` may begin with an `@@` line where a path is known; one without any header is an illustration.
 */
export const unifiedDiffs: Format = {
  name: "unified",
  open({ line: opening, before, path, innerPath, fence, atFenceStart, defaultPath }) {
    const named = opening.startsWith("+++ ") && before.startsWith("--- ");
    const bare = atFenceStart && /^(?:diff|patch|udiff)\b/.test(fence!.info) && opening.startsWith("@@");
    const git = /^diff --git (?:"?[a-z]\/|\S+ \S+\s*$)/.test(opening);
    // Header lines on one line are nothing but a broken diff: `parsePatch` says so.
    const glued = /^--- \S.* \+\+\+ \S.*@@ -/.test(opening);
    if (!named && !bare && !git && !glued) return null;
    const known = innerPath ?? path ?? defaultPath;
    const first = named ? pathOf(before) : bare ? known : null;
    /** Path of the `---` line just before; a file that is deleted has no other. */
    let dashes = first;
    let inHunk = false;
    /** Lines that the hunk at hand still has to have; null where its counts cannot be read. */
    let left: { old: number; new: number } | null = null;
    let blanks = 0;

    const owes = (lines: number) => left !== null && (left.old > lines || left.new > lines);
    const startsFile = (line: string) =>
      line.startsWith("diff --git ") || (line.startsWith("--- ") && !(left !== null && left.old > 0));

    function goesOn(line: string): boolean {
      if (!inHunk || startsFile(line)) return HEADER.test(line);
      // A blank line ends a hunk that has all its lines. What has no prefix is context only if it is owed.
      if (/^[ +\-\\]/.test(line)) return blanks === 0 || left === null || owes(0);
      return line.startsWith("@@") || (blanks === 0 && owes(0));
    }

    return {
      path: first,
      take(line): Taken {
        if (fence !== null) {
          if (closesFence(line, fence, 0)) return "past";
        } else if (inHunk && line.trim() === "") return ++blanks > 3 ? "past" : "maybe";
        else if (!goesOn(line)) return "past";
        if (left !== null) left = { old: left.old - blanks, new: left.new - blanks };
        blanks = 0;
        if (line.startsWith("@@")) {
          const { oldCount = null, newCount = null } = parseHunkHeader(line.trimEnd()) ?? {};
          left = oldCount === null || newCount === null ? null : { old: oldCount, new: newCount };
          inHunk = true;
        } else if (startsFile(line)) {
          inHunk = false;
          if (line.startsWith("--- ")) dashes = pathOf(line);
          else this.path = parseGitNames(line.slice(11).trimEnd())?.after.replace(/^b\//, "") ?? this.path;
        } else if (!inHunk) {
          if (line.startsWith("+++ ")) this.path = pathOf(line) ?? dashes ?? this.path;
        } else if (left !== null && line[0] !== "\\") {
          if (line[0] !== "+") left.old--;
          if (line[0] !== "-") left.new--;
        }
        return "more";
      },
      read({ lines, end, repairs }) {
        const last = lines.length - 1;
        if (fence !== null ? end !== "closed" : end === "cut" && owes(blanks)) refuse(last, "unfinished");
        // Too large a count, or context that lost its blanks: reading on, or stopping, may be wrong.
        if (fence === null && end === "closed" && owes(blanks)) refuse(last, "bad-hunk");
        const reading = parsePatch(`${lines.join("\n")}\n`, known === null ? {} : { path: known });
        if (!reading.ok) {
          const { line, reason, message } = reading.errors[0]!;
          throw new Unreadable(line - 1, reason, message);
        }
        for (const repair of reading.repairs)
          if (repair.kind !== "fence" && repair.kind !== "prose") repairs.push({ ...repair, line: repair.line - 1 });
        return reading.patch.files;
      },
    };
  },
};
