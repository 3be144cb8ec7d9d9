/** Line comparisons left: what keeps the time linear on texts that repeat themselves. */
export interface Effort {
  left: number;
}

export function startEffort(lines: number): Effort {
  return { left: 100_000 + 50 * lines };
}
