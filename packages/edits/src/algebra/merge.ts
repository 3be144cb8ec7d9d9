import { diffLines, type LineChange } from "../diff/diff.js";
import { readSource, type Source } from "../diff/source.js";
import { needText } from "../need.js";

export type Merge =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false;
      /** The merged text in order: resolved parts as text, the others as conflicts. */
      readonly pieces: readonly (string | MergeConflict)[];
      readonly conflicts: readonly MergeConflict[];
    };

/** Both sides changed these lines differently. */
export interface MergeConflict {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
  /** First line of each text's part, counted from 1. */
  readonly at: { readonly base: number; readonly ours: number; readonly theirs: number };
}

/**
 * Merges two changed versions of one text. As in `git merge-file`, changes that overlap or touch are a conflict unless
 * both sides give the same text. Laws: `merge3(b, x, b)` gives `x`; `merge3(b, x, x)` gives `x`; swapping ours and theirs
 * gives the same text, or the same conflicts swapped.
 */
export function merge3(base: string, ours: string, theirs: string): Merge {
  needText({ base, ours, theirs });
  if (ours === theirs || theirs === base) return { ok: true, text: ours };
  if (ours === base) return { ok: true, text: theirs };
  const [b, o, t] = [readSource(base), readSource(ours), readSource(theirs)];
  const left = diffLines(b, o, { readable: false });
  const right = diffLines(b, t, { readable: false });
  const run = ({ text, starts }: Source, from: number, to: number) => text.slice(starts[from], starts[to]);
  const pieces: (string | MergeConflict)[] = [];
  const conflicts: MergeConflict[] = [];
  let settled = "";
  let done = 0;
  // How many lines further each side is than the base.
  let [oursShift, theirsShift] = [0, 0];
  for (const { oldStart: start, oldEnd: end, left: mineMade, right: yoursMade } of meet(left, right)) {
    settled += run(b, done, start);
    done = end;
    const [oursStart, theirsStart] = [start + oursShift, start + theirsShift];
    for (const { oldStart, oldEnd, newStart, newEnd } of mineMade) oursShift += newEnd - newStart - (oldEnd - oldStart);
    for (const { oldStart, oldEnd, newStart, newEnd } of yoursMade)
      theirsShift += newEnd - newStart - (oldEnd - oldStart);
    const mine = run(o, oursStart, end + oursShift);
    const yours = run(t, theirsStart, end + theirsShift);
    if (mineMade.length === 0) settled += yours;
    else if (yoursMade.length === 0 || mine === yours) settled += mine;
    else {
      const at = { base: start + 1, ours: oursStart + 1, theirs: theirsStart + 1 };
      const conflict = { base: run(b, start, end), ours: mine, theirs: yours, at };
      if (settled !== "") pieces.push(settled);
      settled = "";
      pieces.push(conflict);
      conflicts.push(conflict);
    }
  }
  settled += run(b, done, b.length);
  if (conflicts.length === 0) return { ok: true, text: settled };
  if (settled !== "") pieces.push(settled);
  return { ok: false, pieces, conflicts };
}

/** Changes of two sides that overlap or touch, and the lines of the base from the first to the last of them. */
interface Meeting extends Pick<LineChange, "oldStart" | "oldEnd"> {
  readonly left: readonly LineChange[];
  readonly right: readonly LineChange[];
}

function meet(left: readonly LineChange[], right: readonly LineChange[]): Meeting[] {
  const meetings: Meeting[] = [];
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
