import type { Aligner } from "./context.js";
import { evenEndings, hasReturns } from "./endings.js";
import { type Standing, standInPlace, standMoved } from "./exact.js";
import { climb, type Rung } from "./ladder.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";
import { hintOf, takeApart } from "./sides.js";
import { spliceText } from "./splice.js";

export type ApplyResult =
  | { readonly ok: true; readonly text: string; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

export interface AppliedHunk {
  readonly id: string;
  /** Line of the text, counted from 1, at which the hunk's old side was found. */
  readonly at: number;
  /** Lines between there and where the hunk said; 0 where it named no line. */
  readonly offset: number;
  readonly repairs: readonly Rung[];
}

export interface Conflict {
  /** The hunk's id; empty where the conflict is the file's. */
  readonly hunk: string;
  readonly reason: ConflictReason;
  /** Line of the text, counted from 1, that the conflict is about; null where there is none. */
  readonly at: number | null;
  /** Lines, counted from 1, where the hunk could stand. */
  readonly candidates: readonly number[];
  /** The last rung that was tried. */
  readonly rung: Rung;
}

export type ConflictReason =
  | "not-found" // the old lines are not there, by any rung allowed
  | "ambiguous" // they are there more than once, and nothing says which is meant
  | "already-applied" // the new lines are there and the old ones are not
  | "overlap" // two hunks change the same lines
  | "stale"; // the file is in another state than the patch wants: a new file that has text, a deleted one with more of it

export interface ApplyOptions {
  /** The loosest rung that may be used; default "context". */
  readonly loosest?: Rung;
  /** One more rung, for what "context" does not find: `anchored`. Never used by default. */
  readonly beyond?: Aligner;
}

/**
 * Applies the patch of one file to its text. A conflict is a value; nothing throws, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; a line that was not matched is never deleted; context keeps the text's own bytes,
 * line endings, byte order mark and final newline; a place is taken only if it is the only one (or see `settle`).
 * A patch without files changes nothing; one of several files has no one text and is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  return applyFile(patch, text, (hunks) => {
    const inPlace = standInPlace(hunks, text);
    if (inPlace) return writeStanding(inPlace, hunks, text, []);
    const even = options.loosest === "exact" ? hunks : evenEndings(hunks, text);
    const repairs: Rung[] = even === hunks ? [] : ["line-endings"];
    // A byte order mark belongs to no line, unless the patch itself writes one.
    const mark = text[0] === "\ufeff" && !hunks.some(({ lines }) => lines.some((line) => line.includes("\ufeff")));
    const body = mark ? text.slice(1) : text;
    const standing = (repairs.length > 0 && standInPlace(even, body)) || standMoved(even, body);
    const result = standing ? writeStanding(standing, even, body, repairs) : climb(even, body, repairs, options);
    return mark && result.ok ? { ...result, text: `\ufeff${result.text}` } : result;
  });
}

/** What is decided by the file alone; the hunks are left to `apply`. */
export function applyFile(
  patch: FilePatch | Patch,
  text: string,
  apply: (hunks: readonly Hunk[]) => ApplyResult,
): ApplyResult {
  if ("files" in patch && patch.files.length > 1) return refuse("not-found");
  const file = "files" in patch ? patch.files[0] : patch;
  if (!file) return { ok: true, text, hunks: [] };
  if (file.whole) return replaceWhole(file, text);
  const { hunks, kind } = file;
  if (hunks.length === 0) return { ok: true, text: kind === "delete" ? "" : text, hunks: [] };
  if (kind === "create" && text !== "") {
    const made = standInPlace(hunks, "");
    return refuse(made && spliceText("", made.splices) === text ? "already-applied" : "stale");
  }
  const result = apply(hunks);
  return kind === "delete" && result.ok && result.text !== "" ? refuse("stale") : result;
}

/** The new side is the whole file. A text that is there lends it line endings and byte order mark. */
function replaceWhole({ hunks, kind }: FilePatch, text: string): ApplyResult {
  const hunk = hunks[0];
  if (!hunk) return kind === "create" ? { ok: true, text: "", hunks: [] } : refuse("stale");
  const { new: lines } = takeApart(hunk);
  const mark = text.startsWith("\ufeff") && !lines[0]?.startsWith("\ufeff") ? "\ufeff" : "";
  const returns = hasReturns(text) && !lines.some((line) => line.endsWith("\r"));
  const ending = returns ? "\r\n" : "\n";
  const body = lines.join(ending) + (lines.length > 0 && !hunk.newNoNewline ? ending : "");
  const repairs: Rung[] = [];
  if (returns) repairs.push("line-endings");
  if (mark) repairs.push("byte-order-mark");
  return { ok: true, text: mark + body, hunks: [{ id: hunk.id, at: 1, offset: 0, repairs }] };
}

function writeStanding(
  { rows, splices }: Standing,
  hunks: readonly Hunk[],
  text: string,
  repairs: readonly Rung[],
): ApplyResult {
  const applied = hunks.map((hunk, i) => {
    const row = rows[i]!;
    const offset = row - (hintOf(hunk) ?? row);
    return { id: hunk.id, at: row + 1, offset, repairs: offset === 0 ? repairs : ["place" as const, ...repairs] };
  });
  return { ok: true, text: spliceText(text, splices), hunks: applied };
}

/** A conflict that is the file's and not a hunk's. */
export function refuse(reason: ConflictReason): ApplyResult {
  return { ok: false, conflicts: [{ hunk: "", reason, at: null, candidates: [], rung: "exact" }] };
}
