import { countLines } from "./hunk.js";
import type { FilePatch } from "./patch.js";

/** A place in a text as editors and LSP count it: line and UTF-16 character from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface MappedPosition extends Position {
  /** The position's line was deleted; it now stands at the edge of what replaced it. */
  readonly deleted: boolean;
}

/**
 * Where a position of the old text is in the new one. In a kept line the character stays, and mapping back through the
 * inverse patch returns the position. In a deleted line it goes to the start of what replaced it, or with `side` 1 behind
 * it. An insertion in front of a line moves the line. The order of positions is kept. Null where a hunk names no line.
 */
export function mapPosition(file: FilePatch, position: Position, side: -1 | 1 = -1): MappedPosition | null {
  let moved = 0;
  for (const { lines, oldStart } of file.hunks) {
    if (oldStart === null) return null;
    const count = countLines(lines);
    let row = count.old > 0 ? oldStart - 1 : oldStart;
    if (row > position.line) break;
    if (row + count.old <= position.line) {
      moved += count.new - count.old;
      continue;
    }
    for (let i = 0; i < lines.length; i++) {
      const mark = lines[i]![0];
      if (mark === "+") moved++;
      else if (row < position.line) {
        if (mark === "-") moved--;
        row++;
      } else if (mark === "-") {
        return {
          line: row + moved + (side === 1 ? addedBehind(lines, i) : -addedBefore(lines, i)),
          character: 0,
          deleted: true,
        };
      } else break;
    }
  }
  return { line: position.line + moved, character: position.character, deleted: false };
}

/** Lines added in the same change, in front of its line `i` and behind it. */
function addedBefore(lines: readonly string[], i: number): number {
  let added = 0;
  for (let j = i - 1; j >= 0 && /^[-+]/.test(lines[j]!); j--) if (lines[j]![0] === "+") added++;
  return added;
}

function addedBehind(lines: readonly string[], i: number): number {
  let added = 0;
  for (let j = i + 1; j < lines.length && /^[-+]/.test(lines[j]!); j++) if (lines[j]![0] === "+") added++;
  return added;
}
