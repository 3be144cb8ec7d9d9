import type { Hunk } from "../patch.js";
import type { Sides } from "../sides.js";
import { readOutline } from "./outline.js";
import { lastUpTo } from "./sorted.js";
import type { Target } from "./target.js";

/**
 * What a hunk says of its place beside line numbers. `inside`: the place fits its anchors and the end of the file, which
 * are part of the address. `contradicted`: its section is a line of the text, but not the one that the place is below.
 */
export interface Address {
  readonly inside: (row: number, rows: readonly number[]) => boolean;
  readonly contradicted: (row: number, rows: readonly number[]) => boolean;
}

/** Null if the hunk has only numbers for its place. */
export type ReadAddress = (sides: Sides, target: Target) => Address | null;

/** Whether a hunk has more than numbers and a section for its place. */
export function isAnchored({ anchors, atEnd }: Hunk): boolean {
  return (anchors?.length ?? 0) > 0 || atEnd === true;
}

/** Whether a hunk has more than numbers for its place. */
export function hasAddress(hunk: Hunk): boolean {
  return isAnchored(hunk) || hunk.section !== undefined;
}

/** The address of a hunk without anchors: no place is inside that of one with them, since only blocks could tell. */
export const readSection: ReadAddress = ({ hunk }, target) => {
  if (!hasAddress(hunk)) return null;
  const { section } = hunk;
  const { lines, effort } = target;
  target.outline ??= readOutline(lines, effort);
  const { find, hasLike } = target.outline;
  const heads = section === undefined ? [] : find(section);
  return {
    inside: () => !isAnchored(hunk),
    contradicted(row, rows) {
      if (heads.length === 0) return false;
      const head = heads[lastUpTo(heads, lastRow(row, rows))];
      return head === undefined || (head < row && hasLike(head, head + 1, row));
    },
  };
};

export function lastRow(row: number, rows: readonly number[]): number {
  for (let i = rows.length - 1; i >= 0; i--) if (rows[i]! >= 0) return rows[i]!;
  return row - 1;
}
