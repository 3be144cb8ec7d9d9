import { type Block, readBlocks } from "./blocks.js";
import { isAnchored, lastRow, type ReadAddress, readSection } from "./section.js";
import { lastUpTo } from "./sorted.js";
import type { Below, Target } from "./target.js";

/** Checks the whole address: anchors and the end of the file are looked for in the blocks of the text. */
export const readAddress: ReadAddress = (sides, target) => {
  const { hunk, leading } = sides;
  const address = readSection(sides, target);
  if (address === null || !isAnchored(hunk)) return address;
  const { anchors = [], atEnd } = hunk;
  const { last } = target.outline!;
  const below = anchors.length > 0 ? readBelow(anchors, target) : null;
  return {
    ...address,
    inside(row, rows) {
      if (atEnd && lastRow(row, rows) < last) return false;
      return below === null || below(row, firstChange(row, rows, leading));
    },
  };
};

/** Whether a hunk that begins at a row and changes lines from another on stands in the block of its last anchor. */
function readBelow(anchors: readonly string[], target: Target): Below {
  const { lines, belows, effort } = target;
  const { find, indents } = target.outline!;
  target.endOf ??= readBlocks(lines, indents, effort);
  const { endOf } = target;
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
