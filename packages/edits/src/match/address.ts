import type { Hunk } from "../patch.js";
import type { Sides } from "../sides.js";
import { type Block, type Outline, readBlocks, readOutline } from "./outline.js";
import { lastUpTo, type Target } from "./target.js";

/**
 * What a hunk says of its place beside line numbers. `inside`: the place fits its anchors and the end of the file, which
 * are part of the address. `contradicted`: its section is a line of the text, but not the one that the place is below.
 */
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

const ANYWHERE: Address = { inside: () => true, contradicted: () => false };

/** The address of a hunk: anywhere if it has only numbers. Anchors and the end of the file are looked for in the blocks of the text. */
export function readAddress({ hunk, leading }: Sides, target: Target): Address {
  if (!hasAddress(hunk)) return ANYWHERE;
  const { section, anchors = [], atEnd } = hunk;
  const { lines, effort } = target;
  const known = outlines.get(target) ?? { outline: readOutline(lines, effort), belows: new Map() };
  outlines.set(target, known);
  const { find, hasLike, last } = known.outline;
  const heads = section === undefined ? [] : find(section);
  const below = anchors.length > 0 ? readBelow(anchors, target, known) : null;
  return {
    inside(row, rows) {
      if (atEnd && lastRow(row, rows) < last) return false;
      return below === null || below(row, firstChange(row, rows, leading));
    },
    contradicted(row, rows) {
      if (heads.length === 0) return false;
      const head = heads[lastUpTo(heads, lastRow(row, rows))];
      return head === undefined || (head < row && hasLike(head, head + 1, row));
    },
  };
}

function lastRow(row: number, rows: readonly number[]): number {
  for (let i = rows.length - 1; i >= 0; i--) if (rows[i]! >= 0) return rows[i]!;
  return row - 1;
}

/** Whether a hunk that begins at a row and changes lines from another on stands in the block of its last anchor. */
function readBelow(anchors: readonly string[], { lines, effort }: Target, own: Outlined): Below {
  const { find, indents } = own.outline;
  own.endOf ??= readBlocks(lines, indents, effort);
  const { endOf, belows } = own;
  const key = anchors.join("\n");
  const known = belows.get(key);
  if (known) return known;
  let open: Block[] = [{ row: -1, end: lines.length }];
  for (const anchor of anchors) {
    const reach = reachOf(open);
    const starts = open.map(({ row }) => row);
    const inOpen = (row: number) => (reach[lastUpTo(starts, row - 1)] ?? 0) > row;
    const found = find(anchor);
    effort.left -= found.length;
    open = (effort.left < 0 ? [] : found).filter(inOpen).map((row) => ({ row, end: endOf(row) }));
  }
  const starts = open.map(({ row }) => row);
  const reach = reachOf(open);
  const below = (row: number, change: number): boolean => {
    const before = lastUpTo(starts, row);
    // It begins in the block, or it shows the anchor itself, if there is one behind its beginning, above what it changes.
    return (before >= 0 && reach[before]! > row) || starts[before + 1]! < change;
  };
  belows.set(key, below);
  return below;
}

/** For each block the furthest end of it and those before it. */
function reachOf(blocks: readonly Block[]): number[] {
  let furthest = 0;
  return blocks.map(({ end }) => {
    furthest = Math.max(furthest, end);
    return furthest;
  });
}

function firstChange(row: number, rows: readonly number[], leading: number): number {
  for (let i = leading; i < rows.length; i++) if (rows[i]! >= 0) return rows[i]!;
  return lastRow(row, rows) + 1;
}
