import type { Candidate, Placing } from "./match.js";
import { conflict } from "./match.js";
import { fitsLoosely, type Target } from "./target.js";

/**
 * Chooses among several places, or leaves a hunk ambiguous. The rule: the only place; else the only one between the
 * places of the nearest hunks before and behind it that have but one, where line numbers give the hunks an order; else the one
 * where its line number says, or its line number moved as far as one of these neighbours was. If they name different places, or none,
 * nothing is chosen: how near a place is to a wrong number proves nothing. Nor is a place elsewhere proof while a looser copy stands
 * where the numbers say.
 */
export function settle(candidates: readonly Candidate[], { text, starts }: Target): Placing[] {
  const sure = candidates.flatMap((candidate) => {
    const { sides, found } = candidate;
    if (sides.hint === null || "reason" in found || found.length !== 1) return [];
    const { row } = found[0]!;
    return [{ candidate, row, drift: row - sides.hint }];
  });
  let passed = 0;
  return candidates.map((candidate): Placing => {
    const { sides, found } = candidate;
    const low = sure[passed - 1];
    if (candidate === sure[passed]?.candidate) passed++;
    const high = sure[passed];
    if ("reason" in found) return { sides, match: found };
    const { hint, old } = sides;
    const named = [0, low?.drift ?? 0, high?.drift ?? 0].map((drift) => hint! + drift);
    let left = found;
    if (hint !== null && left.length > 1 && !(low && high && low.row >= high.row))
      left = left.filter(({ row }) => row > (low?.row ?? -1) && row < (high?.row ?? text.length));
    if (hint !== null && left.length > 1) left = left.filter(({ row }) => named.includes(row));
    const [match] = left;
    const isNear = (row: number) => row in starts && fitsLoosely(old, text, starts[row]!);
    const isSure = left.length === 1 && (hint === null || named.includes(match!.row) || !named.some(isNear));
    const rows = found.map(({ row }) => row);
    return { sides, match: isSure ? match! : conflict(sides, "ambiguous", found[0]!.rung, rows) };
  });
}
