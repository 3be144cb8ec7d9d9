/** A part of a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The places from left to right; those that overlap are one. */
export function merged(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const all: Span[] = [];
  for (const span of sorted) {
    const before = all.at(-1);
    if (before && span.from <= before.to) all[all.length - 1] = { from: before.from, to: Math.max(before.to, span.to) };
    else all.push(span);
  }
  return all;
}
