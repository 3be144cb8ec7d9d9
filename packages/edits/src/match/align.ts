import type { Sides } from "../sides.js";
import { contextual } from "./context.js";
import type { Align } from "./ladder.js";
import { learnStyle } from "./line-style.js";
import { conflict, type Match } from "./match.js";
import { type LineStyle, pairUp } from "./style.js";
import type { Target } from "./target.js";

/** The rung "context", and the one beyond it where that is asked for. */
export const align: Align = (sides, target, address, beyond) => {
  for (const { rung, align } of beyond ? [contextual, beyond] : [contextual]) {
    const alignments = align(sides, target);
    if (alignments === null) return conflict(sides, "ambiguous", rung, []);
    const found = alignments.flatMap(({ rows, reworded }): Match[] => {
      const style = contextStyle(sides, rows, reworded, target);
      const first = rows.findIndex((at) => at >= 0);
      const row = Math.max(rows[first]! - first, 0);
      if (!style || (address && (!address.inside(row, rows) || address.contradicted(row, rows)))) return [];
      return [{ row, rows, rung, style }];
    });
    if (found.length === 1) return found;
    const at = found.map(({ row }) => row);
    if (at.length > 1) return conflict(sides, "ambiguous", rung, at);
  }
  return null;
};

/** Where not all lines agree on a style the deleted ones say how the place is written; without any, it must be as the patch is. */
function contextStyle(
  sides: Sides,
  rows: readonly number[],
  reworded: ReadonlySet<number>,
  target: Target,
): LineStyle | null {
  const matched = rows.map((row, i) => (reworded.has(i) ? -1 : row));
  const style = learnStyle(pairUp(sides, matched, target), sides.changes, target.text);
  if (style) return style;
  const gone = matched.map((row, i) => (sides.deleted[i] ? row : -1));
  const deleted = pairUp(sides, gone, target);
  return deleted.some(({ text }) => text.trim() !== "") ? learnStyle(deleted, sides.changes, target.text) : null;
}
