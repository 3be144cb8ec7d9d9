/**
 * How much longer the work takes on an input twice as large: the median of five of each, by processor time, so that other
 * processes on the machine do not count. Linear work gives 2, quadratic work 4. What disturbs a measurement only makes it worse,
 * so the best of up to eight is taken, the first that is good enough, and then of eight on inputs half as large, where collecting
 * garbage weighs less; quadratic work fails them all. A ratio says nothing of less than `least` microseconds, which count as so many.
 */
export function measureGrowth(make: (size: number) => () => unknown, size: number, enough = 2.4, least = 1): number {
  const best = measureAt(make, size, enough, least);
  return best <= enough ? best : Math.min(best, measureAt(make, Math.ceil(size / 2), enough, least));
}

function measureAt(make: (size: number) => () => unknown, size: number, enough: number, least: number): number {
  const [small, large] = [make(size), make(2 * size)];
  small();
  const first = median(large, 1);
  if (first < 2 * least) return first / least;
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && best > enough; tries++) {
    for (let i = 0; i < 3; i++) small();
    best = Math.min(best, median(large) / Math.max(least, median(small)));
  }
  return best;
}

function median(run: () => unknown, runs = 5): number {
  const times = Array.from({ length: runs }, () => {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    return user + system;
  });
  return times.sort((a, b) => a - b)[runs >> 1]!;
}
