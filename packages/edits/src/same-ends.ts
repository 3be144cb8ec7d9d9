/** How much two sequences have in common at their beginnings, and behind that at their ends. */
export function commonEnds<Item>(a: ArrayLike<Item>, b: ArrayLike<Item>): { head: number; tail: number } {
  const least = Math.min(a.length, b.length);
  let head = 0;
  while (head < least && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < least - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}
