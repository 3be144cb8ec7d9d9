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

/** Whether a part has characters in common with one of these. */
export const overlaps = (spans: readonly Span[]) => (one: Span) =>
  spans.some(({ from, to }) => from < one.to && one.from < to);

/** A text with its parts changed. */
export function replaced(text: string, parts: readonly Span[], change: (part: string) => string): string {
  if (parts.length === 0) return text;
  let clean = "";
  let at = 0;
  for (const { from, to } of parts) {
    clean += text.slice(at, from) + change(text.slice(from, to));
    at = to;
  }
  return clean + text.slice(at);
}
