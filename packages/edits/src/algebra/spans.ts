import { identifyHunks } from "../hunk.js";
import { commonEnds } from "../lines.js";
import type { Hunk } from "../patch.js";
import { takeApart } from "../sides.js";

/** A replacement of lines `oldStart` to `oldEnd` of a text, counted from 0, end excluded. */
export interface Span {
  readonly oldStart: number;
  readonly oldEnd: number;
}

/** The new lines. Each ends with its line feed unless it has none in the file. */
export interface HunkChange extends Span {
  readonly insert: readonly string[];
  readonly hunk: Hunk;
  /** The hunk has no context. */
  readonly bare: boolean;
}

/**
 * Reads the changes of the hunks in the order of their places, and adds the old lines that they show to `shown`.
 * `no-place`: a hunk has no valid line numbers. `base`: two hunks claim the same lines, or differ about one.
 */
export function readChanges(
  hunks: readonly Hunk[],
  shown = new Map<number, string>(),
): HunkChange[] | "no-place" | "base" {
  const changes: HunkChange[] = [];
  let end = 0;
  for (const { hunk, hint, old, changes: own } of hunks.map(takeApart).sort((a, b) => a.hint! - b.hint!)) {
    // Lines are counted one by one from there, which numbers can do only so far.
    if (hint === null || !Number.isSafeInteger(hint + old.length)) return "no-place";
    if (hint < end) return "base";
    end = hint + old.length;
    for (const [i, body] of old.entries()) {
      const line = hunk.oldNoNewline && i === old.length - 1 ? body : `${body}\n`;
      if ((shown.get(hint + i) ?? line) !== line) return "base";
      shown.set(hint + i, line);
    }
    const bare = !hunk.lines.some((line) => line[0] === " ");
    for (const { from, to, insert } of own) {
      const last = hunk.newNoNewline && to === old.length ? insert.length - 1 : -1;
      const lines = insert.map((line, i) => (i === last ? line : `${line}\n`));
      changes.push({ oldStart: hint + from, oldEnd: hint + to, insert: lines, hunk, bare });
    }
  }
  return changes;
}

/** A stretch of a text in which the changes of two sides overlap or touch. */
export interface Meeting<Change> extends Span {
  readonly left: readonly Change[];
  readonly right: readonly Change[];
}

/** All changes of two sides in order; those that overlap or touch are grouped. */
export function meet<Change extends Span>(left: readonly Change[], right: readonly Change[]): Meeting<Change>[] {
  const meetings: Meeting<Change>[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    const [fromLeft, fromRight] = [i, j];
    const oldStart = Math.min(left[i]?.oldStart ?? Infinity, right[j]?.oldStart ?? Infinity);
    let oldEnd = oldStart;
    // A change that touches the stretch belongs to it and may widen it.
    for (;;) {
      if (i < left.length && left[i]!.oldStart <= oldEnd) oldEnd = Math.max(oldEnd, left[i++]!.oldEnd);
      else if (j < right.length && right[j]!.oldStart <= oldEnd) oldEnd = Math.max(oldEnd, right[j++]!.oldEnd);
      else break;
    }
    meetings.push({ oldStart, oldEnd, left: left.slice(fromLeft, i), right: right.slice(fromRight, j) });
  }
  return meetings;
}

/** The lines that one side makes of a stretch; every line of it is shown, since one of the sides changes it. */
export function linesOf(
  { oldStart, oldEnd }: Span,
  changes: readonly HunkChange[],
  shown: ReadonlyMap<number, string>,
): string[] {
  const lines: string[] = [];
  let at = oldStart;
  const keep = (end: number) => {
    for (; at < end; at++) lines.push(shown.get(at)!);
  };
  for (const change of changes) {
    keep(change.oldStart);
    for (const line of change.insert) lines.push(line);
    at = change.oldEnd;
  }
  keep(oldEnd);
  return lines;
}

/** A stretch of some text, and what it was before and is after its changes. */
export interface Turn extends Meeting<HunkChange> {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Hunks of the turns, with all that is shown of the text around them; what is shown without a gap is one hunk. */
export function writeHunks(turns: readonly Turn[], shown: ReadonlyMap<number, string>): Hunk[] {
  const hunks: Omit<Hunk, "id">[] = [];
  let oldShift = 0;
  let newShift = 0;
  for (let i = 0; i < turns.length; ) {
    let at = turns[i]!.oldStart;
    while (shown.has(at - 1) && at > (turns[i - 1]?.oldEnd ?? 0)) at--;
    const [oldStart, newStart] = [at + oldShift, at + newShift];
    const lines: string[] = [];
    let bare = true;
    let section: string | undefined;
    const keep = (end: number) => {
      for (; at < end && shown.has(at); at++) lines.push(` ${shown.get(at)}`);
    };
    do {
      const { oldStart: start, oldEnd, left, right, before, after } = turns[i++]!;
      keep(start);
      for (const change of [...left, ...right]) {
        bare &&= change.bare;
        section ??= change.hunk.section;
      }
      for (const line of compare(before, after)) lines.push(line);
      oldShift += before.length - (oldEnd - start);
      newShift += after.length - (oldEnd - start);
      at = oldEnd;
      keep(turns[i]?.oldStart ?? Infinity);
    } while (at === turns[i]?.oldStart);
    const hunk = writeHunk(lines, oldStart, newStart, bare);
    if (hunk !== null) hunks.push({ ...hunk, ...(section !== undefined && { section }) });
  }
  return identifyHunks(hunks);
}

/** A hunk of lines with their marks and line feeds, from these lines on; null if they change nothing. */
function writeHunk(all: readonly string[], oldStart: number, newStart: number, bare: boolean): Omit<Hunk, "id"> | null {
  const isChange = (line: string) => line[0] !== " ";
  const head = all.findIndex(isChange);
  if (head < 0) return null;
  // What was undone is no context where there is none else: on one side alone it would say that the text ends there.
  const skipped = bare ? head : 0;
  const lines = bare ? all.slice(head, all.findLastIndex(isChange) + 1) : all;
  const old = lines.filter((line) => line[0] !== "+");
  const now = lines.filter((line) => line[0] !== "-");
  return {
    oldStart: oldStart + skipped + (old.length > 0 ? 1 : 0),
    newStart: newStart + skipped + (now.length > 0 ? 1 : 0),
    lines: lines.map((line) => line.replace(/\n$/, "")),
    ...(old.at(-1)?.endsWith("\n") === false && { oldNoNewline: true }),
    ...(now.at(-1)?.endsWith("\n") === false && { newNoNewline: true }),
  };
}

/** A turn as lines of a hunk. Equal lines at its ends, one side's undone by the other, are context. */
function compare(before: readonly string[], after: readonly string[]): string[] {
  const { head, tail } = commonEnds(before, after);
  const [beforeEnd, afterEnd] = [before.length - tail, after.length - tail];
  return [
    ...before.slice(0, head).map((line) => ` ${line}`),
    ...before.slice(head, beforeEnd).map((line) => `-${line}`),
    ...after.slice(head, afterEnd).map((line) => `+${line}`),
    ...before.slice(beforeEnd).map((line) => ` ${line}`),
  ];
}
