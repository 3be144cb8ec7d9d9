import type { Change, Sides } from "../sides.js";
import type { Aligner, Alignment } from "./aligner.js";
import { looseLine } from "./normal.js";
import { indexBy, type LineIndex, type Target } from "./target.js";

/** Places where one context line may be mistyped or missing, if this many other lines that are not blank hold. */
const HOLDS = 3;
/** Blank lines that one side may have more than the other. */
const BLANKS = 3;
/** Starting points that are tried; a hunk whose rarest line is more common than this is refused as ambiguous. */
const STARTS = 400;

/**
 * Aligns a hunk whose context is not quite the text's. All deleted lines must be there, in a row as the hunk has them; of the
 * context one line may be mistyped (by a letter or two, not in a digit) or missing, and blank lines may be dropped or added. Where lines are
 * inserted the neighbours must touch in the text, so that there is no doubt where the new lines go.
 */
function alignContext(sides: Sides, target: Target): Alignment[] | null {
  const index = indexBy(looseLine, target);
  const { effort } = target;
  const keys = sides.old.map(looseLine);
  const anchors = pickAnchors(keys, sides, index);
  const found = new Map<string, Alignment>();
  let starts = 0;
  for (const anchor of anchors) {
    for (const row of index.places.get(keys[anchor]!) ?? []) {
      starts++;
      effort.left -= keys.length;
      if (starts > STARTS || effort.left < 0) return null;
      const rows = walk(keys, sides, index, anchor, row);
      if (rows && isSettled(rows.rows, sides)) found.set(rows.rows.join(), rows);
    }
  }
  return [...found.values()];
}

export const contextual: Aligner = { rung: "context", align: alignContext };

/** The rarest deleted line, which must be matched; or the two rarest of the context, one of which must be. */
function pickAnchors(keys: readonly string[], sides: Sides, index: LineIndex): number[] {
  const ranked = keys.map((_, i) => i).filter((i) => keys[i] !== "");
  const commonness = (i: number) => index.places.get(keys[i]!)?.length ?? 0;
  ranked.sort((a, b) => commonness(a) - commonness(b));
  const deleted = ranked.find((i) => sides.deleted[i]);
  if (deleted !== undefined) return [deleted];
  return ranked.slice(0, 2);
}

interface Spent {
  blanks: number;
  lines: number;
}

function walk(keys: readonly string[], sides: Sides, index: LineIndex, anchor: number, row: number): Alignment | null {
  const rows = new Array<number>(keys.length).fill(-1);
  const mistyped = new Set<number>();
  rows[anchor] = row;
  const spent: Spent = { blanks: 0, lines: 0 };
  for (const step of [-1, 1]) {
    let i = anchor + step;
    let at = row + step;
    while (i >= 0 && i < keys.length) {
      const key = keys[i]!;
      const there = index.keys[at];
      if (key === there) rows[i] = at;
      else if (key === "" && (!sides.deleted[i] || i === 0 || i === keys.length - 1)) {
        // Which of several blank lines is the one too many, and whether it is deleted, cannot be known.
        if (++spent.blanks > BLANKS || keys[i - 1] === "" || keys[i + 1] === "") return null;
        i += step;
        continue;
      } else if (there === "" && index.keys[at + step] !== undefined) {
        if (++spent.blanks > BLANKS) return null;
        at += step;
        continue;
      } else if (there === undefined || ++spent.lines > 1) return null;
      else if (index.keys[at + step] === key && key !== "") {
        // Of two lines alike, which one the hunk left out cannot be known: the change may belong between them.
        if (there === index.keys[at - step]) return null;
        at += step;
        continue;
      } else if (!sides.deleted[i] && isTypo(key, there)) {
        rows[i] = at;
        mistyped.add(i);
      } else return null;
      i += step;
      at += step;
    }
  }
  if (spent.blanks > 0 && changesBlanks(rows, sides)) return null;
  if (rows.filter((r, i) => r < 0 && sides.deleted[i]).length > 1) return null;
  const holds = rows.filter((r, i) => r >= 0 && keys[i] !== "" && !mistyped.has(i)).length;
  return holds >= (spent.lines > 0 ? HOLDS : 1) ? { rows, mistyped } : null;
}

/** The hunk itself adds or deletes blank lines: then which of them it got wrong cannot be told. */
function changesBlanks(rows: readonly number[], sides: Sides): boolean {
  const isBlank = (line: string) => line.trim() === "";
  return sides.changes.some(
    ({ from, to, insert }) =>
      insert.some(isBlank) || sides.old.slice(from, to).some((line, i) => isBlank(line) && rows[from + i]! >= 0),
  );
}

/** Deleted lines of one change stand in a row, and where lines are inserted their neighbours touch. */
export function isSettled(rows: readonly number[], sides: Sides): boolean {
  const end = rows.length;
  return sides.changes.every((change) => {
    const { from, to, insert } = change;
    // Is a blank line that the text does not have what the new lines replace, or one too many? It cannot be known.
    if (insert.length > 0 && isMissing(rows, from, to, end)) return false;
    const [up, down] = slack(change, sides.old);
    let low = from - up - 1;
    while (low > 0 && rows[low]! < 0) low--;
    let high = to + down;
    while (rows[high]! < 0) high++;
    const known = rows.slice(Math.max(low, 0), high + 1).filter((row) => row >= 0);
    return known.length > 0 ? known.at(-1)! - known[0]! < known.length : insert.length === 0;
  });
}

/** How far a change of one kind could as well stand before or behind where it stands: its lines repeat those around it. */
function slack({ from, to, insert }: Change, old: readonly string[]): [up: number, down: number] {
  if (insert.length > 0 && to > from) return [0, 0];
  const lines = insert.length > 0 ? insert : old.slice(from, to);
  const count = lines.length;
  let up = 0;
  while (up < from && old[from - 1 - up] === lines[count - 1 - (up % count)]) up++;
  let down = 0;
  while (to + down < old.length && old[to + down] === lines[down % count]) down++;
  return [up, down];
}

/** A missing line touches the change, except one at the hunk's edge with the change inside. */
function isMissing(rows: readonly number[], from: number, to: number, end: number): boolean {
  const inside = to - from === 1 && rows[from] === -1;
  const before = from > 1 && rows[from - 1] === -1;
  const behind = to < end - 1 && rows[to] === -1;
  const outside = (from === 0 && to === 0 && rows[0] === -1) || (to === end && from === end && rows[end - 1] === -1);
  return inside || before || behind || outside;
}

/** One letter or two wrong, missing, added or swapped; a digit is never a slip, and a short line is another line. */
export function isTypo(a: string, b: string): boolean {
  if (a.length < 8 || b.length < 8 || Math.abs(a.length - b.length) > 2) return false;
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  return left.length <= 2 && right.length <= 2 && !/\d/.test(left + right);
}
