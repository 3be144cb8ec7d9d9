import { alignContext } from "./context.js";
import type { Align } from "./ladder.js";
import { learnStyle } from "./line-style.js";
import { conflict, type Match } from "./match.js";
import { pairUp } from "./style.js";

/** The rungs "context" and "misspelt", whose places compete. */
export const align: Align = (sides, target, address, loosest) => {
  const last = loosest === "context" ? loosest : "misspelt";
  const alignments = alignContext(sides, target, last === "misspelt");
  if (alignments === null) return conflict(sides, "ambiguous", last, []);
  const places = alignments.flatMap(({ rows, other, verdict }) => {
    const first = rows.findIndex((at) => at >= 0);
    const row = Math.max(rows[first]! - first, 0);
    if (address && (!address.inside(row, rows) || address.contradicted(row, rows))) return [];
    const known = rows.map((at, i) => (other.has(i) ? -1 : at));
    const style = verdict === "yes" ? learnStyle(pairUp(sides, known, target), sides.changes, target) : null;
    const rung = other.size > 0 ? "misspelt" : "context";
    const match: Match | null = style && { row, rows, rung, style };
    return [{ row, match }];
  });
  const found = places.flatMap(({ match }) => match ?? []);
  if (places.length > 1 && sides.hint === null)
    return conflict(
      sides,
      "ambiguous",
      last,
      places.map(({ row }) => row),
    );
  if (places.length === 0 || found.length === 0)
    return places.length > 1
      ? conflict(
          sides,
          "ambiguous",
          last,
          places.map(({ row }) => row),
        )
      : null;
  return { sides, found, total: places.length };
};
