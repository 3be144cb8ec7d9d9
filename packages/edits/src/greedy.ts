import { countSame, type Source } from "./source.js";

/** Up to this many changed lines are found without numbering the lines. */
const FEW = 64;
const UNREACHED = -1;

/**
 * The shortest changes between lines `start` to `aEnd` and `bEnd`, by Myers's greedy search, marked in the flags; false if
 * there are more than a few. Equal runs are compared as blocks of text, so a small change in a large text costs little.
 */
export function markFew(
  a: Source,
  b: Source,
  start: number,
  aEnd: number,
  bEnd: number,
  removed: Uint8Array,
  added: Uint8Array,
): boolean {
  if (Math.abs(aEnd - bEnd) > FEW) return false;
  const last = aEnd - bEnd;
  // Row d holds the furthest line of `a` on each diagonal from -d to d after d changes, with a margin of two columns.
  const rows: Int32Array[] = [];
  for (let d = 0; d <= FEW; d++) {
    const row = new Int32Array(2 * d + 5).fill(UNREACHED);
    const above = rows[d - 1];
    rows.push(row);
    for (let k = -d; k <= d; k += 2) {
      let x = start;
      if (above !== undefined) {
        const { right, down } = steps(above, d + 1 + k, k, aEnd, bEnd);
        x = Math.max(right, down);
        if (x === UNREACHED) continue;
      }
      const y = x - k;
      x += countSame(a, x, aEnd, b, y, bEnd);
      row[d + 2 + k] = x;
      if (k === last && x === aEnd) {
        trace(rows, k, aEnd, bEnd, removed, added);
        return true;
      }
    }
  }
  return false;
}

/** Where the two steps to a diagonal lead: past one more line of `a`, or past one more of `b`. */
function steps(above: Int32Array, at: number, k: number, aEnd: number, bEnd: number): { right: number; down: number } {
  const left = above[at - 1]!;
  const up = above[at + 1]!;
  return {
    right: left !== UNREACHED && left < aEnd ? left + 1 : UNREACHED,
    down: up - k <= bEnd ? up : UNREACHED,
  };
}

/** Walks the path back from its end. What lies behind each step is an equal run. */
function trace(
  rows: readonly Int32Array[],
  end: number,
  aEnd: number,
  bEnd: number,
  removed: Uint8Array,
  added: Uint8Array,
): void {
  let k = end;
  for (let d = rows.length - 1; d > 0; d--) {
    const { right, down } = steps(rows[d - 1]!, d + 1 + k, k, aEnd, bEnd);
    if (right > down) {
      removed[right - 1] = 1;
      k--;
    } else {
      added[down - k - 1] = 1;
      k++;
    }
  }
}
