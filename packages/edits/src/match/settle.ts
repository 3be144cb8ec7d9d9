import type { Conflict } from "../result.js";
import { findApplied, namedRows } from "./applied.js";
import { type Candidate, conflict, type Match, type Placed } from "./match.js";
import type { OrderRows } from "./order.js";
import { isNear, type Target } from "./target.js";

/** A hunk with a unique place, and the distance from its number. */
interface Sure {
  readonly candidate: Candidate;
  readonly row: number;
  readonly drift: number;
}

/**
 * Chooses among several places, or leaves a hunk ambiguous. The rule: the only place; else the only one between the
 * places of the nearest hunks before and behind it that have but one, where line numbers give the hunks an order; else the one
 * where its line number says, or its line number moved as far as one of these neighbours was. If they name different places, or none,
 * nothing is chosen: how near a place is to a wrong number proves nothing. Nor is a place elsewhere proof while the place that the
 * numbers name fits but for stale context (see `isNear`), or while the new lines stand there. Hunks without numbers that stand in
 * the file's order take the only places by which all of them do.
 */
export function settle(
  candidates: readonly (Candidate | Conflict)[],
  target: Target,
  orderRows?: OrderRows,
): (Placed | Conflict)[] {
  const sure = candidates.flatMap((candidate): Sure[] => {
    if ("reason" in candidate) return [];
    const { sides, found } = candidate;
    if (sides.hint === null || found.length !== 1) return [];
    const { row } = found[0]!;
    return [{ candidate, row, drift: row - sides.hint }];
  });
  const inOrder = orderRows?.(candidates) ?? [];
  let passed = 0;
  return candidates.map((candidate, i) => {
    if ("reason" in candidate) return candidate;
    const { sides, found } = candidate;
    const low = sure[passed - 1];
    if (candidate === sure[passed]?.candidate) passed++;
    const high = sure[passed];
    const match =
      sides.hint === null ? chooseByOrder(candidate, inOrder[i]) : chooseByNumber(candidate, low, high, target);
    if (match) return "reason" in match ? match : { sides, match };
    const rows = found.map(({ row }) => row);
    return conflict(sides, "ambiguous", found[0]!.rung, rows, candidate.total);
  });
}

function chooseByOrder({ found, total = 0 }: Candidate, rows: ReadonlySet<number> | null | undefined): Match | null {
  const left = found.length === 1 ? found : found.filter(({ row }) => rows?.has(row));
  return left.length === 1 && total <= found.length ? left[0]! : null;
}

function chooseByNumber(
  { sides, found, total = 0 }: Candidate,
  low: Sure | undefined,
  high: Sure | undefined,
  target: Target,
): Match | Conflict | null {
  const drifts = [0, low?.drift ?? 0, high?.drift ?? 0];
  const named = namedRows(sides, drifts).old;
  const areAll = total <= found.length;
  let left = found;
  // The next hunk may begin at the row of one that only inserts, which has no line of its own.
  const behind = low ? low.row + Math.min(low.candidate.sides.old.length, 1) : 0;
  if (areAll && left.length > 1 && !(low && high && low.row >= high.row))
    left = left.filter(({ row }) => row >= behind && (!high || row < high.row));
  if (!areAll || left.length > 1) left = left.filter(({ row }) => named.includes(row));
  const [match] = left;
  if (left.length !== 1 || named.includes(match!.row)) return left.length === 1 ? match! : null;
  const applied = findApplied(sides, drifts, target);
  if (applied !== null) return conflict(sides, "already-applied", match!.rung, [applied]);
  return named.some((row) => isNear(sides, target, row, match!.row)) ? null : match!;
}
