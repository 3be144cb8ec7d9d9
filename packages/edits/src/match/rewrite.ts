import { endingAt, type Splice, spliceText, withoutReturn } from "../lines.js";
import { type AppliedHunk, type ApplyResult, type Conflict, type Rung, rungs } from "../result.js";
import type { Change, Sides } from "../sides.js";
import { isBesideGap } from "./context.js";
import { conflict, type Match, type Placed } from "./search.js";
import type { Target } from "./target.js";

interface Writing extends Splice {
  readonly placed: Placed;
}

/** Writes every hunk, or returns all conflicts. The text's context lines are never written. `given` was repaired for all hunks alike. */
export function rewrite(placings: readonly (Placed | Conflict)[], target: Target, given: readonly Rung[]): ApplyResult {
  const conflicts: Conflict[] = [];
  const all: Placed[] = [];
  const writings: Writing[] = [];
  const hunks: AppliedHunk[] = [];
  let furthest = 0;
  for (const placed of placings) {
    const splices = "reason" in placed ? null : writeHunk(placed, target);
    if ("reason" in placed || splices === null) {
      conflicts.push(
        "reason" in placed ? placed : conflict(placed.sides, "ambiguous", placed.match.rung, [placed.match.row]),
      );
      continue;
    }
    const { sides, match } = placed;
    const { row, rung, style } = match;
    const { hunk, hint } = sides;
    const offset = hint === null ? 0 : row - hint;
    const repairs = new Set([...given, ...style.repairs]);
    if (rung === "context" || rung === "misspelt") repairs.add(rung);
    if (offset !== 0) repairs.add("place");
    // Blocks without line numbers have no order to be out of.
    if (hint !== null && row < furthest) repairs.add("order");
    if (splices.some(({ to }) => to === target.text.length) && !knowsEnd(sides, target)) repairs.add("final-newline");
    furthest = Math.max(furthest, row);
    hunks.push({ id: hunk.id, at: row + 1, offset, repairs: rungs.filter((each) => repairs.has(each)) });
    all.push(placed);
    for (const splice of splices) writings.push({ ...splice, placed });
  }
  writings.sort((a, b) => a.from - b.from || a.to - b.to);
  conflicts.push(...findOverlaps(all, writings, target.text.length));
  return conflicts.length > 0 ? { ok: false, conflicts } : { ok: true, text: spliceText(target.text, writings), hunks };
}

function writeHunk({ sides, match }: Placed, target: Target): Splice[] | null {
  const { starts, text, newlineAtEnd } = target;
  // A diff with line numbers says how its lines end. Any other text was typed.
  const isAsTyped = match.rung === "exact" && sides.hint !== null;
  const splices: Splice[] = [];
  for (const change of sides.changes) {
    const deleted = match.rows.slice(change.from, change.to).filter((each) => each >= 0);
    const first = deleted[0] ?? findInsertion(change, match);
    const [from, to] = [starts[first]!, starts[deleted.length > 0 ? deleted.at(-1)! + 1 : first]!];
    if (from === to && change.insert.length === 0) continue;
    const written = writeLines(change, sides, match, target, isAsTyped, (i) => deleted[i] ?? first);
    if (written === null) return null;
    // A line feed is at the end of the text only where it belongs.
    const newline = to < text.length || (knowsEnd(sides, target) ? !sides.hunk.newNoNewline : newlineAtEnd);
    if (!newline) written.pop();
    // Behind a last line without line feed the feed comes first.
    const feed = isAsTyped ? "\n" : endingAt(text, from);
    const isGlued = from === text.length && !newlineAtEnd;
    splices.push({ from, to, insert: (isGlued ? feed : "") + written.join("") });
  }
  return splices;
}

function findInsertion(change: Change, { row, rows }: Match): number {
  let before = change.from - 1;
  while (rows[before] === -1) before--;
  let behind = change.to;
  while (rows[behind] === -1) behind++;
  // The text's blank lines stay before new ones that end with one, and behind those that begin with one.
  const isBehindGap = isBesideGap(change, rows) && change.insert.at(-1)!.trim() === "";
  return before >= 0 && !isBehindGap ? rows[before]! + 1 : (rows[behind] ?? row);
}

function writeLines(
  { from, to, insert }: Change,
  sides: Sides,
  { rows, rung, style }: Match,
  { text, lines, starts }: Target,
  isAsTyped: boolean,
  rowBeside: (i: number) => number,
): string[] | null {
  let next = rung === "exact" ? to : from;
  const written: string[] = [];
  for (const [i, line] of insert.entries()) {
    // A deleted line that is added again keeps the text's bytes: one of the next hundred, so that the time stays linear.
    const again = sides.old.slice(next, Math.min(to, next + 100)).indexOf(line);
    const kept = again < 0 ? -1 : rows[next + again]!;
    if (kept >= 0) next += again + 1;
    // Where the style cannot be known, its white space may be what was to change.
    const styled = style.write(line);
    if (styled === null) return null;
    const body = isAsTyped && kept < 0 ? styled : withoutReturn(kept < 0 ? styled : lines[kept]!);
    written.push(body, isAsTyped ? "\n" : endingAt(text, starts[kept < 0 ? rowBeside(i) : kept]!));
  }
  return written;
}

function knowsEnd({ hunk }: Sides, { newlineAtEnd }: Target): boolean {
  return newlineAtEnd !== (hunk.oldNoNewline === true);
}

function findOverlaps(all: readonly Placed[], writings: readonly Writing[], end: number): Conflict[] {
  const deletions = new Map<number, number>();
  for (const { sides, match } of all)
    for (const [i, row] of match.rows.entries())
      if (sides.deleted[i] && row >= 0) deletions.set(row, (deletions.get(row) ?? 0) + 1);
  const isDeletedByAnother = ({ sides, match }: Placed) =>
    match.rows.some((row, i) => deletions.get(row)! > Number(sides.deleted[i]));
  const overlapping = new Set(all.filter(isDeletedByAnother));
  writings.forEach(({ from, insert, placed }, i) => {
    const last = writings[i - 1];
    const isTwice = last?.from === from && last.insert !== "" && insert !== "" && placed.sides.old.length > 0;
    const isBehindEnd =
      from === end && last?.to === end && last.placed !== placed && last.placed.sides.hunk.newNoNewline;
    if (isTwice || isBehindEnd || (last && from < last.to)) overlapping.add(placed);
  });
  return [...overlapping].map(({ sides, match }) => conflict(sides, "overlap", match.rung, [match.row]));
}
