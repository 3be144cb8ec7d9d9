/** Finds the most similar name, if a typing mistake can explain the difference. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let least = limit + 1;
  for (const one of names) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const changes = distance(name.toLowerCase(), one.toLowerCase());
    if (changes < least) [best, least] = [one, changes];
  }
  return best;
}

/** `; did you mean "…"?`, or nothing. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const one = nearest(name, names);
  return one === undefined ? "" : `; did you mean "${one}"?`;
}

/** Edit distance: letters inserted, deleted, replaced or swapped (optimal string alignment). */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1];
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const changes = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      next.push(swapped ? Math.min(changes, before[j - 2]! + 1) : changes);
    }
    [before, row] = [row, next];
  }
  return row.at(-1)!;
}
