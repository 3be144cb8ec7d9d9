import type { Hunk } from "./patch.js";

/** A hunk taken apart: what it looks for, what it leaves behind, and which of its old lines it deletes. */
export interface Sides {
  readonly hunk: Hunk;
  readonly old: readonly string[];
  readonly new: readonly string[];
  /** For each old line: is it to be deleted? */
  readonly deleted: readonly boolean[];
  readonly changes: readonly Change[];
  readonly inserts: boolean;
  /** Context lines before the first and behind the last change. */
  readonly leading: number;
  readonly trailing: number;
  /** Index of the first old line (or of the insertion) in the old file as the header has it, counted from 0. */
  readonly hint: number | null;
}

/** Old lines `from` up to `to` are deleted, and these lines stand in their place. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly insert: readonly string[];
}

export function takeApart(hunk: Hunk): Sides {
  const old: string[] = [];
  const after: string[] = [];
  const deleted: boolean[] = [];
  const changes: { from: number; to: number; insert: string[] }[] = [];
  let open: (typeof changes)[number] | null = null;
  let leading = 0;
  let trailing = 0;
  for (const line of hunk.lines) {
    const mark = line[0];
    const body = line.slice(1);
    const isChange = mark === "+" || mark === "-";
    if (isChange && open === null) {
      open = { from: old.length, to: old.length, insert: [] };
      changes.push(open);
    } else if (!isChange) open = null;
    if (mark !== "+") {
      old.push(body);
      deleted.push(mark === "-");
    }
    if (mark !== "-") after.push(body);
    if (mark === "+") open?.insert.push(body);
    if (mark === "-") open!.to++;
    if (isChange) trailing = 0;
    else trailing++;
    if (changes.length === 0) leading = old.length;
  }
  const inserts = changes.some(({ insert }) => insert.length > 0);
  return { hunk, old, new: after, deleted, changes, inserts, leading, trailing, hint: hintOf(hunk) };
}

/** Where the header says that the hunk's old side begins, or that its lines are inserted: a line, counted from 0. */
export function hintOf({ oldStart, lines }: Hunk): number | null {
  return oldStart === null ? null : oldStart - (lines.some((line) => line[0] !== "+") ? 1 : 0);
}
