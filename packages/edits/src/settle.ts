import type { Match } from "./ladder.js";
import type { Sides } from "./sides.js";

/** A hunk on its way to a place: all it could take, and the one it took. */
export interface Candidate {
  readonly sides: Sides;
  readonly found: readonly Match[];
  chosen: Match | null;
}

/**
 * Chooses among several places. The rule: the only place; else the only one between the places of the hunks before and
 * behind it, where line numbers give the hunks an order; else the one where its line number, or its line number moved as
 * far as its nearest settled neighbour was, says. If these two name different places, or neither names one, nothing is
 * chosen: how near a place is to a wrong number proves nothing.
 */
export function settle(candidates: readonly Candidate[], fitsLoosely: (sides: Sides, row: number) => boolean): void {
  for (const candidate of candidates) if (candidate.found.length === 1) candidate.chosen = candidate.found[0]!;
  const before = neighbours(candidates);
  const behind = neighbours([...candidates].reverse()).reverse();
  candidates.forEach((candidate, i) => {
    if (candidate.chosen !== null || candidate.sides.hint === null) return;
    const [low, high] = [before[i], behind[i]];
    const ordered = low == null || high == null || start(low) < start(high);
    const between = candidate.found.filter(
      (match) => !ordered || ((low == null || start(low) < match.row) && (high == null || match.row < start(high))),
    );
    if (between.length === 1) candidate.chosen = between[0]!;
    if (between.length < 2) return;
    const named = [0, drift(low), drift(high)].map((moved) =>
      moved === null ? undefined : between.find((match) => match.row === candidate.sides.hint! + moved),
    );
    const distinct = new Set(named.filter((match) => match !== undefined));
    if (distinct.size === 1) candidate.chosen = [...distinct][0]!;
  });
  candidates.forEach((candidate, i) => {
    const { chosen, sides } = candidate;
    if (chosen === null || sides.hint === null || sides.old.length === 0) return;
    // A better copy elsewhere is no proof while a looser one stands where the numbers say.
    const named = [0, drift(before[i]), drift(behind[i])].map((moved) => sides.hint! + (moved ?? 0));
    if (named.includes(chosen.row)) return;
    if (named.some((row) => fitsLoosely(sides, row))) candidate.chosen = null;
  });
}

/** For each hunk the nearest settled one before it in the patch. */
function neighbours(candidates: readonly Candidate[]): (Candidate | null)[] {
  let last: Candidate | null = null;
  return candidates.map((candidate) => {
    const previous = last;
    if (candidate.chosen !== null && candidate.sides.hint !== null) last = candidate;
    return previous;
  });
}

function start(candidate: Candidate): number {
  return candidate.chosen!.row;
}

/** How far a settled hunk stands from where its header says; null where there is none. */
function drift(candidate: Candidate | null | undefined): number | null {
  return candidate?.chosen && candidate.sides.hint !== null ? start(candidate) - candidate.sides.hint : null;
}
