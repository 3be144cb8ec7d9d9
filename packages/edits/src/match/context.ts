import { commonEnds } from "../common.js";
import type { Change, Sides } from "../sides.js";
import type { Aligner, Alignment } from "./aligner.js";
import { looseLine } from "./normal.js";
import { indexBy, type LineIndex, type Target } from "./target.js";
import { isSlip, readWords } from "./typo.js";

/** A context line may be mistyped or missing if this many other lines that are not blank hold for it. */
const HOLDS = 3;
/** One line of so many that are not blank; one in any case. */
const EACH = 4;
/** Characters of a deleted line that stands only once, so that two lines hold. */
const LONG = 12;
/** Blank lines that one side may have more than the other. */
const BLANKS = 3;
/** Starting points that are tried; a hunk whose rarest line is more common than this is refused as ambiguous. */
const STARTS = 400;

/**
 * Aligns a hunk whose context is not quite the text's. All deleted lines must be there, in a row as the hunk has them; of the
 * context one line may be mistyped (see `isSlip`) or missing, and blank lines may be dropped or added. Where lines are
 * inserted the neighbours must touch in the text, so that there is no doubt where the new lines go.
 */
function alignContext(sides: Sides, target: Target): Alignment[] | null {
  const index = indexBy(looseLine, target);
  const { effort } = target;
  const keys = sides.old.map(looseLine);
  const anchors = pickAnchors(keys, sides, index);
  const found = new Map<string, Alignment>();
  let starts = 0;
  let own: ReadonlySet<string> | undefined;
  const isWord = (word: string) => {
    target.words ??= readWords(target.text);
    own ??= readWords(sides.changes.flatMap(({ insert }) => insert).join("\n"));
    return target.words.has(word) || own.has(word);
  };
  for (const anchor of anchors) {
    for (const row of index.places.get(keys[anchor]!) ?? []) {
      starts++;
      effort.left -= keys.length;
      if (starts > STARTS || effort.left < 0) return null;
      const rows = walk(keys, sides, index, anchor, row, isWord);
      if (rows && isSettled(rows.rows, sides, rows.blanks)) found.set(rows.rows.join(), rows);
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

/** What a hunk and the text differ in so far. */
interface Spent {
  /** The old lines behind which the text has a blank line more, and the blank ones that it does not have. */
  readonly blanks: number[];
  lines: number;
}

function walk(
  keys: readonly string[],
  sides: Sides,
  index: LineIndex,
  anchor: number,
  row: number,
  isWord: (word: string) => boolean,
): (Alignment & { readonly blanks: boolean }) | null {
  const rows = new Array<number>(keys.length).fill(-1);
  const mistyped = new Set<number>();
  rows[anchor] = row;
  const spent: Spent = { blanks: [], lines: 0 };
  let left = 0;
  const slips = Math.max(1, Math.floor(keys.filter((key) => key !== "").length / EACH));
  for (const step of [-1, 1]) {
    let i = anchor + step;
    let at = row + step;
    while (i >= 0 && i < keys.length) {
      const key = keys[i]!;
      const there = index.keys[at];
      if (key === there) rows[i] = at;
      else if (key === "" && (!sides.deleted[i] || i === 0 || i === keys.length - 1)) {
        // Which of several blank lines is the one too many, and whether it is deleted, cannot be known.
        if (spent.blanks.push(i) > BLANKS || keys[i - 1] === "" || keys[i + 1] === "") return null;
        i += step;
        continue;
      } else if (there === "" && index.keys[at + step] !== undefined) {
        if (spent.blanks.push(step < 0 ? i : i - 1) > BLANKS) return null;
        at += step;
        continue;
      } else if (there === undefined || ++spent.lines > slips) return null;
      else if (index.keys[at + step] === key && key !== "") {
        // Of two lines alike, which one the hunk left out cannot be known: the change may belong between them.
        if (there === index.keys[at - step]) return null;
        left++;
        at += step;
        continue;
      } else if (!sides.deleted[i] && isSlip(key, there, isWord)) {
        rows[i] = at;
        mistyped.add(i);
      } else return null;
      i += step;
      at += step;
    }
  }
  if (changesBlanks(rows, sides, keys, spent.blanks)) return null;
  if (rows.filter((r, i) => r < 0 && sides.deleted[i]).length > 1) return null;
  const holds = rows.filter((r, i) => r >= 0 && keys[i] !== "" && !mistyped.has(i)).length;
  // A line that is deleted and stands nowhere else says more than context does, and so does one that is only misspelt.
  const isTelling =
    sides.deleted[anchor]! && keys[anchor]!.length >= LONG && index.places.get(keys[anchor]!)!.length === 1;
  const needed = left === 0 ? 1 + mistyped.size : isTelling && spent.lines === 1 ? 2 : HOLDS * left + mistyped.size;
  const isSure = holds >= (spent.lines === 0 ? 1 : needed);
  return isSure ? { rows, mistyped, blanks: spent.blanks.length > 0 } : null;
}

/** A change beside a blank line too many or too few adds or deletes blank lines itself: then which of them is wrong cannot be told. */
function changesBlanks(
  rows: readonly number[],
  sides: Sides,
  keys: readonly string[],
  blanks: readonly number[],
): boolean {
  if (blanks.length === 0) return false;
  const isBlank = (line: string) => line.trim() === "";
  return sides.changes.some(({ from, to, insert }) => {
    const isGone = sides.old.slice(from, to).some((line, i) => isBlank(line) && rows[from + i]! >= 0);
    if (!isGone && !insert.some(isBlank)) return false;
    let low = from - 1;
    while (low > 0 && keys[low] === "") low--;
    let high = to;
    while (high < keys.length && keys[high] === "") high++;
    return blanks.some((at) => at >= low && at <= high);
  });
}

/**
 * Deleted lines of one change stand in a row, and where lines are only inserted their neighbours touch. Beside lines that
 * are replaced the text may have one more, if the new line there resembles the one that it replaces: then it is no
 * insertion, which might belong on the other side of that line.
 */
export function isSettled(rows: readonly number[], sides: Sides, blanks: boolean): boolean {
  return sides.changes.every((change) => {
    const { from, to, insert } = change;
    const gone = rows.slice(from, to).filter((row) => row >= 0);
    const isReplaced = insert.length > 0 && gone.length > 0;
    // Is a blank line that the text does not have what the new lines replace, or one too many? It cannot be known.
    if (insert.length > 0 && !isReplaced && isMissing(rows, from, to, rows.length)) return false;
    const [up, down] = slack(change, sides.old);
    const above = isReplaced && isLike(sides.old[from]!, insert[0]!) ? from : nearestKnown(rows, from - up - 1, -1);
    const below = isReplaced && isLike(sides.old[to - 1]!, insert.at(-1)!) ? to - 1 : nearestKnown(rows, to + down, 1);
    // Which of several blank lines, beside deleted ones or among them, the hunk left out cannot be known.
    const isSolid = sides.old.slice(Math.max(0, from - 1), to + 1).every((line) => line.trim() !== "");
    const isDeleted = insert.length === 0 && up + down === 0 && !blanks && isSolid;
    const known = isDeleted ? gone : rows.slice(Math.max(above, 0), below + 1).filter((row) => row >= 0);
    return known.length > 0 ? known.at(-1)! - known[0]! < known.length : insert.length === 0;
  });
}

function nearestKnown(rows: readonly number[], from: number, step: 1 | -1): number {
  let at = from;
  while (at > 0 && rows[at]! < 0) at += step;
  return at;
}

/** More than half of both lines is the same, at their beginnings and ends. */
function isLike(old: string, now: string): boolean {
  const [a, b] = [looseLine(old), looseLine(now)];
  const { head, tail } = commonEnds(a, b);
  return 2 * (head + tail) > Math.max(a.length, b.length);
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

/** A missing line of context touches the insertion, except one at the hunk's edge with the change inside. */
function isMissing(rows: readonly number[], from: number, to: number, end: number): boolean {
  const before = from > 1 && rows[from - 1] === -1;
  const behind = to < end - 1 && rows[to] === -1;
  const outside = (from === 0 && to === 0 && rows[0] === -1) || (to === end && from === end && rows[end - 1] === -1);
  return before || behind || outside;
}
