import { endingAt, hasReturns, lineStarts, withoutReturn } from "./lines.js";
import { climb } from "./match/ladder.js";
import { stand } from "./match/stand.js";
import { needOptions, needPatch, needText } from "./need.js";
import { type FilePatch, filesOf, type Hunk, type Patch } from "./patch.js";
import {
  type ApplyOptions,
  type ApplyResult,
  type Conflict,
  type ConflictReason,
  type LineRange,
  type Rung,
  rungs,
} from "./result.js";
import { takeApart } from "./sides.js";

/**
 * Applies the patch of one file to its text. Conflicts are returned, never thrown, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; an unmatched line is never deleted; context keeps the text's own bytes, line
 * endings, byte order mark and final newline; a hunk is placed only where its place is unique (or see `settle`).
 * A patch without files changes nothing; a patch of several files is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  needApplyOptions(options);
  const { at } = options;
  if (at === undefined) return applyFile(patch, text, (hunks, text) => applyHunks(hunks, text, options));
  return applyInRange(patch, text, at, (part) => applyPatch(patch, part, { ...options, at: undefined }));
}

export function needApplyOptions(options: ApplyOptions): void {
  needOptions(options, { loosest: rungs, at: "object" });
}

export function needRange(range: LineRange): void {
  needOptions(range, { line_start: "number", line_end: "number" });
}

/** Lines inserted by number alone match nothing that would show the text's byte order mark and line endings. */
function isBare({ lines }: Hunk): boolean {
  return lines.every((line) => line[0] === "+");
}

function applyHunks(hunks: readonly Hunk[], text: string, options: ApplyOptions): ApplyResult {
  const isPlain = !hunks.some(isBare) || (text[0] !== "\ufeff" && !text.includes("\r"));
  const standing = isPlain ? stand(hunks, text, [], true) : null;
  if (standing) return standing;
  const even = options.loosest === "exact" ? hunks : evenEndings(hunks, text);
  const repairs: Rung[] = even === hunks ? [] : ["line-endings"];
  // A byte order mark belongs to no line, unless the patch itself has one.
  const mark = text[0] === "\ufeff" && !hunks.some(({ lines }) => lines.some((line) => line.includes("\ufeff")));
  const body = mark ? text.slice(1) : text;
  const result = stand(even, body, repairs, false) ?? climb(even, body, repairs, options);
  return mark && result.ok ? { ...result, text: `\ufeff${result.text}` } : result;
}

/** Converts hunks to the text's line endings if both use one kind and they differ; else returns the same hunks. */
export function evenEndings(hunks: readonly Hunk[], text: string): readonly Hunk[] {
  const returns = text.includes("\r");
  const differ = ({ lines, oldNoNewline, newNoNewline }: Hunk) =>
    !oldNoNewline && !newNoNewline && lines.every((line) => line.endsWith("\r") !== returns);
  // Carriage returns in lines inserted by number alone are meant.
  if (!hunks.every(differ) || (returns ? !hasReturns(text) : hunks.every(isBare))) return hunks;
  const change = returns ? (line: string) => `${line}\r` : withoutReturn;
  return hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(change) }));
}

/** Git's object name of the empty text. */
const EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/** Whether git's `index` line names the empty text, by at least 7 digits, before and after the change. */
function readIndex({ git }: FilePatch): boolean[] {
  return (git?.index ?? "").split("..").map((name) => name.length > 6 && EMPTY.startsWith(name));
}

/** Decides the cases of the file alone; `apply` handles the hunks. */
export function applyFile(
  patch: FilePatch | Patch,
  text: string,
  apply: (hunks: readonly Hunk[], text: string) => ApplyResult,
): ApplyResult {
  needPatch({ patch });
  needText({ text });
  const [file, another] = filesOf(patch);
  if (another) return refuse("not-found");
  if (!file) return { ok: true, text, hunks: [] };
  if (file.whole) return replaceWhole(file, text);
  const { hunks, kind } = file;
  const [wasEmpty, isEmptied] = readIndex(file);
  const isDeleted = kind === "delete";
  if (hunks.length === 0 && !wasEmpty) return { ok: true, text: isDeleted ? "" : text, hunks: [] };
  if ((kind === "create" || wasEmpty) && text !== "") {
    const made = apply(hunks, "");
    return refuse(made.ok && made.text === text ? "already-applied" : "stale");
  }
  const result = apply(hunks, text);
  return (isDeleted || isEmptied) && result.ok && result.text !== "" ? refuse("stale") : result;
}

/** The new side is the whole file. An existing text gives it line endings and byte order mark. */
function replaceWhole({ hunks: [hunk], kind }: FilePatch, text: string): ApplyResult {
  if (!hunk) return kind === "create" ? { ok: true, text: "", hunks: [] } : refuse("stale");
  const { new: lines } = takeApart(hunk);
  const hasMark = text.startsWith("\ufeff") && !lines[0]?.startsWith("\ufeff");
  const returns = hasReturns(text) && !lines.some((line) => line.endsWith("\r"));
  const ending = returns ? "\r\n" : "\n";
  const body = lines.join(ending) + (lines.length > 0 && !hunk.newNoNewline ? ending : "");
  const repairs: Rung[] = [
    ...(returns ? (["line-endings"] as const) : []),
    ...(hasMark ? (["byte-order-mark"] as const) : []),
  ];
  return { ok: true, text: (hasMark ? "\ufeff" : "") + body, hunks: [{ id: hunk.id, at: 1, offset: 0, repairs }] };
}

/** A conflict of the file, not of a hunk. */
export function fileConflict(reason: ConflictReason): Conflict {
  return { hunk: "", reason, at: null, candidates: [], total: 0, rung: "exact" };
}

export function refuse(reason: ConflictReason): ApplyResult {
  return { ok: false, conflicts: [fileConflict(reason)] };
}

/** Applies the patch to the lines of a range as if they were the whole text; the others stay as they are. */
function applyInRange(
  patch: FilePatch | Patch,
  text: string,
  range: LineRange,
  apply: (part: string) => ApplyResult,
): ApplyResult {
  needPatch({ patch });
  needText({ text });
  needRange(range);
  const { line_start, line_end } = range;
  const [file] = filesOf(patch);
  if (file?.whole || file?.kind === "create" || file?.kind === "delete") return apply(text);
  const starts = lineStarts(text);
  const lines = starts.length - 1;
  const first = line_start - 1;
  const end = Math.min(line_end ?? lines, lines);
  if (!Number.isInteger(first) || !Number.isInteger(end) || first < 0 || end < first) return refuse("not-found");
  const [from, to] = [starts[first]!, starts[end]!];
  const result = apply(text.slice(from, to));
  if (!result.ok) {
    const move = (conflict: Conflict): Conflict => {
      const { at, candidates } = conflict;
      return { ...conflict, at: at && at + first, candidates: candidates.map((line) => line + first) };
    };
    return { ok: false, conflicts: result.conflicts.map(move) };
  }
  const part = result.text;
  // What the patch knows of the end of its text is not the end of the file.
  const feed = to < text.length && part !== "" && !part.endsWith("\n") ? endingAt(text, from) : "";
  const hunks = result.hunks.map((hunk) => ({ ...hunk, at: hunk.at + first }));
  return { ok: true, text: text.slice(0, from) + part + feed + text.slice(to), hunks };
}
