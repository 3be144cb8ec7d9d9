import { createPatch } from "./create.js";
import { identifyHunks } from "./hunk.js";
import { splitLines } from "./lines.js";
import type { Hunk } from "./patch.js";
import { takeApart } from "./sides.js";

/** Lines `oldStart` to `oldEnd` of a text, counted from 0, end excluded, become something else. */
export interface Span {
  readonly oldStart: number;
  readonly oldEnd: number;
}

/** They become the lines of `insert`. A line has its line feed at its end unless it has none in the file. */
export interface HunkChange extends Span {
  readonly insert: readonly string[];
  readonly hunk: Hunk;
  /** The hunk has no context. */
  readonly bare: boolean;
}

/**
 * The changes of the hunks in the order of their places, and into `shown` the lines that they show of the text they start
 * from. `no-place`: a hunk has no line numbers. `base`: two hunks want the same lines, or say different lines of one.
 */
export function readChanges(
  hunks: readonly Hunk[],
  shown = new Map<number, string>(),
): HunkChange[] | "no-place" | "base" {
  const changes: HunkChange[] = [];
  let end = 0;
  for (const { hunk, hint, old, changes: own } of hunks.map(takeApart).sort((a, b) => a.hint! - b.hint!)) {
    if (hint === null) return "no-place";
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

/** All changes of two sides, in order, those that overlap or touch together. */
export function meet<Change extends Span>(left: readonly Change[], right: readonly Change[]): Meeting<Change>[] {
  const meetings: Meeting<Change>[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    const [fromLeft, fromRight] = [i, j];
    const oldStart = Math.min(left[i]?.oldStart ?? Infinity, right[j]?.oldStart ?? Infinity);
    let oldEnd = oldStart;
    // What touches the stretch belongs to it and may widen it.
    for (;;) {
      if (i < left.length && left[i]!.oldStart <= oldEnd) oldEnd = Math.max(oldEnd, left[i++]!.oldEnd);
      else if (j < right.length && right[j]!.oldStart <= oldEnd) oldEnd = Math.max(oldEnd, right[j++]!.oldEnd);
      else break;
    }
    meetings.push({ oldStart, oldEnd, left: left.slice(fromLeft, i), right: right.slice(fromRight, j) });
  }
  return meetings;
}

/** What one side makes of a stretch; every line of it is shown, since one of the sides changes it. */
export function textOf(
  { oldStart, oldEnd }: Span,
  changes: readonly HunkChange[],
  shown: ReadonlyMap<number, string>,
): string {
  let text = "";
  let at = oldStart;
  for (const change of changes) {
    for (; at < change.oldStart; at++) text += shown.get(at);
    text += change.insert.join("");
    at = change.oldEnd;
  }
  for (; at < oldEnd; at++) text += shown.get(at);
  return text;
}

/** A stretch of some text, and what it was before and is after its changes. */
export interface Turn extends Meeting<HunkChange> {
  readonly before: string;
  readonly after: string;
}

/** Hunks of the turns, with all that is shown of the text around them; what is shown without a gap is one hunk. */
export function writeHunks(turns: readonly Turn[], shown: ReadonlyMap<number, string>): Hunk[] {
  const hunks: Omit<Hunk, "id">[] = [];
  let oldShift = 0;
  let newShift = 0;
  for (let i = 0; i < turns.length; ) {
    let at = turns[i]!.oldStart;
    while (shown.has(at - 1) && at > (turns[i - 1]?.oldEnd ?? 0)) at--;
    const start = at;
    let before = "";
    let after = "";
    let context = 0;
    let section: string | undefined;
    const keep = (end: number) => {
      for (; at < end && shown.has(at); at++) {
        before += shown.get(at);
        after += shown.get(at);
      }
    };
    do {
      const turn = turns[i++]!;
      keep(turn.oldStart);
      for (const { hunk, bare } of [...turn.left, ...turn.right]) {
        // Where all hunks are bare, lines that one undoes are no context: on one side alone they would say that the text ends there.
        if (!bare) context = Number.POSITIVE_INFINITY;
        section ??= hunk.section;
      }
      before += turn.before;
      after += turn.after;
      at = turn.oldEnd;
      keep(turns[i]?.oldStart ?? Number.POSITIVE_INFINITY);
    } while (at === turns[i]?.oldStart);
    for (const hunk of createPatch(before, after, { context }).files[0]?.hunks ?? [])
      hunks.push({
        ...hunk,
        oldStart: start + oldShift + hunk.oldStart!,
        newStart: start + newShift + hunk.newStart!,
        ...(section !== undefined && { section }),
      });
    oldShift += splitLines(before).lines.length - (at - start);
    newShift += splitLines(after).lines.length - (at - start);
  }
  return identifyHunks(hunks);
}
