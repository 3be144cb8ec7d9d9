import { needPatch, needText } from "../need.js";
import { type FilePatch, filesOf, type Hunk, type Patch } from "../patch.js";
import type { ApplyResult, Conflict, ConflictReason, Rung } from "../result.js";
import { takeApart } from "../sides.js";
import { hasReturns } from "./endings.js";

/** Decides the cases of the file alone; `apply` handles the hunks. */
export function applyFile(
  patch: FilePatch | Patch,
  text: string,
  apply: (hunks: readonly Hunk[], text: string, path: string) => ApplyResult,
): ApplyResult {
  needPatch({ patch });
  needText({ text });
  const [file, another] = filesOf(patch);
  if (another) return refuse("not-found");
  if (!file) return { ok: true, text, hunks: [] };
  if (file.whole) return replaceWhole(file, text);
  const { hunks, kind } = file;
  const path = file.before ?? file.after ?? "";
  const index = file.git?.index;
  // Nearly every index line is of other texts: then it is not taken apart.
  const [from = "", to = ""] = index?.includes(EMPTY.slice(0, 7)) ? index.split("..") : [];
  const empty = isEmptyBlob(from);
  if (hunks.length === 0 && !empty) return { ok: true, text: kind === "delete" ? "" : text, hunks: [] };
  if ((kind === "create" || empty) && text !== "") {
    const made = apply(hunks, "", path);
    return refuse(made.ok && made.text === text ? "already-applied" : "stale");
  }
  const result = apply(hunks, text, path);
  return (kind === "delete" || isEmptyBlob(to)) && result.ok && result.text !== "" ? refuse("stale") : result;
}

const EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/** Whether this is git's object name of the empty text, with at least 7 digits. */
function isEmptyBlob(name: string): boolean {
  return name.length > 6 && EMPTY.startsWith(name);
}

/** The new side is the whole file. An existing text gives it line endings and byte order mark. */
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

/** A conflict of the file, not of a hunk. */
export function fileConflict(reason: ConflictReason): Conflict {
  return { hunk: "", reason, at: null, candidates: [], total: 0, rung: "exact" };
}

export function refuse(reason: ConflictReason): ApplyResult {
  return { ok: false, conflicts: [fileConflict(reason)] };
}
