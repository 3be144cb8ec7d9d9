import { isElision } from "../elision.js";
import type { Conflict, ConflictReason, Rung } from "../result.js";
import { type Sides, takeApart } from "../sides.js";
import { readAddress } from "./address.js";
import { type Candidate, conflict, findRows, inARow, readMatch, STEPS } from "./search.js";
import { indexBy, lastUpTo, looseLine, type Target } from "./target.js";

interface Piece {
  readonly sides: Sides;
  rows: readonly number[];
}

/**
 * Fills in the lines that a hunk without line numbers omits with dots in both its old and its new lines. Each piece
 * between the dots must have one place only, in order. At least one line must be omitted between pieces, and all omitted
 * lines must be in the block that the pieces are in. Null if a hunk has no dots, or if the text has such a line itself.
 */
export function fillDots(sides: Sides, target: Target): Candidate | Conflict | null {
  if (sides.hint !== null) return null;
  const { places } = indexBy(looseLine, target);
  const dots = sides.hunk.lines.filter(
    (line) => isElision(line.slice(1)) && !places.get(looseLine(line.slice(1)))?.length,
  );
  if (!dots.some((line) => line[0] !== "+")) return null;
  const refuse = (reason: ConflictReason, rows: readonly number[] = []) => conflict(sides, reason, "elided", rows);
  if (dots.some((line) => line[0] !== " ")) return refuse("not-found");
  const pieces = cut(sides, new Set(dots));
  if (pieces === null) return refuse("ambiguous");
  for (const [rung, text, patch] of STEPS) {
    for (const piece of pieces) {
      const { old, new: now, inserts } = piece.sides;
      const all = findRows(old, text, patch, target);
      const made = inserts ? findRows(now, text, patch, target) : [];
      if (all === null || made === null) return refuse("ambiguous");
      // What an applied piece leaves has its old lines in it, or beside it.
      const isMade = (row: number) => row < (made[lastUpTo(made, row + old.length - 1)] ?? -Infinity) + now.length;
      if (made.length > 0 && all.every(isMade)) return refuse("already-applied", made);
      piece.rows = all.filter((row) => !isMade(row));
    }
    if (pieces.some(({ rows }) => rows.length === 0)) continue;
    order(pieces);
    const open = pieces.find(({ rows }) => rows.length !== 1);
    if (open) return refuse(open.rows.length > 1 ? "ambiguous" : "not-found", open.rows);
    const filled = fill(sides, pieces, target);
    return filled ? place(filled, pieces[0]!.rows[0]!, rung, target) : refuse("not-found");
  }
  return refuse("not-found");
}

function place(sides: Sides, row: number, rung: Rung, target: Target): Candidate | Conflict {
  const rows = inARow(row, sides.old);
  const address = readAddress(sides, target);
  const match = readMatch(sides, row, rung, target);
  if (match === null || !address.inside(row, rows) || address.contradicted(row, rows))
    return conflict(sides, match ? "not-found" : "ambiguous", "elided", [row]);
  return { sides, found: [{ ...match, style: { ...match.style, repairs: [...match.style.repairs, "elided"] } }] };
}

/** The pieces; null if one has new lines alone, because its place is then unknown. */
function cut({ hunk }: Sides, dots: ReadonlySet<string>): Piece[] | null {
  const runs: string[][] = [[]];
  for (const line of hunk.lines) {
    if (dots.has(line)) runs.push([]);
    else runs.at(-1)!.push(line);
  }
  const pieces = runs
    .filter((lines) => lines.length > 0)
    .map((lines) => ({ sides: takeApart({ ...hunk, lines }), rows: [] }));
  return pieces.length === 0 || pieces.some(({ sides }) => sides.old.join("").trim() === "") ? null : pieces;
}

function order(pieces: readonly Piece[]): void {
  let least = 0;
  for (const piece of pieces) {
    piece.rows = piece.rows.filter((row) => row >= least);
    least = (piece.rows[0] ?? Infinity) + piece.sides.old.length + 1;
  }
  let most = Infinity;
  for (const piece of [...pieces].reverse()) {
    piece.rows = piece.rows.filter((row) => row + piece.sides.old.length < most);
    most = piece.rows.at(-1) ?? -1;
  }
}

function fill({ hunk }: Sides, pieces: readonly Piece[], { lines: text, effort }: Target): Sides | null {
  const lines: string[] = [];
  let end = -1;
  for (const { sides, rows } of pieces) {
    const row = rows[0]!;
    const gap = end < 0 ? [] : text.slice(end, row);
    effort.left -= gap.length;
    if (effort.left < 0 || (gap.length > 0 && !isInBlock(gap, text[end - 1]!, text[row]!))) return null;
    for (const line of gap) lines.push(` ${line}`);
    for (const line of sides.hunk.lines) lines.push(line);
    end = row + sides.old.length;
  }
  return takeApart({ ...hunk, lines });
}

function isInBlock(gap: readonly string[], above: string, below: string): boolean {
  const [outer, inner] = [indentOf(above), indentOf(below)];
  const least = inner > outer ? outer + 1 : inner;
  return gap.every((line) => line.trim() === "" || indentOf(line) >= least);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
