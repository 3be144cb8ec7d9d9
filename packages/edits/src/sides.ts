import type { Hunk } from "./patch.js";

/** A hunk taken apart: what it looks for, what it leaves behind, and which of its old lines it deletes. */
export interface Sides {
  readonly hunk: Hunk;
  readonly old: readonly string[];
  readonly new: readonly string[];
  /** For each old line: is it to be deleted? */
  readonly deleted: readonly boolean[];
  /** Inserted lines by the number of old lines before them, in order. */
  readonly inserted: ReadonlyMap<number, readonly string[]>;
  /** Context lines before the first and behind the last change. */
  readonly leading: number;
  readonly trailing: number;
  /** Index of the first old line (or of the insertion) in the old file as the header has it, counted from 0. */
  readonly hint: number | null;
}

export function takeApart(hunk: Hunk): Sides {
  const old: string[] = [];
  const after: string[] = [];
  const deleted: boolean[] = [];
  const inserted = new Map<number, string[]>();
  let leading = -1;
  let trailing = 0;
  for (const line of hunk.lines) {
    const mark = line[0];
    const body = line.slice(1);
    if (mark === "+" || mark === "-") {
      if (leading < 0) leading = old.length;
      trailing = 0;
    } else trailing++;
    if (mark === "+") {
      after.push(body);
      const group = inserted.get(old.length);
      if (group) group.push(body);
      else inserted.set(old.length, [body]);
      continue;
    }
    old.push(body);
    deleted.push(mark === "-");
    if (mark !== "-") after.push(body);
  }
  const hint = hunk.oldStart === null ? null : old.length > 0 ? hunk.oldStart - 1 : hunk.oldStart;
  return { hunk, old, new: after, deleted, inserted, leading: Math.max(leading, 0), trailing, hint };
}
