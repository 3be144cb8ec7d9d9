/** The last of sorted values that is at most this one, as an index; -1 where all are larger. */
export function lastUpTo<Value extends number | string>(sorted: readonly Value[], limit: Value): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
