import type { Hunk } from "../patch.js";
import type { Sides } from "../sides.js";
import { type Outline, readBlocks, readOutline } from "./outline.js";
import { lastUpTo, type Target } from "./target.js";

/** `inside`: the place fits the anchors and the end of the file. `contradicted`: the section is in the text, but not above the place. */
export interface Address {
  readonly inside: (row: number, rows: readonly number[]) => boolean;
  readonly contradicted: (row: number, rows: readonly number[]) => boolean;
}

/** Whether a hunk has more than numbers and a section for its place. */
export function isAnchored({ anchors, atEnd }: Hunk): boolean {
  return (anchors?.length ?? 0) > 0 || atEnd === true;
}

/** Whether a hunk has more than numbers for its place. */
export function hasAddress(hunk: Hunk): boolean {
  return isAnchored(hunk) || hunk.section !== undefined;
}

/** Whether a hunk that begins at a row, and changes lines from another on, is below some anchors. */
type Below = (row: number, change: number) => boolean;

interface Outlined {
  readonly outline: Outline;
  endOf?: (row: number) => number;
  readonly belows: Map<string, Below>;
}

/** Read once for all hunks of a text. */
const outlines = /* @__PURE__ */ new WeakMap<Target, Outlined>();

/** The address of a hunk: anywhere if it has only numbers. Anchors and the end of the file are looked for in the blocks of the text. */
export function readAddress({ hunk, leading }: Sides, target: Target): Address {
  if (!hasAddress(hunk)) return { inside: () => true, contradicted: () => false };
  const { section, anchors = [], atEnd } = hunk;
  const { lines, effort } = target;
  const known = outlines.get(target) ?? { outline: readOutline(lines, effort), belows: new Map() };
  outlines.set(target, known);
  const { find, hasLike, last } = known.outline;
  const heads = section === undefined ? [] : find(section);
  const below = anchors.length > 0 ? readBelow(anchors, target, known) : null;
  const lastRow = (row: number, rows: readonly number[]) => rows.findLast((each) => each >= 0) ?? row - 1;
  return {
    inside(row, rows) {
      if (atEnd && lastRow(row, rows) < last) return false;
      const change = rows.find((each, i) => i >= leading && each >= 0) ?? lastRow(row, rows) + 1;
      return below === null || below(row, change);
    },
    contradicted(row, rows) {
      if (heads.length === 0) return false;
      const head = heads[lastUpTo(heads, lastRow(row, rows))];
      return head === undefined || (head < row && hasLike(head, head + 1, row));
    },
  };
}

function readBelow(anchors: readonly string[], { lines, effort }: Target, own: Outlined): Below {
  const { find, indents } = own.outline;
  own.endOf ??= readBlocks(lines, indents, effort);
  const { endOf, belows } = own;
  const key = anchors.join("\n");
  const known = belows.get(key);
  if (known) return known;
  // The blocks that are open, and for each the furthest end of it and those before it.
  let starts = [-1];
  let reach = [lines.length];
  for (const anchor of anchors) {
    const inOpen = (row: number) => (reach[lastUpTo(starts, row - 1)] ?? 0) > row;
    const found = find(anchor);
    effort.left -= found.length;
    const inner = (effort.left < 0 ? [] : found).filter(inOpen);
    let furthest = 0;
    reach = inner.map((row) => {
      furthest = Math.max(furthest, endOf(row));
      return furthest;
    });
    starts = inner;
  }
  const below = (row: number, change: number): boolean => {
    const before = lastUpTo(starts, row);
    // It begins in the block, or it shows the anchor itself, if there is one behind its beginning, above what it changes.
    return (before >= 0 && reach[before]! > row) || starts[before + 1]! < change;
  };
  belows.set(key, below);
  return below;
}
