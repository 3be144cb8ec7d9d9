import type { Position } from "../editor/protocol.js";
import { needPatch } from "../need.js";
import type { FilePatch } from "../patch.js";
import { readChanges } from "./spans.js";

export interface MappedPosition extends Readonly<Position> {
  /** The position's line was deleted; the new position is at the edge of its replacement. */
  readonly deleted: boolean;
}

/**
 * Maps a position of the old text to the new one. In a kept line the character stays, and mapping back through the
 * inverse patch returns the position. In a deleted line it moves to the start of the replacement, or with `side` 1 to its
 * end. An insertion in front of a line moves the line. Positions keep their order. Null if a hunk has no line numbers, or
 * the hunks are not of one text.
 */
export function mapPosition(file: FilePatch, position: Readonly<Position>, side: -1 | 1 = -1): MappedPosition | null {
  needPatch({ file });
  const changes = readChanges(file.hunks);
  if (typeof changes === "string") return null;
  let moved = 0;
  for (const { oldStart, oldEnd, insert } of changes) {
    if (position.line < oldStart) break;
    if (position.line < oldEnd)
      return { line: oldStart + moved + (side === 1 ? insert.length : 0), character: 0, deleted: true };
    moved += insert.length - (oldEnd - oldStart);
  }
  return { line: position.line + moved, character: position.character, deleted: false };
}
