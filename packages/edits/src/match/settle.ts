import type { Conflict } from "../result.js";
import type { Sides } from "../sides.js";
import { type Candidate, conflict, type Match, type Placed } from "./search.js";
import { looseLine, type Target } from "./target.js";

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
export function settle(candidates: readonly (Candidate | Conflict)[], target: Target): (Placed | Conflict)[] {
  const sure = candidates.flatMap((candidate): Sure[] => {
    if ("reason" in candidate || candidate.sides.hint === null || candidate.found.length !== 1) return [];
    const { row } = candidate.found[0]!;
    return [{ candidate, row, drift: row - candidate.sides.hint }];
  });
  const inOrder = orderRows(candidates);
  let passed = 0;
  return candidates.map((candidate) => {
    if ("reason" in candidate) return candidate;
    const { sides, found, total = 0 } = candidate;
    const low = sure[passed - 1];
    if (candidate === sure[passed]?.candidate) passed++;
    const high = sure[passed];
    let match: Match | Conflict | null | undefined;
    if (sides.hint !== null) match = chooseByNumber(candidate, low, high, target);
    else if (total <= found.length) {
      const left = found.length === 1 ? found : found.filter(({ row }) => inOrder.get(candidate)?.has(row));
      match = left.length === 1 ? left[0] : null;
    }
    if (match) return "reason" in match ? match : { sides, match };
    const rows = found.map(({ row }) => row);
    return conflict(sides, "ambiguous", found[0]!.rung, rows, candidate.total);
  });
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
  if (match === undefined || left.length > 1) return null;
  if (named.includes(match.row)) return match;
  const applied = findApplied(sides, drifts, target);
  if (applied !== null) return conflict(sides, "already-applied", match.rung, [applied]);
  return named.some((row) => isNear(sides, target, row, match.row)) ? null : match;
}

/** Places that a hunk's numbers name, each moved by how far its neighbours were. */
export function namedRows({ hint, hunk }: Sides, drifts: readonly number[]): { old: number[]; new: number[] } {
  const after = hunk.newStart === null ? hint! : Math.max(0, hunk.newStart - 1);
  return { old: drifts.map((drift) => hint! + drift), new: drifts.flatMap((drift) => [hint! + drift, after + drift]) };
}

/** The row at which new lines are where the hunk says and old ones are not: it has been applied. Null where it is not certain. */
export function findApplied(sides: Sides, drifts: readonly number[], target: Target): number | null {
  if (sides.hint === null || !isTelling(sides)) return null;
  const named = namedRows(sides, drifts);
  const row = named.new.find((each) => stands(sides.new, each, target));
  return row === undefined || named.old.some((each) => stands(sides.old, each, target)) ? null : row;
}

function isTelling({ changes, leading, trailing, old }: Sides): boolean {
  if (old.length === 0) return false;
  const isSolid = (line: string) => line.trim() !== "";
  if (changes.some(({ insert }) => insert.some(isSolid))) return true;
  return old.slice(0, leading).some(isSolid) && old.slice(old.length - trailing).some(isSolid) && trailing > 0;
}

function stands(lines: readonly string[], row: number, { lines: text, effort }: Target): boolean {
  if (!(row in text) || row + lines.length > text.length) return false;
  return lines.every((line, i) => --effort.left >= 0 && line.trimEnd() === text[row + i]!.trimEnd());
}

function orderRows(candidates: readonly (Candidate | Conflict)[]): ReadonlyMap<Candidate, ReadonlySet<number>> {
  const ordered = candidates.filter(
    (candidate): candidate is Candidate =>
      !("reason" in candidate) &&
      candidate.sides.hunk.anchors !== undefined &&
      candidate.sides.hint === null &&
      (candidate.total ?? 0) <= candidate.found.length,
  );
  // Places are found from the text's start to its end.
  const rows = ordered.map(({ found }) => found.map(({ row }) => row));
  // The next hunk may begin with context of this one, but not with a line that this one changes.
  const reach = ordered.map(({ sides: { old, trailing } }) => Math.max(1, old.length - trailing));
  // From the front: which rows are behind some row of the hunk before. From the back: which of these are before some row of the next.
  for (let i = 1; i < rows.length; i++)
    rows[i] = rows[i]!.filter((row) => row >= (rows[i - 1]![0] ?? Infinity) + reach[i - 1]!);
  for (let i = rows.length - 2; i >= 0; i--)
    rows[i] = rows[i]!.filter((row) => row + reach[i]! <= (rows[i + 1]!.at(-1) ?? -1));
  return new Map(ordered.map((candidate, i) => [candidate, new Set(rows[i])]));
}

/**
 * Whether a hunk that fits at one row may belong at another, which its numbers name, since only the context there is stale: all
 * deleted lines are there up to white space, and of all lines all but one are, or more than half. So may a place further away than
 * the hunk is long where all lines are around one line more or one context line less.
 */
export function isNear(
  { old, deleted }: Sides,
  { text, starts }: Pick<Target, "text" | "starts">,
  row: number,
  found: number,
): boolean {
  const fits = (i: number, shift = 0) => {
    const at = row + i + shift;
    return at + 1 in starts && looseLine(old[i]!) === looseLine(text.slice(starts[at], starts[at + 1]));
  };
  const stale = old.flatMap((_, i) => (fits(i) ? [] : i));
  const [first] = stale;
  if (first === undefined || row < 0) return row >= 0;
  const held = old.filter((line, i) => line.trim() !== "" && fits(i)).length;
  if (!stale.some((i) => deleted[i]) && held > (stale.length > 1 ? stale.length : 0)) return true;
  const standsBehind = (from: number, shift: number) => old.every((_, i) => i < from || fits(i, shift));
  const isApart = old.length > 1 && Math.abs(row - found) > old.length;
  return isApart && (standsBehind(first, 1) || (!deleted[first] && standsBehind(first + 1, -1)));
}
