import type { Hunk } from "../patch.js";
import type { Sides } from "../sides.js";
import { type Block, readBlocks } from "./blocks.js";
import { type Below, lastUpTo, type Target } from "./target.js";

/**
 * What a hunk says of its place beside line numbers. `inside`: the place fits its anchors and the end of the file, which
 * are part of the address. `contradicted`: its section is a line of the text, but not the one that the place is below.
 */
export interface Address {
  readonly inside: (row: number, rows: readonly number[]) => boolean;
  readonly contradicted: (row: number, rows: readonly number[]) => boolean;
}

/** Whether a hunk says more of its place than numbers. */
export function hasAddress({ anchors, atEnd, section }: Hunk): boolean {
  return (anchors?.length ?? 0) > 0 || atEnd === true || section !== undefined;
}

/** Null where the hunk says no more of its place than numbers. */
export function readAddress({ hunk, changes }: Sides, target: Target): Address | null {
  if (!hasAddress(hunk)) return null;
  const { anchors = [], atEnd, section } = hunk;
  const { lines, effort } = target;
  target.blocks ??= readBlocks(lines, effort);
  const blocks = target.blocks;
  const below = anchors.length > 0 ? readBelow(anchors, target) : null;
  const shift = changes[0]?.from ?? 0;
  const heads = section === undefined ? [] : blocks.find(section);
  return {
    inside(row, rows) {
      const end = lastRow(row, rows);
      if (atEnd && end < blocks.last) return false;
      return below === null || below(row, firstChange(row, rows, shift));
    },
    contradicted(row, rows) {
      if (heads.length === 0) return false;
      const head = heads[lastUpTo(heads, lastRow(row, rows))];
      return head === undefined || (head < row && blocks.hasLike(head, head + 1, row));
    },
  };
}

/** Whether a hunk that begins at a row and changes lines from another on stands in the block of its last anchor. */
function readBelow(anchors: readonly string[], { lines, blocks, belows, effort }: Target): Below {
  const key = anchors.join("\n");
  const known = belows.get(key);
  if (known) return known;
  let open: Block[] = [{ row: -1, end: lines.length }];
  for (const anchor of anchors) {
    const reach = reachOf(open);
    const starts = open.map(({ row }) => row);
    const inOpen = (row: number) => (reach[lastUpTo(starts, row - 1)] ?? 0) > row;
    const found = blocks!.find(anchor);
    effort.left -= found.length;
    open = (effort.left < 0 ? [] : found).filter(inOpen).map((row) => ({ row, end: blocks!.endOf(row) }));
  }
  const starts = open.map(({ row }) => row);
  const reach = reachOf(open);
  const below = (row: number, change: number): boolean => {
    const before = lastUpTo(starts, row);
    // It begins in the block, or it shows the anchor itself above what it changes.
    return (before >= 0 && reach[before]! > row) || (starts[before + 1] ?? change) < change;
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

function lastRow(row: number, rows: readonly number[]): number {
  for (let i = rows.length - 1; i >= 0; i--) if (rows[i]! >= 0) return rows[i]!;
  return row - 1;
}

function firstChange(row: number, rows: readonly number[], shift: number): number {
  for (let i = shift; i < rows.length; i++) if (rows[i]! >= 0) return rows[i]!;
  return lastRow(row, rows) + 1;
}
