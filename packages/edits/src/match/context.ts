import { commonEnds } from "../lines.js";
import type { Change, Sides } from "../sides.js";
import { hasSlip } from "./slip.js";
import { indexBy, type LineIndex, looseLine, type Target } from "./target.js";

/** "no": the place fits only without a context line that is a wholly different one there. It is written only where it is "yes". */
export type Verdict = "yes" | "no" | "unclear";

/** For each old line its row in the text, -1 for a blank line that the text does not have. */
export interface Alignment {
  readonly rows: readonly number[];
  /** Indexes of old lines whose row has another line. */
  readonly other: ReadonlySet<number>;
  readonly verdict: Verdict;
}

/** A context line may differ or be missing if this many other non-blank lines match. */
const MIN_HELD = 3;
/** One line of so many that are not blank; one in any case. */
const MIN_LINES_OF_ONE_SLIP = 4;
/** Characters of a deleted line that stands only once, so that two lines hold. */
const MIN_TELLING_LENGTH = 12;
/** How many more blank lines one side may have than the other. */
const MAX_BLANKS = 3;
const MIN_LIKENESS = 1 / 4;
/** The most starting points tried; a hunk whose rarest line is more common is refused as ambiguous. */
const MAX_STARTS = 400;

interface Sought {
  readonly sides: Sides;
  readonly keys: readonly string[];
  readonly target: Target;
  readonly index: LineIndex;
  readonly allowsSlips: boolean;
  /** Whether only blank lines are from this one to an edge of the hunk: models add such lines by habit. */
  readonly isBlankEdge: (at: number) => boolean;
}

/**
 * Every place of a hunk whose context is not quite the text's, also those that cannot be written: they compete. All deleted
 * lines must be there. Of the context one line in four may be left out by the hunk or have a slip, and blank lines may be
 * dropped or added. Null if too many places could fit.
 */
export function alignContext(sides: Sides, target: Target, allowsSlips: boolean): Alignment[] | null {
  const index = indexBy(looseLine, target);
  const keys = sides.old.map(looseLine);
  const [first, last] = [keys.findIndex((key) => key !== ""), keys.findLastIndex((key) => key !== "")];
  const isBlankEdge = (at: number) => at < first || at > last;
  const sought: Sought = { sides, keys, target, index, allowsSlips, isBlankEdge };
  const commonness = (i: number) => index.places.get(keys[i]!)!.length;
  const ranked = [...keys.keys()].filter((i) => keys[i] !== "").sort((a, b) => commonness(a) - commonness(b));
  // The rarest deleted line must be matched; or one of the two rarest of the context.
  const deleted = ranked.find((i) => sides.deleted[i]);
  const found = new Map<string, Alignment>();
  let starts = 0;
  for (const anchor of deleted === undefined ? ranked.slice(0, 2) : [deleted]) {
    for (const row of index.places.get(keys[anchor]!)!) {
      target.effort.left -= keys.length;
      if (++starts > MAX_STARTS || target.effort.left < 0) return null;
      const walk = walkFrom(anchor, row, sought);
      if (walk) found.set(walk.rows.join(), { ...walk, verdict: judge(walk, sought) });
    }
  }
  const all = [...found.values()];
  // With a slip the place must be the only one also without that line.
  const isSlip = all.some(({ other, verdict }) => other.size > 0 && verdict !== "no");
  return isSlip ? all : all.filter(({ verdict }) => verdict !== "no");
}

/** An alignment and the differences found on the way. A half in a list is a gap behind that old line. */
interface Walk {
  readonly anchor: number;
  readonly rows: number[];
  readonly other: Set<number>;
  /** Blank lines that only one side has. */
  readonly blanks: number[];
  /** Lines of the text that the hunk leaves out. */
  readonly left: number[];
  isForeign: boolean;
  isUnclear: boolean;
}

function walkFrom(anchor: number, row: number, sought: Sought): Walk | null {
  const { sides, keys, target, index, allowsSlips } = sought;
  const rows = new Array<number>(keys.length).fill(-1);
  rows[anchor] = row;
  const walk: Walk = { anchor, rows, other: new Set(), blanks: [], left: [], isForeign: false, isUnclear: false };
  let slips = Math.max(1, Math.floor(keys.filter((key) => key !== "").length / MIN_LINES_OF_ONE_SLIP));
  const lines = index.keys;
  for (const step of [-1, 1]) {
    let [i, at] = [anchor + step, row + step];
    while (i >= 0 && i < keys.length) {
      const there = lines[at];
      const next = lines[at + step];
      const blank = passBlank(walk, i, there, next, step, sought);
      if (blank === "too many") return null;
      let [passesOld, passesLine] = [blank !== "in the text", blank !== "in the hunk"];
      if (keys[i] === there) rows[i] = at;
      else if (blank === "none") {
        if (there === undefined || slips-- === 0) return null;
        if (next === keys[i] && keys[i] !== "") {
          // Of two similar lines, it is unknown which one the hunk left out: the change may belong between them.
          walk.isUnclear ||= there === lines[at - step];
          walk.left.push(i - step / 2);
          passesOld = false;
        } else if (!sides.deleted[i] && allowsSlips) {
          walk.isForeign ||= !hasSlip(sides.old[i]!, target.lines[at]!, target);
          rows[i] = at;
          walk.other.add(i);
        } else return null;
      }
      if (passesOld) i += step;
      if (passesLine) at += step;
    }
  }
  return walk;
}

function passBlank(
  { blanks }: Walk,
  i: number,
  there: string | undefined,
  next: string | undefined,
  step: number,
  { keys, sides: { deleted }, isBlankEdge }: Sought,
): "outside" | "in the hunk" | "in the text" | "too many" | "none" {
  const key = keys[i]!;
  if (key === there) return "none";
  // Outside of the text there is no line that it could be.
  if (there === undefined && !deleted[i] && isBlankEdge(i)) return "outside";
  const isInHunk = isBlankEdge(i) || (key === "" && !deleted[i]);
  if (!isInHunk && !(there === "" && next !== undefined)) return "none";
  if (blanks.push(isInHunk ? i : i - step / 2) > MAX_BLANKS) return "too many";
  return isInHunk ? "in the hunk" : "in the text";
}

function judge(walk: Walk, sought: Sought): Verdict {
  const { sides, keys, index, isBlankEdge } = sought;
  const { rows, left, blanks } = walk;
  if (walk.isForeign) return "no";
  // Several blank lines to delete that the text lacks are habit only at the edges of a hunk without a number.
  const missing = rows.flatMap((row, i) => (row < 0 && sides.deleted[i] ? [i] : []));
  const missesDeleted = missing.length > 1 && (sides.hint !== null || missing.some((i) => !isBlankEdge(i)));
  const isUnclear =
    walk.isUnclear ||
    changesBlanks(walk, sought) ||
    movesPast(sides, keys, [...left, ...blanks]) ||
    missesDeleted ||
    !isHeld(walk, sought) ||
    !isSettled(rows, sides, index.keys);
  return isUnclear ? "unclear" : "yes";
}

function isHeld({ rows, other, left, anchor }: Walk, { keys, sides, index }: Sought): boolean {
  const holds = rows.filter((row, i) => row >= 0 && keys[i] !== "" && !other.has(i)).length;
  if (left.length + other.size === 0) return holds > 0;
  const isTelling =
    left.length + other.size === 1 &&
    sides.deleted[anchor]! &&
    keys[anchor]!.length >= MIN_TELLING_LENGTH &&
    index.places.get(keys[anchor]!)!.length === 1;
  if (left.length === 0) return holds >= (isTelling ? 1 : 1 + other.size);
  return holds >= (isTelling ? 2 : MIN_HELD * left.length + other.size);
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

/** Whether a blank line that only one side has touches a change of blank lines, or others like it: which is meant cannot be told. */
function changesBlanks({ rows, blanks }: Walk, { sides, keys, isBlankEdge }: Sought): boolean {
  const isBlank = (line: string) => line.trim() === "";
  return sides.changes.some((change) => {
    const { from, to, insert } = change;
    let low = from - 1;
    while (low > 0 && keys[low] === "") low--;
    let high = to;
    while (high < keys.length && keys[high] === "") high++;
    const near = blanks.filter((at) => at >= low && at <= high);
    if (near.length === 0) return false;
    const isOneOfMany = (at: number) => keys[at] === "" && (keys[at - 1] === "" || keys[at + 1] === "");
    if (near.some((at) => isOneOfMany(at) && !isBlankEdge(at))) return true;
    const isGone = sides.old.slice(from, to).some((line, i) => isBlank(line) && rows[from + i]! >= 0);
    return isGone || (insert.some(isBlank) && !isBesideGap(change, rows));
  });
}

/** Whether an insertion with one blank edge goes where the hunk left out the text's blank lines, which stay on its other side. */
export function isBesideGap({ from, to, insert }: Change, rows: readonly number[]): boolean {
  const isBlank = (line: string | undefined) => line?.trim() === "";
  const isGap = from === to && rows[from - 1]! >= 0 && rows[from]! > rows[from - 1]! + 1;
  return isGap && isBlank(insert[0]) !== isBlank(insert.at(-1));
}

/**
 * Deleted lines of one change stand in a row, and where lines are only inserted their neighbours touch. Beside lines that
 * are replaced the text may have more, if the new line there resembles the one that it replaces, and none of these as much:
 * then it is no insertion, which might belong on their other side.
 */
function isSettled(rows: readonly number[], sides: Sides, lines: readonly string[]): boolean {
  const nearest = (from: number, step: 1 | -1) => {
    let at = from;
    while (rows[at]! < 0) at += step;
    return at;
  };
  return sides.changes.every((change) => {
    const { from, to, insert } = change;
    const gone = rows.slice(from, to).filter((row) => row >= 0);
    const isReplaced = insert.length > 0 && gone.length > 0;
    // Is a blank line that the text does not have what the new lines replace, or one too many? It cannot be known.
    if (insert.length > 0 && !isReplaced && isMissing(rows, from, to)) return false;
    if (isBesideGap(change, rows)) return lines.slice(rows[from - 1]! + 1, rows[from]).every((line) => line === "");
    const [up, down] = slack(change, sides.old);
    const above = nearest(from - up - 1, -1);
    const below = nearest(to + down, 1);
    const staysWith = (old: string, now: string, after = -1, before = -1) =>
      isReplaced && after >= 0 && before > after + 1 && isVersion(old, now, insert, lines.slice(after + 1, before));
    const first = staysWith(sides.old[from]!, insert[0]!, rows[above], gone[0]) ? from : above;
    const last = staysWith(sides.old[to - 1]!, insert.at(-1)!, gone.at(-1), rows[below]) ? to - 1 : below;
    const isLone = up + down === 0 && isLoneDeletion(change, sides, rows);
    const known = isLone ? gone : rows.slice(Math.max(first, 0), last + 1).filter((row) => row >= 0);
    return known.length > 0 ? known.at(-1)! - known[0]! < known.length : insert.length === 0;
  });
}

function isLoneDeletion({ from, to, insert }: Change, { old }: Sides, rows: readonly number[]): boolean {
  // Which of several blank lines, beside deleted ones or among them, the hunk left out cannot be known.
  const isSolid = old.slice(Math.max(0, from - 1), to + 1).every((line) => line.trim() !== "");
  // With lines left out on both sides of deleted ones, what stays between those two cannot be known.
  const isOpen = [from - 1, to - 1].every((i) => rows[i + 1]! - (rows[i] ?? rows[i + 1]!) > 1);
  return insert.length === 0 && isSolid && !isOpen;
}

function isVersion(old: string, now: string, insert: readonly string[], others: readonly string[]): boolean {
  // The word that a line begins with, or the sign.
  const firstWord = (line: string) => /^\s*([\p{L}\p{N}_$]+|.?)/u.exec(line)![1];
  const like = likeness(old, now);
  return (
    like > MIN_LIKENESS &&
    insert.every((line) => likeness(old, line) <= like) &&
    others.every((line) => firstWord(line) !== firstWord(now) && likeness(line, now) < like)
  );
}

function likeness(old: string, now: string): number {
  const [a, b] = [looseLine(old), looseLine(now)];
  const { head, tail } = commonEnds(a, b);
  return (head + tail) / Math.max(a.length, b.length, 1);
}

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

function isMissing(rows: readonly number[], from: number, to: number): boolean {
  const end = rows.length;
  const before = from > 1 && rows[from - 1] === -1;
  const behind = to < end - 1 && rows[to] === -1;
  const outside = (from === 0 && to === 0 && rows[0] === -1) || (to === end && from === end && rows[end - 1] === -1);
  return before || behind || outside;
}
