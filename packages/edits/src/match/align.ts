import type { Sides } from "../sides.js";
import { contextual } from "./context.js";
import type { Align } from "./ladder.js";
import { learnStyle } from "./line-style.js";
import { conflict, type Match } from "./match.js";
import { misspelt } from "./misspelt.js";
import { writesInString } from "./quoted.js";
import { type LineStyle, pairUp } from "./style.js";
import type { Target } from "./target.js";

/** The rungs "context" and "misspelt", and the one beyond them where that is asked for. */
export const align: Align = (sides, target, address, loosest, beyond) => {
  const own = loosest === "context" ? [contextual] : [contextual, misspelt];
  for (const { rung, align } of beyond ? [...own, beyond] : own) {
    const alignments = align(sides, target);
    if (alignments === null) return conflict(sides, "ambiguous", rung, []);
    const found = alignments.flatMap(({ rows, mistyped }): Match[] => {
      const style = contextStyle(sides, rows, mistyped, target);
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
  mistyped: ReadonlySet<number>,
  target: Target,
): LineStyle | null {
  const pairs = pairUp(
    sides,
    rows.map((row, i) => (mistyped.has(i) ? -1 : row)),
    target,
  );
  const style = learnStyle(pairs, sides.changes, target);
  if (style || writesInString(pairs, sides.changes)) return style;
  const solid = pairs.filter(({ text }) => text.trim() !== "");
  const deleted = solid.filter((pair) => pair.deleted);
  // A first line that is deleted alone may have been trimmed, where lines behind it were not.
  const isTrimmed = deleted.length === 1 && deleted[0] === solid[0] && solid.some(({ patch, text }) => patch === text);
  return deleted.length > 0 && !isTrimmed ? learnStyle(deleted, sides.changes, target) : null;
}
