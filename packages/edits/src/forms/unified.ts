import { parseGitNames, parseHunkHeader, parseNameLine } from "../unified/header.js";
import { parsePatch } from "../unified/parse.js";
import { type Block, type BlockReading, type Form, refuse, type Taken } from "./block.js";
import { closesFence, type Fence } from "./fence.js";

/**
 * A unified diff in a model's output, fenced or bare. Here only its ends are found; `parsePatch` reads it. A fence with
 * `diff` or `patch` may begin with an `@@` line where a path is known; one without any header is an illustration.
 */
export const unifiedDiffs: Form = {
  name: "unified",
  open({ line, before, path, innerPath, fence, atFenceStart, defaultPath }) {
    const named = line.startsWith("+++ ") && before.startsWith("--- ");
    const bare = atFenceStart && /^(?:diff|patch|udiff)\b/.test(fence!.info) && line.startsWith("@@");
    const git = /^diff --git (?:"?[a-z]\/|\S+ \S+\s*$)/.test(line);
    // Header lines on one line are nothing but a broken diff: `parsePatch` says so.
    const glued = /^--- \S.* \+\+\+ \S.*@@ -/.test(line);
    if (!named && !bare && !git && !glued) return null;
    const known = innerPath ?? path ?? defaultPath;
    return openUnified(fence, named ? pathOf(before.slice(4)) : bare ? known : null, known);
  },
};

/** The path of a name line, without its prefix; null for /dev/null. */
function pathOf(text: string): string | null {
  return (
    parseNameLine(text)
      .name?.replace(/^[ab]\//, "")
      .trim() ?? null
  );
}

const HEADER =
  /^(?:index |old mode |new mode |deleted file |new file |similarity |dissimilarity |rename |copy |--- |\+\+\+ |Binary files |GIT binary |@@|diff --git )/;

function openUnified(fence: Fence | null, first: string | null, known: string | null): Block {
  let path = first;
  /** Path of the `---` line just before; a file that is deleted has no other. */
  let dashes = first;
  let inHunk = false;
  /** Lines that the hunk at hand still has to have; null where its counts cannot be read. */
  let left: { old: number; new: number } | null = null;
  let blanks = 0;

  function takeBare(line: string): Taken {
    if (inHunk && line.trim() === "") return ++blanks > 3 ? "past" : "maybe";
    const owed = left === null || left.old > 0 || left.new > 0;
    if (!inHunk || startsFile(line)) {
      if (!HEADER.test(line)) return "past";
    } else if (
      !line.startsWith("@@") &&
      !(/^[ +\-\\]/.test(line) ? owed || blanks === 0 : owed && left !== null && blanks === 0)
    ) {
      // A blank line ends a hunk that has all its lines. What has no prefix is context only if it is owed.
      return "past";
    }
    for (; blanks > 0; blanks--) follow(" ");
    follow(line);
    return "more";
  }

  function startsFile(line: string): boolean {
    return line.startsWith("diff --git ") || (line.startsWith("--- ") && !(left !== null && left.old > 0));
  }

  function follow(line: string): void {
    if (line.startsWith("@@")) {
      const header = parseHunkHeader(line.trimEnd());
      left =
        header?.oldCount == null || header.newCount === null ? null : { old: header.oldCount, new: header.newCount };
      inHunk = true;
    } else if (startsFile(line)) {
      inHunk = false;
      if (line.startsWith("--- ")) dashes = pathOf(line.slice(4));
      else path = parseGitNames(line.slice(11).trimEnd())?.after.replace(/^b\//, "") ?? path;
    } else if (!inHunk) {
      if (line.startsWith("+++ ")) path = pathOf(line.slice(4)) ?? dashes ?? path;
    } else if (left !== null && line[0] !== "\\") {
      if (line[0] !== "+") left.old--;
      if (line[0] !== "-") left.new--;
    }
  }

  return {
    get path() {
      return path;
    },
    ownsFence: false,
    tentative: false,
    take(line) {
      if (fence === null) return takeBare(line);
      if (closesFence(line, fence, 0)) return "past";
      follow(line);
      return "more";
    },
    read(lines, end): BlockReading {
      const last = lines.length - 1;
      const owed = fence === null && left !== null && (left.old > blanks || left.new > blanks);
      if (end === "cut" ? fence !== null || owed : end === "complete" && fence !== null)
        return refuse(last, "unfinished", "The diff ends before its last hunk does; ask for the rest of it.");
      // Too large a count, or context that lost its blanks: reading on, or stopping, may be wrong.
      if (owed && end === "closed")
        return refuse(
          last,
          "bad-hunk",
          "Text follows before the hunk has the lines that its counts promise; write the diff in a fence.",
        );
      const reading = parsePatch(`${lines.join("\n")}\n`, known === null ? {} : { path: known });
      if (!reading.ok) {
        const { line, reason, message } = reading.errors[0]!;
        return refuse(line - 1, reason, message);
      }
      const repairs = reading.repairs
        .filter(({ kind }) => kind !== "fence" && kind !== "prose")
        .map((repair) => ({ ...repair, line: repair.line - 1 }));
      return { ok: true, files: reading.patch.files, repairs };
    },
  };
}
