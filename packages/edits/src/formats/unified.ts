import { parsePatch } from "../parse.js";
import { quote, say } from "../reading.js";
import { parseHunkHeader } from "../unified/hunk-header.js";
import { isChanged, isItem, isListed } from "../unified/mark.js";
import { SENTENCES } from "../unified/message.js";
import { parseGitNames, parseNameLine } from "../unified/name.js";
import { tabOf } from "../unified/stamp.js";
import type { Format, Taken } from "./block.js";
import { closesFence, openFence } from "./fence.js";
import { refuseDotsIn } from "./file-patch.js";
import { refuse, Unreadable } from "./message.js";

/** The path of a `---` or `+++` line, without its prefix; null for /dev/null. */
function pathOf(line: string): string | null {
  return (
    parseNameLine(line.slice(4), tabOf)
      .name?.replace(/^[ab]\//, "")
      .trim() ?? null
  );
}

const HEADER =
  /^(?:index |old mode |new mode |deleted file |new file |similarity |dissimilarity |rename |copy |--- |\+\+\+ |Binary files |GIT binary |@@|diff --git )/;

/** What stands behind the fence of a diff. */
export const DIFF = /^(?:diff|patch|udiff)\b/;

/** Lines of a hunk on either side; `first`: none of it was met yet. */
interface Counts {
  old: number;
  new: number;
  first: boolean;
}

/**
 * A unified diff in a model's output, fenced or bare. Here only its ends are found; `parsePatch` reads it. A fence with
 * `diff` or `patch` may begin with an `@@` line where a path is known; one without any header is an illustration. Behind a diff
 * and prose an `@@` line goes on with the diff's last file.
 */
export const unifiedDiffs: Format = {
  name: "unified",
  advice: "write its --- and +++ lines, and an @@ line above each hunk",
  isLost: (line, fence) =>
    /^@@ (?:-\d|\.{3} @@)/.test(line) || (fence !== null && DIFF.test(fence.info) && isChanged(line)),
  open({ line: opening, before, path, innerPath, fence, atFenceStart, previousPath, previousFormat, defaultPath }) {
    const named = opening.startsWith("+++ ") && before.startsWith("--- ");
    const bare = atFenceStart && DIFF.test(fence!.info) && opening.startsWith("@@");
    const git = /^diff --git (?:"?[a-z]\/|\S+ \S+\s*$)/.test(opening);
    // Header lines on one line are nothing but a broken diff: `parsePatch` says so.
    const second = opening.startsWith("--- ") ? opening.indexOf(" +++ ") : -1;
    const glued = second > 0 && opening.includes("@@ -", second);
    // A diff goes on behind prose: as a text on its own this would be a hunk of the same file.
    const more = fence === null && previousFormat === "unified" && /^@@(?:\s|$|-\d)/.test(opening);
    if (!named && !bare && !git && !glued && !more) return null;
    const isNext = more || (bare && previousFormat === "unified");
    const known = innerPath ?? path ?? (isNext ? previousPath : null) ?? defaultPath;
    const first = named ? pathOf(before) : bare || more ? known : null;
    /** Path of the `---` line just before; a file that is deleted has no other. */
    let dashes = first;
    let inHunk = false;
    /** The hunk at hand has an added or deleted line. One without is not over: what follows it may be its change. */
    let changes = false;
    /** Lines that the hunk at hand still has to have; null where its counts cannot be read. */
    let left: Counts | null = null;
    /** The same where an empty line stands behind each line of the hunk, and is none of it. */
    let single: Counts | null = null;
    /** Lines held: blank ones, a fence that may be context, and context that lost its space. */
    let held = { blank: 0, fence: false, bare: 0 };

    /**
     * Of the text behind the diff: the line before, and whether there was prose. A fence behind the diff may be a line
     * of the file unless a blank line is between, and so may the first line behind its end; at any other fence the diff is over.
     */
    let above: string | null = null;
    let prose = fence !== null;
    let shown = fence !== null;
    let ending = fence !== null;
    let over = false;
    /** A blank line stands behind the diff, or its counts say that it is complete. */
    let apart = false;

    /** A line without anything but blanks is context as it stands while the hunk lacks lines. */
    const isBlank = (line: string) =>
      line.trim() === "" && (line[0] !== " " || !(owes(count()) || (single !== null && single.old > 0)));
    const owes = (lines: number) => left !== null && (left.old > lines || left.new > lines);
    /** The lines held are exactly what the hunk still has to have. */
    const completes = () => count() > 0 && left !== null && left.old === count() && left.new === count();
    const count = () => held.blank + held.bare + (held.fence ? 1 : 0);
    const startsFile = (line: string) =>
      line.startsWith("diff --git ") || (line.startsWith("--- ") && !(left !== null && left.old > 0));

    function goesOn(line: string): boolean {
      if (!inHunk || startsFile(line)) return HEADER.test(line);
      if (line.startsWith("@@")) return true;
      // An unprefixed line is context only while the hunk lacks lines.
      if (!/^[ +\-\\]/.test(line)) return count() === 0 && owes(0);
      // A blank line ends a complete hunk, unless a changed line that is no list item follows it.
      if (count() === 0 || left === null || owes(0) || (isChanged(line) && !isItem(line))) return true;
      return single !== null && (single.old > 0 || single.new > 0);
    }

    /** The message about a line that cannot be decided yet; null for any other. */
    function hold(line: string): Taken | null {
      if (!inHunk) return null;
      if (fence !== null && closesFence(line, fence, 0)) {
        if (completes()) return "kept";
        if (held.fence || !(left === null || owes(count()))) return "past";
        held.fence = true;
        return "maybe";
      }
      if (fence !== null && !held.fence) return null;
      if (left === null && (line.trim() !== "" || (line[0] === " " && count() > 0))) return holdBehind(line);
      if (isBlank(line)) {
        held.blank++;
        return held.blank > 3 || (held.bare > 0 && left !== null) ? "past" : "maybe";
      }
      if (held.fence) return /^[ +-]/.test(line) && !isItem(line) && owes(count()) ? null : "past";
      if (goesOn(line)) return null;
      if (completes()) return "kept";
      // Context that lost its space, context that the counts have missed, or the prose behind the diff.
      if (/^[-+]/.test(line) || held.blank > 0 === (line[0] !== " ") || held.bare > 4) return "past";
      held.bare++;
      return "maybe";
    }

    /** Without counts, a fence and lines that touch the hunk are its context if a changed line stands behind them. */
    function holdBehind(line: string): Taken | null {
      if (held.bare === 0 && !held.fence) {
        if (goesOn(line)) return null;
      } else if (isChanged(line) && !isItem(line) && !HEADER.test(line)) return null;
      if (held.bare > 4 || held.blank > 0 || isChanged(line) || HEADER.test(line)) return "past";
      held.bare++;
      return "maybe";
    }

    function countLine(line: string): void {
      const blanks = held.blank;
      const owed = count();
      held = { blank: 0, fence: false, bare: 0 };
      if (left !== null) left = { ...left, old: left.old - owed, new: left.new - owed };
      if (line[0] === "\\") return;
      changes ||= isChanged(line);
      if (single !== null && !single.first && blanks !== 1) single = null;
      for (const counts of [left, single]) {
        if (counts === null) continue;
        if (line[0] !== "+") counts.old--;
        if (line[0] !== "-") counts.new--;
        counts.first = false;
      }
    }

    return {
      path: first,
      take(line): Taken {
        const taken = hold(line);
        if (taken !== null) return taken;
        if (!inHunk && (fence !== null ? closesFence(line, fence, 0) : !goesOn(line))) return "past";
        if (line.startsWith("@@")) {
          const { oldCount = null, newCount = null } = parseHunkHeader(line.trimEnd()) ?? {};
          const counts = oldCount === null || newCount === null ? null : { old: oldCount, new: newCount, first: true };
          left = counts;
          single = counts && { ...counts };
          held = { blank: 0, fence: false, bare: 0 };
          inHunk = true;
          changes = false;
        } else if (startsFile(line)) {
          inHunk = false;
          if (line.startsWith("--- ")) dashes = pathOf(line);
          else this.path = parseGitNames(line.slice(11).trimEnd())?.after.replace(/^b\//, "") ?? this.path;
        } else if (inHunk) countLine(line);
        else if (line.startsWith("+++ ")) this.path = pathOf(line) ?? dashes ?? this.path;
        return "more";
      },
      behind(line) {
        const sure = [left, single].some((counts) => counts?.old === 0 && counts.new === 0);
        const hollow = inHunk && !changes && !sure;
        const stray = isChanged(line) && (hollow || (!over && !isListed(line, above ?? "x", prose, sure)));
        // Behind one space it may be context.
        const isFence = openFence(line) !== null && !(line[0] === " " && line[1] !== " ");
        apart ||= sure || line.trim() === "";
        over ||= line === "-- " || (isFence ? apart && above !== null && !shown : ending && !/^[ +-]/.test(line));
        ending ||= isFence && shown;
        shown ||= isFence;
        prose ||= !isFence && line.trim() !== "" && line[0] !== " ";
        above = line;
        return stray ? new Unreadable(0, "stray-line", say(SENTENCES["stray-line"], quote(line))) : null;
      },
      settle: () => (completes() && !held.fence ? "kept" : "past"),
      read({ lines, start, end, repairs }) {
        const last = lines.length - 1;
        const unfinished =
          fence !== null
            ? end !== "closed"
            : end === "torn" ||
              (end === "cut" &&
                (left === null ? inHunk && held.bare === 0 && /^[-+]/.test(lines[last]!) : owes(count())));
        if (unfinished) refuse(last, "unfinished");
        // Too large a count, or context that lost its blanks: reading on, or stopping, may be wrong.
        if (fence === null && end === "closed" && owes(count())) refuse(last, "bad-hunk");
        // The fence's end stands behind the block; it shows that a fence in the hunk was not the end.
        const closing = fence !== null && lines.slice(0, start).some((line) => openFence(line) !== null);
        const text = `${lines.join("\n")}\n${closing ? `${fence.mark.repeat(fence.length)}\n` : ""}`;
        const reading = parsePatch(text, known === null ? {} : { path: known });
        if (!reading.ok) {
          const { line, reason, message } = reading.errors[0]!;
          throw new Unreadable(line - 1, reason, message);
        }
        for (const repair of reading.repairs)
          if (repair.kind !== "fence" && repair.kind !== "prose") repairs.push({ ...repair, line: repair.line - 1 });
        refuseDotsIn(reading.patch.files, lines);
        return reading.patch.files;
      },
    };
  },
};
