/**
 * How much longer the work takes on an input twice as large: the median of five of each, by processor time, so that other
 * processes on the machine do not count. Linear work gives 2, quadratic work 4. What disturbs a measurement only makes it worse,
 * so the best of up to eight is taken, the first that is good enough. Memory grows in steps, and between two of them a
 * collection of garbage falls on the larger input alone: inputs half as large and twice as large are measured before the work is
 * called too slow. Quadratic work fails them all. A ratio says nothing of less than `least` microseconds, which count as so many.
 */
export async function measureGrowth(
  make: (size: number) => () => unknown,
  size: number,
  enough = 2.4,
  least = 1,
): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (const each of [size, Math.ceil(size / 2), 2 * size]) {
    best = Math.min(best, await measureAt(make, each, enough, least));
    if (best <= enough) break;
  }
  return best;
}

async function measureAt(
  make: (size: number) => () => unknown,
  size: number,
  enough: number,
  least: number,
): Promise<number> {
  const [small, large] = [make(size), make(2 * size)];
  await small();
  const first = await timeOf(large);
  if (first < 2 * least) return first / least;
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && best > enough; tries++) {
    for (let i = 0; i < 3; i++) await small();
    // In turn, so that a machine that is busy is busy for both.
    const times: [small: number[], large: number[]] = [[], []];
    for (let i = 0; i < 5; i++) {
      times[0].push(await timeOf(small));
      times[1].push(await timeOf(large));
    }
    best = Math.min(best, median(times[1]) / Math.max(least, median(times[0])));
  }
  return best;
}

/** Microseconds of the processor. */
async function timeOf(run: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}
