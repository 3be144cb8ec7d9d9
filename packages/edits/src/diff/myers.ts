/**
 * The linear-space difference of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), over integers: both
 * ends search for the middle of the shortest edit path, then the two halves are done in turn. Above the cost bound the
 * search takes the furthest point reached instead, which costs minimality, never correctness.
 */
export function compareNumbers(a: Int32Array, b: Int32Array, cost: number): { removed: Uint8Array; added: Uint8Array } {
  const removed = new Uint8Array(a.length);
  const added = new Uint8Array(b.length);
  const diagonals = a.length + b.length + 3;
  const search: Search = {
    a,
    b,
    // Diagonals run from -b.length - 1 to a.length + 1; the offset makes them indexes.
    offset: b.length + 1,
    forward: new Int32Array(diagonals),
    backward: new Int32Array(diagonals),
    cost,
    ...{ aStart: 0, aEnd: 0, bStart: 0, bEnd: 0, fLow: 0, fHigh: 0, bLow: 0, bHigh: 0 },
    ...{ at: 0, on: 0, thorough: 0 },
  };
  const stack = [0, a.length, 0, b.length, 0];
  while (stack.length > 0) {
    let minimal = stack.pop()! === 1;
    let bEnd = stack.pop()!;
    let bStart = stack.pop()!;
    let aEnd = stack.pop()!;
    let aStart = stack.pop()!;
    for (;;) {
      while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart]) {
        aStart++;
        bStart++;
      }
      while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) {
        aEnd--;
        bEnd--;
      }
      if (aStart === aEnd || bStart === bEnd) {
        removed.fill(1, aStart, aEnd);
        added.fill(1, bStart, bEnd);
        break;
      }
      search.aStart = aStart;
      search.aEnd = aEnd;
      search.bStart = bStart;
      search.bEnd = bEnd;
      findMiddle(search, minimal);
      const { at, on, thorough } = search;
      stack.push(at, aEnd, on, bEnd, thorough & 2 ? 1 : 0);
      aEnd = at;
      bEnd = on;
      minimal = (thorough & 1) === 1;
    }
  }
  return { removed, added };
}

/** The part that is compared, how far the search has come in it, and the point found. One object, because its fields are many. */
interface Search {
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly offset: number;
  readonly forward: Int32Array;
  readonly backward: Int32Array;
  readonly cost: number;
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
  /** The diagonals reached from the start and from the end. */
  fLow: number;
  fHigh: number;
  bLow: number;
  bHigh: number;
  /** The point found. */
  at: number;
  on: number;
  /** Which halves lie on a shortest path, so that their search needs no short cut: 1 the first, 2 the second. */
  thorough: number;
}

function findMiddle(search: Search, minimal: boolean): void {
  const { aStart, aEnd, bStart, bEnd, offset, forward, backward } = search;
  const first = aStart - bStart;
  const last = aEnd - bEnd;
  const odd = ((first - last) & 1) === 1;
  search.fLow = search.fHigh = first;
  search.bLow = search.bHigh = last;
  forward[offset + first] = aStart;
  backward[offset + last] = aEnd;
  for (let steps = 1; ; steps++) {
    if (stepOn(search, odd) || stepBack(search, odd)) return;
    if (!minimal && steps >= search.cost) return giveUp(search);
  }
}

function stepOn(search: Search, odd: boolean): boolean {
  const { a, b, aEnd, bEnd, offset, forward, backward, bLow, bHigh } = search;
  if (search.fLow > search.aStart - bEnd) forward[offset + --search.fLow - 1] = -1;
  else search.fLow++;
  if (search.fHigh < aEnd - search.bStart) forward[offset + ++search.fHigh + 1] = -1;
  else search.fHigh--;
  const { fLow, fHigh } = search;
  // What is to the right of one diagonal is below the next.
  let below = forward[offset + fHigh + 1]!;
  for (let d = fHigh; d >= fLow; d -= 2) {
    const right = forward[offset + d - 1]! + 1;
    const from = Math.max(right, below);
    let x = from;
    let y = x - d;
    while (x < aEnd && y < bEnd && a[x] === b[y]) {
      x++;
      y++;
    }
    forward[offset + d] = x;
    below = right - 1;
    if (odd && bLow <= d && d <= bHigh && backward[offset + d]! <= x) return found(search, x, y, 3);
  }
  return false;
}

function stepBack(search: Search, odd: boolean): boolean {
  const { a, b, aStart, bStart, offset, forward, backward, fLow, fHigh } = search;
  if (search.bLow > aStart - search.bEnd) backward[offset + --search.bLow - 1] = 0x7fffffff;
  else search.bLow++;
  if (search.bHigh < search.aEnd - bStart) backward[offset + ++search.bHigh + 1] = 0x7fffffff;
  else search.bHigh--;
  const { bLow, bHigh } = search;
  let beyond = backward[offset + bHigh + 1]!;
  for (let d = bHigh; d >= bLow; d -= 2) {
    const up = backward[offset + d - 1]!;
    const from = up < beyond ? up : beyond - 1;
    let x = from;
    let y = x - d;
    while (x > aStart && y > bStart && a[x - 1] === b[y - 1]) {
      x--;
      y--;
    }
    backward[offset + d] = x;
    beyond = up;
    if (!odd && fLow <= d && d <= fHigh && x <= forward[offset + d]!) return found(search, x, y, 3);
  }
  return false;
}

function found(search: Search, at: number, on: number, thorough: number): true {
  search.at = at;
  search.on = on;
  search.thorough = thorough;
  return true;
}

function giveUp(search: Search): void {
  const { aStart, aEnd, bStart, bEnd, offset, forward, backward } = search;
  let far = -1;
  let farX = 0;
  for (let d = search.fHigh; d >= search.fLow; d -= 2) {
    const x = Math.min(forward[offset + d]!, aEnd, bEnd + d);
    if (x + x - d > far) {
      far = x + x - d;
      farX = x;
    }
  }
  let near = 0x7fffffff;
  let nearX = 0;
  for (let d = search.bHigh; d >= search.bLow; d -= 2) {
    const x = Math.max(backward[offset + d]!, aStart, bStart + d);
    if (x + x - d < near) {
      near = x + x - d;
      nearX = x;
    }
  }
  if (aEnd + bEnd - near < far - (aStart + bStart)) found(search, farX, far - farX, 1);
  else found(search, nearX, near - nearX, 2);
}
