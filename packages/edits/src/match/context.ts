import { commonEnds } from "../same-ends.js";
import type { Change, Sides } from "../sides.js";
import type { Aligner, Alignment } from "./aligner.js";
import { isReworded } from "./comment.js";
import { looseLine } from "./normal.js";
import { indexBy, type LineIndex, type Target } from "./target.js";

/** A context line may differ or be missing if this many other non-blank lines match. */
const HOLDS = 3;
/** One line of so many that are not blank; one in any case. */
const EACH = 4;
/** Characters of a deleted line that stands only once, so that two lines hold. */
const LONG = 12;
/** How many more blank lines one side may have than the other. */
const BLANKS = 3;
/** The least part of a line that its next version must share. */
const ALIKE = 1 / 4;
/** The most starting points tried; a hunk whose rarest line is more common is refused as ambiguous. */
const STARTS = 400;

/**
 * Aligns a hunk whose context is not quite the text's. All deleted lines must be there, in a row as the hunk has them; of the
 * context one line may be written otherwise (`isAlike`) or missing, and blank lines may be dropped or added. Where lines are
 * inserted the neighbours must touch in the text, so that there is no doubt where the new lines go.
 */
export function alignContext(sides: Sides, target: Target, isAlike: IsAlike): Alignment[] | null {
  const index = indexBy(looseLine, target);
  const { effort } = target;
  const keys = sides.old.map(looseLine);
  const anchors = pickAnchors(keys, sides, index);
  const found = new Map<string, Alignment>();
  let starts = 0;
  for (const anchor of anchors) {
    for (const row of index.places.get(keys[anchor]!)!) {
      starts++;
      effort.left -= keys.length;
      if (starts > STARTS || effort.left < 0) return null;
      const rows = walk(keys, sides, index, anchor, row, isAlike);
      if (rows && isSettled(rows.rows, sides, false, index.keys)) found.set(rows.rows.join(), rows);
    }
  }
  return [...found.values()];
}

/** Whether a context line of a patch is a line of the text. */
type IsAlike = (patch: string, text: string, row: number) => boolean;

export const contextual: Aligner = {
  rung: "context",
  align: (sides, target) => alignContext(sides, target, (patch, text, row) => isReworded(patch, text, row, target)),
};

/** The rarest deleted line, which must be matched; or the two rarest of the context, one of which must be. */
function pickAnchors(keys: readonly string[], sides: Sides, index: LineIndex): number[] {
  const ranked: number[] = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] !== "") ranked.push(i);
  const commonness = (i: number) => index.places.get(keys[i]!)!.length;
  ranked.sort((a, b) => commonness(a) - commonness(b));
  const deleted = ranked.find((i) => sides.deleted[i]);
  if (deleted !== undefined) return [deleted];
  return ranked.slice(0, 2);
}

/** The differences between hunk and text so far. */
interface Spent {
  /** The blank old lines that the text does not have, and between which two old lines it has one more: a half behind the first. */
  readonly blanks: number[];
  lines: number;
}

function walk(
  keys: readonly string[],
  sides: Sides,
  index: LineIndex,
  anchor: number,
  row: number,
  isAlike: IsAlike,
): Alignment | null {
  const rows = new Array<number>(keys.length).fill(-1);
  const mistyped = new Set<number>();
  rows[anchor] = row;
  const spent: Spent = { blanks: [], lines: 0 };
  const left: number[] = [];
  const slips = Math.max(1, Math.floor(keys.filter((key) => key !== "").length / EACH));
  for (const step of [-1, 1]) {
    let i = anchor + step;
    let at = row + step;
    while (i >= 0 && i < keys.length) {
      const key = keys[i]!;
      const there = index.keys[at];
      if (key === there) rows[i] = at;
      else if (key === "" && there === undefined && !sides.deleted[i] && (i === 0 || i === keys.length - 1)) {
        // Outside of the text there is no line that it could stand for.
      } else if (key === "" && (!sides.deleted[i] || i === 0 || i === keys.length - 1)) {
        // Which of several blank lines is the one too many, and whether it is deleted, cannot be known.
        if (spent.blanks.push(i) > BLANKS || keys[i - 1] === "" || keys[i + 1] === "") return null;
        i += step;
        continue;
      } else if (there === "" && index.keys[at + step] !== undefined) {
        if (spent.blanks.push(i - step / 2) > BLANKS) return null;
        at += step;
        continue;
      } else if (there === undefined || ++spent.lines > slips) return null;
      else if (index.keys[at + step] === key && key !== "") {
        // Of two similar lines, it is unknown which one the hunk left out: the change may belong between them.
        if (there === index.keys[at - step]) return null;
        left.push(i - step / 2);
        at += step;
        continue;
      } else if (!sides.deleted[i] && isAlike(key, there, at)) {
        rows[i] = at;
        mistyped.add(i);
      } else return null;
      i += step;
      at += step;
    }
  }
  if (changesBlanks(rows, sides, keys, spent.blanks) || movesPast(sides, keys, [...left, ...spent.blanks])) return null;
  if (rows.filter((r, i) => r < 0 && sides.deleted[i]).length > 1) return null;
  const holds = rows.filter((r, i) => r >= 0 && keys[i] !== "" && !mistyped.has(i)).length;
  // A line that is deleted and stands nowhere else says more than context does, and so does one that is only misspelt.
  const isTelling =
    sides.deleted[anchor]! && keys[anchor]!.length >= LONG && index.places.get(keys[anchor]!)!.length === 1;
  const isOne = isTelling && spent.lines === 1;
  const needed = left.length === 0 ? (isOne ? 1 : 1 + mistyped.size) : isOne ? 2 : HOLDS * left.length + mistyped.size;
  const isSure = holds >= (spent.lines === 0 ? 1 : needed);
  return isSure ? { rows, mistyped } : null;
}

/** A line that is deleted and written again elsewhere, with one of these between: then what was moved past what cannot be known. */
function movesPast(sides: Sides, keys: readonly string[], between: readonly number[]): boolean {
  if (between.length === 0) return false;
  const gone = new Map(keys.flatMap((key, i) => (sides.deleted[i] && key !== "" ? [[key, i]] : [])));
  return sides.changes.some(({ from, to, insert }) =>
    insert.some((line) => {
      const at = gone.get(looseLine(line));
      if (at === undefined || (at >= from && at < to)) return false;
      return between.some((each) => each > Math.min(at, from) - 1 && each < Math.max(at, to) + 1);
    }),
  );
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
 * are replaced the text may have more, if the new line there resembles the one that it replaces, and none of these as much:
 * then it is no insertion, which might belong on their other side. `close`: the neighbours of deleted lines touch them as well.
 */
export function isSettled(rows: readonly number[], sides: Sides, close: boolean, lines: readonly string[]): boolean {
  return sides.changes.every((change) => {
    const { from, to, insert } = change;
    const gone = rows.slice(from, to).filter((row) => row >= 0);
    const isReplaced = insert.length > 0 && gone.length > 0;
    // Is a blank line that the text does not have what the new lines replace, or one too many? It cannot be known.
    if (insert.length > 0 && !isReplaced && isMissing(rows, from, to, rows.length)) return false;
    const [up, down] = slack(change, sides.old);
    const above = nearestKnown(rows, from - up - 1, -1);
    const below = nearestKnown(rows, to + down, 1);
    /** An old line at the edge of a change stays with the new line there, whatever stands between these rows. */
    const isHeld = (old: string, now: string, after = -1, before = -1) =>
      isReplaced && after >= 0 && before > after + 1 && isVersion(old, now, insert, lines.slice(after + 1, before));
    const first = isHeld(sides.old[from]!, insert[0]!, rows[above], gone[0]) ? from : above;
    const last = isHeld(sides.old[to - 1]!, insert.at(-1)!, gone.at(-1), rows[below]) ? to - 1 : below;
    // Which of several blank lines, beside deleted ones or among them, the hunk left out cannot be known.
    const isSolid = sides.old.slice(Math.max(0, from - 1), to + 1).every((line) => line.trim() !== "");
    // With lines left out on both sides of deleted ones, what stays between those two cannot be known.
    const isOpen = [from - 1, to - 1].every((i) => rows[i + 1]! - (rows[i] ?? rows[i + 1]!) > 1);
    const isDeleted = insert.length === 0 && up + down === 0 && !close && isSolid && !isOpen;
    const known = isDeleted ? gone : rows.slice(Math.max(first, 0), last + 1).filter((row) => row >= 0);
    return known.length > 0 ? known.at(-1)! - known[0]! < known.length : insert.length === 0;
  });
}

function nearestKnown(rows: readonly number[], from: number, step: 1 | -1): number {
  let at = from;
  while (rows[at]! < 0) at += step;
  return at;
}

/**
 * Whether a new line is the next version of an old one and has its place: no other new line is more like it, and none of
 * the text's lines is as much like the new one, nor begins with the same word: in a list that is sorted it may have moved.
 */
function isVersion(old: string, now: string, insert: readonly string[], others: readonly string[]): boolean {
  // Beside blank lines alone the words of the two say enough.
  const measure = others.every((line) => line.trim() === "") ? likenessInWords : likeness;
  const like = measure(old, now);
  const word = firstWord(now);
  return (
    like > ALIKE &&
    insert.every((line) => measure(old, line) <= like) &&
    others.every((line) => firstWord(line) !== word && measure(line, now) < like)
  );
}

/** The word that a line begins with, or the sign. */
function firstWord(line: string): string {
  return /^\s*([\p{L}\p{N}_$]+|.?)/u.exec(line)![1]!;
}

/** The similarity of two lines at their beginnings and ends: from 0 to 1. */
function likeness(old: string, now: string): number {
  const [a, b] = [looseLine(old), looseLine(now)];
  const { head, tail } = commonEnds(a, b);
  return (head + tail) / Math.max(a.length, b.length, 1);
}

/** The same, or how many of their words both have. */
function likenessInWords(old: string, now: string): number {
  const [own, other] = [old, now].map((line) => new Set(line.slice(0, 1000).match(/[\p{L}\p{N}_$]+/gu)));
  let shared = 0;
  for (const word of own!) if (other!.has(word)) shared++;
  return Math.max(likeness(old, now), shared / Math.max(own!.size + other!.size - shared, 1));
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
