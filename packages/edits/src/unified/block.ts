import { ordinals } from "../hunk.js";
import type { FilePatch } from "../patch.js";
import { refuseDotsIn } from "../read/change.js";
import { closesFence, type Fence, isDiff, openFence } from "../read/fence.js";
import type { BlockText, EditBlock, Format, Head, Taken } from "../read/format.js";
import { lost, refuse, repair, Unreadable, unreadable } from "../read/message.js";
import { quote, type Repair } from "../reading.js";
import { type Diff, type FileInProgress, isChanged, isMarked, mend, openDiff, startsNames } from "./diff.js";
import { closeFile, passLine, readHeader, refuseStray } from "./header.js";
import { parseHunkHeader, readHunk } from "./hunk.js";
import { HunkEnd } from "./hunk-end.js";
import { parseGitNames, parseNameLine } from "./names.js";
import { TextBehind } from "./text-behind.js";

const HEADER_LINE =
  /^(?:index |old mode |new mode |deleted file |new file |similarity |dissimilarity |rename |copy |--- |\+\+\+ |Binary files |GIT binary |diff --git )/;
/** An `@@` line without a fence around it: it may be code of prose as well. */
const HUNK_LINE = /^@@(?:\s|$|-\d)/;

function pathOf(line: string): string | null {
  const { name } = parseNameLine(line.slice(4).trimEnd());
  return name?.replace(/^[ab]\//, "").trim() ?? null;
}

/** A unified diff in a text, fenced or bare. `strip` is that of `parsePatch`. */
export function unifiedDiffs(strip?: number): Format {
  return {
    name: "unified",
    findLost(line, fence, written) {
      if (/^@@ (?:-\d|\.{3} @@)/.test(line)) return unreadable(0, "no-file-header", quote(written));
      if (/^(?:Binary files .* differ|GIT binary patch)$/.test(line)) return unreadable(0, "binary", quote(written));
      if (/^(?:diff --(?:cc|combined) \S|@@@ -)/.test(line)) return unreadable(0, "combined-diff", quote(written));
      const isShown = fence !== null && isDiff(fence) && isChanged(line);
      return isShown ? lost(written, "write its --- and +++ lines, and an @@ line above each hunk").message : null;
    },
    open(head) {
      const { line, before, fence, isFenceStart, previousFormat, path, innerPath, previousPath, defaultPath } = head;
      const known = innerPath ?? path ?? (previousFormat === "unified" ? previousPath : null) ?? defaultPath;
      // An @@ line without a header above it.
      const isBare = isFenceStart
        ? isDiff(fence!) && line.startsWith("@@")
        : HUNK_LINE.test(line) && (previousFormat === "unified" || known !== null);
      return isBare || startsHeader(line, before) ? new UnifiedBlock(head, isBare ? known : null, strip) : null;
    },
  };
}

function startsHeader(line: string, before: string): boolean {
  if (line.startsWith("+++ ") && before.startsWith("--- ")) return true;
  const second = line.startsWith("--- ") ? line.indexOf("+++ ") : -1;
  const isGlued = second > 0 && (line.includes("/", second) || line.includes("@@ -", second));
  return isGlued || /^diff --git (?:"?[a-z]\/|\S+ \S+\s*$)/.test(line);
}

/** A hunk of the block: its `@@` line, and where its lines end. Rows are counted from the block's opening line. */
interface Found {
  readonly at: number;
  end: number;
  /** A fence in it that may have been the end of the block. */
  doubt: number | null;
}

/** Finds where a diff ends and where each of its hunks does, and reads it then. */
class UnifiedBlock implements EditBlock {
  path: string | null;
  kept = 0;
  /** Its hunks go on with the file of the block before. */
  readonly isContinued: boolean;
  readonly #fence: Fence | null;
  readonly #known: string | null;
  readonly #strip: number | undefined;
  readonly #hunks: Found[] = [];
  /** The last hunk in which a line was shown. */
  #shownHunk = -1;
  #row = 0;
  /** The hunk at hand; null between a header and its first hunk. */
  #body: HunkEnd | null = null;
  #git: boolean;
  /** The path of the `---` line just before; a file that is deleted has no other. */
  #dashes: string | null;
  #created: boolean;
  /** Lines held that may be the names of the next file: `--- `, and `+++ ` behind it. */
  #names: string[] = [];
  /** How many of the lines that the reader holds are the hunk's already. */
  #sure = 0;
  /** A blank line is held in the header: one may be behind every line. */
  #blank = false;
  #isDoubled = false;
  /** The header has lines that change something without a hunk. */
  #hasChange = false;
  readonly #behind: TextBehind;

  constructor({ line, before, fence, previousFormat }: Head, known: string | null, strip: number | undefined) {
    this.isContinued = line.startsWith("@@") && previousFormat === "unified";
    this.#fence = fence;
    this.#known = known;
    this.#strip = strip;
    this.#git = line.startsWith("diff --git ");
    this.#dashes = before.startsWith("--- ") ? pathOf(before) : null;
    this.#created = before.startsWith("--- ") && this.#dashes === null;
    this.path = known ?? this.#dashes;
    this.#behind = new TextBehind(fence !== null);
  }

  take(line: string): Taken {
    this.#row++;
    const taken = this.#step(line);
    if (taken === "more") this.#sure = 0;
    return taken;
  }

  show(line: string, row: number): string | null {
    while ((this.#hunks[this.#shownHunk + 1]?.at ?? row + 1) <= row) this.#shownHunk++;
    const hunk = this.#hunks[this.#shownHunk];
    if (hunk === undefined || row === hunk.at || row >= hunk.end || /^-|^\\ /.test(line)) return null;
    return isMarked(line) ? line.slice(1) : line;
  }

  #step(line: string): Taken {
    const names = this.#names;
    if (names.length === 1 && line.startsWith("+++ ")) {
      names.push(line);
      return "maybe";
    }
    this.#names = [];
    // Names without an @@ line may be the header of lines that would be lost.
    if (names.length === 2 && (line.startsWith("@@") || !this.#body!.isOwed)) {
      if (this.#endHunk(2)) return "past";
      this.#git = false;
      for (const name of names) this.#startHeader(name);
      return this.#takeHeader(line);
    }
    this.#takeNames(names);
    return this.#body === null ? this.#takeHeader(line) : this.#takeBody(line, this.#body);
  }

  #takeBody(line: string, body: HunkEnd): Taken {
    if (this.#isHunkHeader(line)) return this.#endHunk(0) ? "past" : this.#startHunk(line);
    if (line.startsWith("diff --git ")) return this.#endHunk(0) ? "past" : this.#startHeader(line);
    if (line.startsWith("--- ") && !(this.#git && body.isOwed)) {
      this.#names = [line];
      return "maybe";
    }
    const taken = body.take(line);
    if (taken === "past") this.#setEnd(1);
    return taken;
  }

  #takeNames(names: readonly string[]): void {
    for (const each of names) this.#body!.take(each);
    this.#sure += names.length;
  }

  #isHunkHeader(line: string): boolean {
    return this.#fence === null ? HUNK_LINE.test(line) : line.startsWith("@@") && line[2] !== "@";
  }

  #takeHeader(line: string): Taken {
    if (this.#isHunkHeader(line)) return this.#startHunk(line);
    if (HEADER_LINE.test(line)) return this.#startHeader(line);
    if (line.trim() === "" && this.#hunks.length === 0 && !this.#blank) {
      this.#blank = true;
      // A header that is a change on its own ends at a blank line, unless one is behind each of its lines.
      this.#isDoubled ||= this.#row === 2 || !this.#hasChange;
      return "maybe";
    }
    return this.#fence === null || closesFence(line, this.#fence, 0) ? "past" : "more";
  }

  #startHeader(line: string): Taken {
    this.#body = null;
    this.#blank = false;
    this.#hasChange ||= /^(?:(?:rename|copy) to|(?:new|deleted) file mode|new mode) /.test(line);
    if (line.startsWith("diff --git ")) {
      this.#git = true;
      this.path = parseGitNames(line.slice(11).trimEnd())?.after.replace(/^b\//, "") ?? this.path;
    } else if (line.startsWith("--- ")) {
      this.#dashes = pathOf(line);
      this.#created = this.#dashes === null;
    } else if (line.startsWith("+++ ")) this.path = pathOf(line) ?? this.#dashes ?? this.path;
    else if (/^(?:rename|copy) to /.test(line)) this.path = line.slice(line.indexOf(" to ") + 4).trimEnd();
    return "more";
  }

  #startHunk(line: string): Taken {
    this.#body = new HunkEnd(parseHunkHeader(line.trimEnd()), this.#fence, this.#created);
    this.#hunks.push({ at: this.#row - 1, end: Number.POSITIVE_INFINITY, doubt: null });
    return "more";
  }

  #endHunk(names: number): boolean {
    const body = this.#body!;
    body.settle();
    this.#setEnd(1 + names);
    // One fence too many is no prose.
    return body.hasProse && !(names > 0 && body.held === 1 && openFence(body.last)?.info === "");
  }

  #setEnd(behind: number): void {
    const body = this.#body!;
    const hunk = this.#hunks.at(-1)!;
    this.kept = this.#sure + body.kept;
    hunk.end = this.#row - behind - body.held + body.kept;
    if (body.doubt !== null && !body.isComplete) hunk.doubt = hunk.at + 1 + body.doubt;
  }

  settle(): void {
    if (this.#body === null) return;
    this.#takeNames(this.#names);
    this.#names = [];
    this.#body.settle();
    this.#setEnd(0);
  }

  behind(line: string) {
    const isSure = this.#body?.isComplete ?? false;
    const stray = this.#behind.take(line, isSure, this.#body !== null && !this.#body.changes && !isSure);
    // Items of a list may be lines of the file where one more of its hunks follows.
    return stray && { error: unreadable(0, "stray-line", quote(line)), isItem: stray === "item" };
  }

  read(block: BlockText): readonly FilePatch[] {
    const { lines, start, end, isTorn, repairs } = block;
    if (this.#isUnfinished(block)) refuse(lines.length - 1, "unfinished");
    this.#isDoubled ||= lines[start - 1] === "" && lines[start]!.startsWith("+++ ");
    if (isTorn && end === "complete") repair(repairs, lines.length - 1, "missing-final-newline");
    // Where an empty line is behind every header line, these are left out.
    const isLeft = (line: string, row: number) =>
      line !== "" || this.#hunks.some((hunk) => row - start > hunk.at && row - start < hunk.end);
    const rows = this.#isDoubled ? [...lines.keys()].filter((row) => isLeft(lines[row]!, row)) : null;
    const found: Repair[] = [];
    try {
      const files = this.#readFiles(block, rows, found);
      for (const repair of found) repairs.push({ ...repair, line: rows?.[repair.line] ?? repair.line });
      refuseDotsIn(files, lines);
      return files;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      throw new Unreadable(rows?.[error.line] ?? error.line, error.reason, error.message);
    }
  }

  #isUnfinished({ lines, end, isTorn }: BlockText): boolean {
    if (this.#fence !== null) return end !== "closed";
    const body = this.#body;
    const mayMiss =
      body !== null && (body.isOwed || (!body.isCounted && body.held === 0 && /^[-+]/.test(lines.at(-1)!)));
    return (isTorn && end !== "complete") || (end === "cut" && mayMiss);
  }

  #readFiles({ lines: written, start, isTorn }: BlockText, rows: number[] | null, repairs: Repair[]): FilePatch[] {
    const lines = rows?.map((row) => written[row]!) ?? written;
    const diff = openDiff("", lines, { strict: false, asGit: false, strip: this.#strip, repairs });
    const tail = this.#fence !== null ? "fence" : isTorn ? "torn" : "feed";
    const indexes = rows && new Map(rows.map((row, i) => [row - start, i]));
    const find = (row: number) => (indexes === null ? row + start : indexes.get(row)) ?? lines.length;
    let next = 0;
    while (diff.at < lines.length) {
      const { at } = diff;
      const line = lines[at]!;
      const hunk = this.#hunks[next];
      if (hunk !== undefined && at === find(hunk.at)) {
        next++;
        if (hunk.doubt !== null) refuseStray(lines, find(hunk.doubt));
        const end = Math.min(find(hunk.end), lines.length);
        readHunk(diff, diff.open ?? this.#openFile(diff), { end, tail });
        diff.at = Math.max(diff.at, end);
      } else if (line.startsWith("diff --git ") || startsNames(lines, at)) {
        if (this.#isDoubled && repairs.length === 0) repair(repairs, at, "doubled-lines");
        readHeader(diff);
      } else passLine(diff, (rows?.[at] ?? at) >= start);
    }
    closeFile(diff);
    return diff.files.length > 0 ? diff.files : refuse(0, "no-hunk");
  }

  #openFile(diff: Diff): FileInProgress {
    const { at } = diff;
    const path = this.#known;
    if (path === null) return refuse(at, "no-file-header", quote(diff.lines[at]!));
    mend(diff, at, "missing-file-header", path);
    const file = { kind: "modify" as const, before: path, after: path, hunks: [] };
    diff.open = { file, git: false, line: at, tellApart: ordinals() };
    return diff.open;
  }
}
