import { looseLine } from "./normal.js";
import type { Sides } from "./sides.js";
import type { LineIndex } from "./target.js";

/** Places where one context line may be mistyped or missing, if this many other lines that are not blank hold. */
const HOLDS = 3;
/** Blank lines that one side may have more than the other. */
const BLANKS = 3;
/** Starting points that are tried; a hunk whose rarest line is more common than this is refused as ambiguous. */
const STARTS = 400;

/** For each old line the text's line, -1 for a blank one the text does not have, and for a mistyped one its line as well. */
export interface Alignment {
  readonly rows: readonly number[];
  readonly mistyped: ReadonlySet<number>;
}

/**
 * Aligns a hunk whose context is not quite the text's. All deleted lines must be there, in a row as the hunk has them; of the
 * context one line may be mistyped (by a letter or two, not in a digit) or missing, and blank lines may be dropped or added. Where lines are
 * inserted the neighbours must touch in the text, so that there is no doubt where the new lines go. Null: too many places to try.
 */
export function alignContext(sides: Sides, index: LineIndex, effort: { left: number }): Alignment[] | null {
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
        if (++spent.blanks > BLANKS) return null;
        i += step;
        continue;
      } else if (there === "" && index.keys[at + step] !== undefined) {
        if (++spent.blanks > BLANKS) return null;
        at += step;
        continue;
      } else if (there === undefined || ++spent.lines > 1) return null;
      else if (index.keys[at + step] === key && key !== "") {
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
  const holds = rows.filter((r, i) => r >= 0 && keys[i] !== "" && !mistyped.has(i)).length;
  return holds >= (spent.lines > 0 ? HOLDS : 1) ? { rows, mistyped } : null;
}

/** Deleted lines of one change stand in a row, and where lines are inserted their neighbours touch. */
function isSettled(rows: readonly number[], sides: Sides): boolean {
  return sides.changes.every(({ from, to, insert }) => {
    const inserts = insert.length > 0;
    let last = inserts ? rows.slice(0, from).findLast((row) => row >= 0) : undefined;
    const behind = inserts ? rows.slice(to).find((row) => row >= 0) : undefined;
    for (const row of [...rows.slice(from, to).filter((row) => row >= 0), ...(behind === undefined ? [] : [behind])]) {
      if (last !== undefined && row !== last + 1) return false;
      last = row;
    }
    return last !== undefined;
  });
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
