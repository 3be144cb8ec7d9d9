/** What the benches here have in common: rounds, medians, and how a figure is printed. */

/** `--quick` takes fewer rounds of fewer messages: the same work, a rougher figure. */
export const quick = process.argv.includes("--quick");

export function median(all: readonly number[]): number {
  return quantile(all, 0.5);
}

/** The value below which the share `q` of all values lies (nearest rank). */
export function quantile(all: readonly number[], q: number): number {
  if (all.length === 0) throw new Error("nothing was measured");
  return all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(q * all.length))]!;
}

/** Runs every side once a round, so that what else the machine does falls on all alike. The first round is warm-up and does not count. */
export async function interleave<Side extends string, Figure>(
  sides: readonly Side[],
  rounds: number,
  run: (side: Side) => Promise<Figure>,
): Promise<Record<Side, Figure[]>> {
  const figures = Object.fromEntries(sides.map((side) => [side, []])) as unknown as Record<Side, Figure[]>;
  for (let round = 0; round <= rounds; round++)
    for (const side of sides) {
      const figure = await run(side);
      if (round > 0) figures[side].push(figure);
    }
  return figures;
}

export function thousands(perSecond: number): string {
  return `${Math.round(perSecond / 1000).toLocaleString("en")}k/s`;
}

export function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString("en")} ms`;
}
