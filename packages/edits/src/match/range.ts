import { needPatch, needText } from "../need.js";
import { type FilePatch, filesOf, type Patch } from "../patch.js";
import type { ApplyResult, Conflict } from "../result.js";
import type { LineRange } from "./aligner.js";
import { endingAt } from "./endings.js";
import { refuse } from "./file.js";
import { needRange } from "./options.js";
import { lineStarts } from "./target.js";

/** Applies the patch to the lines of a range as if they were the whole text; the others stay as they are. */
export function applyInRange(
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
  if (!result.ok) return { ok: false, conflicts: result.conflicts.map((conflict) => moveConflict(conflict, first)) };
  const part = result.text;
  // What the patch knows of the end of its text is not the end of the file.
  const feed = to < text.length && part !== "" && !part.endsWith("\n") ? endingAt(text, from) : "";
  return {
    ok: true,
    text: text.slice(0, from) + part + feed + text.slice(to),
    hunks: result.hunks.map((hunk) => ({ ...hunk, at: hunk.at + first })),
  };
}

function moveConflict(conflict: Conflict, by: number): Conflict {
  const { at, candidates } = conflict;
  return { ...conflict, at: at === null ? null : at + by, candidates: candidates.map((line) => line + by) };
}
