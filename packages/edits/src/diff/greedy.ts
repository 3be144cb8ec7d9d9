import { countSame, type Source } from "./source.js";

/** Up to this many changed lines are found without numbering the lines. */
const FEW = 64;
const UNREACHED = -1;

/** Row d holds the furthest line of `a` on each diagonal from -d to d after d changes, with a margin of two columns. */
const rows = /* @__PURE__ */ new Int32Array((FEW + 1) * (FEW + 5));

function middle(d: number): number {
  return d * (d + 5) + 2;
}

/** Marks the shortest changes by Myers's greedy search; false if there are more than a few. Equal runs are compared as blocks of text. */
export function markFew(
  a: Source,
  b: Source,
  start: number,
  aEnd: number,
  bEnd: number,
  removed: Uint8Array,
  added: Uint8Array,
): boolean {
  const last = aEnd - bEnd;
  if (Math.abs(last) > FEW) return false;
  for (let d = 0; d <= FEW; d++) {
    const row = middle(d);
    rows.fill(UNREACHED, row - d - 2, row + d + 3);
    for (let k = -d; k <= d; k += 2) {
      const from = d === 0 ? start : Math.max(stepRight(d, k, aEnd), stepDown(d, k, bEnd));
      if (from === UNREACHED) continue;
      const x = from + countSame(a, from, aEnd, b, from - k, bEnd);
      rows[row + k] = x;
      if (k === last && x === aEnd) {
        trace(d, k, aEnd, bEnd, removed, added);
        return true;
      }
    }
  }
  return false;
}

function stepRight(d: number, k: number, aEnd: number): number {
  const x = rows[middle(d - 1) + k - 1]!;
  return x !== UNREACHED && x < aEnd ? x + 1 : UNREACHED;
}

function stepDown(d: number, k: number, bEnd: number): number {
  const x = rows[middle(d - 1) + k + 1]!;
  return x - k <= bEnd ? x : UNREACHED;
}

function trace(length: number, end: number, aEnd: number, bEnd: number, removed: Uint8Array, added: Uint8Array): void {
  let k = end;
  for (let d = length; d > 0; d--) {
    const right = stepRight(d, k, aEnd);
    const down = stepDown(d, k, bEnd);
    if (right > down) {
      removed[right - 1] = 1;
      k--;
    } else {
      added[down - k - 1] = 1;
      k++;
    }
  }
}
