/** Line comparisons left: this budget keeps the time linear on repetitive texts. */
export interface Effort {
  left: number;
}

export function startEffort(lines: number): Effort {
  return { left: 100_000 + 50 * lines };
}
