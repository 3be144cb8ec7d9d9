/** What is left of the budget that keeps the time linear: comparisons of lines, and searches of the whole text for parts of lines. */
export interface Effort {
  left: number;
  searches: number;
}

export function startEffort(lines: number): Effort {
  return { left: 100_000 + 50 * lines, searches: 100 };
}
