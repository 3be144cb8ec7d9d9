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
/** The least part of a line that its next version must share. */
const MIN_LIKENESS = 1 / 4;
/** The most starting points tried; a hunk whose rarest line is more common is refused as ambiguous. */
const MAX_STARTS = 400;

/**
 * Every place of a hunk whose context is not quite the text's, also those that cannot be written: they compete. All deleted
 * lines must be there. Of the context one line in four may be left out by the hunk or have a slip, and blank lines may be
 * dropped or added. Null if too many places could fit.
 */
export function alignContext(sides: Sides, target: Target, allowsSlips: boolean): Alignment[] | null {
  const index = indexBy(looseLine, target);
  const { effort } = target;
  const keys = sides.old.map(looseLine);
  const found = new Map<string, Alignment>();
  let starts = 0;
  for (const anchor of pickAnchors(keys, sides, index)) {
    for (const row of index.places.get(keys[anchor]!)!) {
      starts++;
      effort.left -= keys.length;
      if (starts > MAX_STARTS || effort.left < 0) return null;
      const walk = walkFrom(anchor, row, keys, sides, target, allowsSlips);
      if (walk) found.set(walk.rows.join(), { ...walk, verdict: judge(walk, keys, sides, index) });
    }
  }
  const all = [...found.values()];
  // With a slip the place must be the only one also without that line.
  const isSlip = all.some(({ other, verdict }) => other.size > 0 && verdict !== "no");
  return isSlip ? all : all.filter(({ verdict }) => verdict !== "no");
}

/** The rarest deleted line, which must be matched; or the two rarest of the context, one of which must be. */
function pickAnchors(keys: readonly string[], sides: Sides, index: LineIndex): number[] {
  const ranked: number[] = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] !== "") ranked.push(i);
  const commonness = (i: number) => index.places.get(keys[i]!)!.length;
  ranked.sort((a, b) => commonness(a) - commonness(b));
  const deleted = ranked.find((i) => sides.deleted[i]);
  return deleted === undefined ? ranked.slice(0, 2) : [deleted];
}

/** The first and the last line of a hunk that are not blank. */
type Solid = readonly [first: number, last: number];

/** Whether the hunk has only blank lines from this one to an edge: models add such lines by habit. */
function isBlankEdge([first, last]: Solid, at: number): boolean {
  return at < first || at > last;
}

/** An alignment and the differences found on the way. A half in a list is a gap behind that old line. */
interface Walk {
  readonly anchor: number;
  readonly solid: Solid;
  readonly rows: number[];
  readonly other: Set<number>;
  /** Blank lines that only one side has. */
  readonly blanks: number[];
  /** Lines of the text that the hunk leaves out. */
  readonly left: number[];
  slips: number;
  isForeign: boolean;
  isUnclear: boolean;
}

function walkFrom(
  anchor: number,
  row: number,
  keys: readonly string[],
  sides: Sides,
  target: Target,
  allowsSlips: boolean,
): Walk | null {
  const rows = new Array<number>(keys.length).fill(-1);
  rows[anchor] = row;
  const walk: Walk = {
    anchor,
    solid: [keys.findIndex((key) => key !== ""), keys.findLastIndex((key) => key !== "")],
    rows,
    other: new Set(),
    blanks: [],
    left: [],
    slips: Math.max(1, Math.floor(keys.filter((key) => key !== "").length / MIN_LINES_OF_ONE_SLIP)),
    isForeign: false,
    isUnclear: false,
  };
  const { keys: lines } = indexBy(looseLine, target);
  for (const step of [-1, 1]) {
    let i = anchor + step;
    let at = row + step;
    while (i >= 0 && i < keys.length) {
      const there = lines[at];
      const isBlank = passBlank(walk, i, there, lines[at + step], step, keys, sides);
      if (isBlank === "too many") return null;
      if (isBlank === "in the hunk") i += step;
      else if (isBlank === "in the text") at += step;
      else if (keys[i] === there) {
        walk.rows[i] = at;
        i += step;
        at += step;
      } else if (isBlank === "outside") {
        i += step;
        at += step;
      } else if (there === undefined || walk.slips-- === 0) return null;
      else if (lines[at + step] === keys[i] && keys[i] !== "") {
        // Of two similar lines, it is unknown which one the hunk left out: the change may belong between them.
        if (there === lines[at - step]) walk.isUnclear = true;
        walk.left.push(i - step / 2);
        at += step;
      } else if (!sides.deleted[i] && allowsSlips) {
        noteOther(walk, i, at, sides, target);
        i += step;
        at += step;
      } else return null;
    }
  }
  return walk;
}

/** Notes that a context line differs from the text's line, which has another word or is wholly another. */
function noteOther(walk: Walk, i: number, at: number, sides: Sides, target: Target): void {
  if (!hasSlip(sides.old[i]!, target.lines[at]!, target)) walk.isForeign = true;
  walk.rows[i] = at;
  walk.other.add(i);
}

/** Notes a blank line that only one side has. */
function passBlank(
  { blanks, solid }: Walk,
  i: number,
  there: string | undefined,
  next: string | undefined,
  step: number,
  keys: readonly string[],
  { deleted }: Sides,
): "outside" | "in the hunk" | "in the text" | "too many" | "none" {
  const key = keys[i]!;
  if (key === there) return "none";
  const isEdge = isBlankEdge(solid, i);
  // Outside of the text there is no line that it could be.
  if (there === undefined && !deleted[i] && isEdge) return "outside";
  const isInHunk = isEdge || (key === "" && !deleted[i]);
  if (!isInHunk && !(there === "" && next !== undefined)) return "none";
  if (blanks.push(isInHunk ? i : i - step / 2) > MAX_BLANKS) return "too many";
  return isInHunk ? "in the hunk" : "in the text";
}

function judge(walk: Walk, keys: readonly string[], sides: Sides, index: LineIndex): Verdict {
  if (walk.isForeign) return "no";
  const isUnclear =
    walk.isUnclear ||
    changesBlanks(walk, sides, keys) ||
    movesPast(sides, keys, [...walk.left, ...walk.blanks]) ||
    missesDeleted(walk, sides) ||
    !isHeld(walk, keys, sides, index) ||
    !isSettled(walk.rows, sides, index.keys);
  return isUnclear ? "unclear" : "yes";
}

/** Whether the text lacks several of the blank lines to delete. At the edges of a hunk without a number they are habit. */
function missesDeleted({ rows, solid }: Walk, { deleted, hint }: Sides): boolean {
  const missing = rows.flatMap((row, i) => (row < 0 && deleted[i] ? [i] : []));
  return missing.length > 1 && (hint !== null || missing.some((i) => !isBlankEdge(solid, i)));
}

/** Whether enough lines match: a line that is deleted and stands nowhere else says more than context does. */
function isHeld({ rows, other, left, anchor }: Walk, keys: readonly string[], sides: Sides, index: LineIndex): boolean {
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

/**
 * Whether a blank line that only one side has touches a change that adds or deletes blank lines itself, or others of the
 * same kind: then which of them is meant cannot be told.
 */
function changesBlanks({ rows, blanks, solid }: Walk, sides: Sides, keys: readonly string[]): boolean {
  if (blanks.length === 0) return false;
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
    if (near.some((at) => isOneOfMany(at) && !isBlankEdge(solid, at))) return true;
    const isGone = sides.old.slice(from, to).some((line, i) => isBlank(line) && rows[from + i]! >= 0);
    return isGone || (insert.some(isBlank) && !isBesideGap(change, rows));
  });
}

/**
 * Whether lines that are only inserted, and either begin or end with a blank one, go where the text has blank lines that
 * the hunk left out: these then stay on the other side of the new lines.
 */
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
  return sides.changes.every((change) => {
    const { from, to, insert } = change;
    const gone = rows.slice(from, to).filter((row) => row >= 0);
    const isReplaced = insert.length > 0 && gone.length > 0;
    // Is a blank line that the text does not have what the new lines replace, or one too many? It cannot be known.
    if (insert.length > 0 && !isReplaced && isMissing(rows, from, to, rows.length)) return false;
    if (isBesideGap(change, rows)) return lines.slice(rows[from - 1]! + 1, rows[from]).every((line) => line === "");
    const [up, down] = slack(change, sides.old);
    const above = nearestKnown(rows, from - up - 1, -1);
    const below = nearestKnown(rows, to + down, 1);
    /** An old line at the edge of a change stays with the new line there, whatever stands between these rows. */
    const staysWith = (old: string, now: string, after = -1, before = -1) =>
      isReplaced && after >= 0 && before > after + 1 && isVersion(old, now, insert, lines.slice(after + 1, before));
    const first = staysWith(sides.old[from]!, insert[0]!, rows[above], gone[0]) ? from : above;
    const last = staysWith(sides.old[to - 1]!, insert.at(-1)!, gone.at(-1), rows[below]) ? to - 1 : below;
    const known = isLoneDeletion(change, sides, rows, up + down)
      ? gone
      : rows.slice(Math.max(first, 0), last + 1).filter((row) => row >= 0);
    return known.length > 0 ? known.at(-1)! - known[0]! < known.length : insert.length === 0;
  });
}

/** Whether lines are only deleted, and what the hunk left out beside them stays: on one side of them, and not blank. */
function isLoneDeletion({ from, to, insert }: Change, { old }: Sides, rows: readonly number[], slack: number): boolean {
  // Which of several blank lines, beside deleted ones or among them, the hunk left out cannot be known.
  const isSolid = old.slice(Math.max(0, from - 1), to + 1).every((line) => line.trim() !== "");
  // With lines left out on both sides of deleted ones, what stays between those two cannot be known.
  const isOpen = [from - 1, to - 1].every((i) => rows[i + 1]! - (rows[i] ?? rows[i + 1]!) > 1);
  return insert.length === 0 && slack === 0 && isSolid && !isOpen;
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
  const like = likeness(old, now);
  const word = firstWord(now);
  return (
    like > MIN_LIKENESS &&
    insert.every((line) => likeness(old, line) <= like) &&
    others.every((line) => firstWord(line) !== word && likeness(line, now) < like)
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
