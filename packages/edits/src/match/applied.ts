import type { Sides } from "../sides.js";
import type { Target } from "./target.js";

/** Places that a hunk's numbers name, each moved by how far its neighbours were. */
export function namedRows({ hint, hunk }: Sides, drifts: readonly number[]): { old: number[]; new: number[] } {
  const after = hunk.newStart === null ? hint! : Math.max(0, hunk.newStart - 1);
  return { old: drifts.map((drift) => hint! + drift), new: drifts.flatMap((drift) => [hint! + drift, after + drift]) };
}

/**
 * The row at which a hunk has been applied: its new lines stand at a place that it names, and its old lines at none. That
 * the old lines stand elsewhere says nothing then. Null where that is not so, or where the new lines are too few to tell.
 */
export function findApplied(sides: Sides, drifts: readonly number[], target: Target): number | null {
  if (!isTelling(sides)) return null;
  const named = namedRows(sides, drifts);
  const row = named.new.find((each) => stands(sides.new, each, target));
  return row === undefined || named.old.some((each) => stands(sides.old, each, target)) ? null : row;
}

/** Something new is shown by the new side, or two lines that what was deleted stood between. */
function isTelling({ changes, leading, trailing, old }: Sides): boolean {
  if (old.length === 0) return false;
  const isSolid = (line: string) => line.trim() !== "";
  if (changes.some(({ insert }) => insert.some(isSolid))) return true;
  return old.slice(0, leading).some(isSolid) && old.slice(old.length - trailing).some(isSolid) && trailing > 0;
}

function stands(lines: readonly string[], row: number, target: Target): boolean {
  if (!(row in target.lines) || row + lines.length > target.lines.length) return false;
  for (const [i, line] of lines.entries()) {
    if (--target.effort.left < 0) return false;
    if (line.trimEnd() !== target.lines[row + i]!.trimEnd()) return false;
  }
  return true;
}
