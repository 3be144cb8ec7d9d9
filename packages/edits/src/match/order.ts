import type { Conflict } from "../result.js";
import type { Candidate } from "./match.js";

/**
 * For each hunk of a patch whose hunks stand in the file's order (see `Hunk.anchors`) the rows that it can take if they do;
 * none where they cannot all stand in order, and null for others.
 */
export type OrderRows = (candidates: readonly (Candidate | Conflict)[]) => readonly (ReadonlySet<number> | null)[];

export const orderRows: OrderRows = (candidates) => {
  const ordered = candidates.filter(isOrdered);
  // Places are found from the text's start to its end.
  const rows = ordered.map(({ found }) => found.map(({ row }) => row));
  // The next hunk may begin with context of this one, but not with a line that this one changes.
  const reach = ordered.map(({ sides: { old, trailing } }) => Math.max(1, old.length - trailing));
  // From the front: which rows are behind some row of the hunk before. From the back: which of these are before some row of the next.
  for (let i = 1; i < rows.length; i++)
    rows[i] = rows[i]!.filter((row) => row >= (rows[i - 1]![0] ?? Infinity) + reach[i - 1]!);
  for (let i = rows.length - 2; i >= 0; i--)
    rows[i] = rows[i]!.filter((row) => row + reach[i]! <= (rows[i + 1]!.at(-1) ?? -1));
  const allowed = new Map<Candidate | Conflict, number[]>(ordered.map((candidate, i) => [candidate, rows[i]!]));
  return candidates.map((candidate) => {
    const own = allowed.get(candidate);
    return own ? new Set(own) : null;
  });
};

/** One that certainly has places, all of them kept. */
function isOrdered(candidate: Candidate | Conflict): candidate is Candidate {
  if ("reason" in candidate) return false;
  const { sides, found, total = 0 } = candidate;
  return sides.hunk.anchors !== undefined && sides.hint === null && total <= found.length;
}
