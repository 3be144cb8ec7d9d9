/**
 * How much longer the work takes on an input twice as large: the median of five of each, by processor time, so that other
 * processes on the machine do not count. Linear work gives 2, quadratic work 4. What disturbs a measurement only makes it worse,
 * so the best of up to eight is taken, the first that is good enough; quadratic work fails them all.
 */
export function measureGrowth(make: (size: number) => () => unknown, size: number, enough = 2.4): number {
  const [small, large] = [make(size), make(2 * size)];
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && best > enough; tries++) {
    for (let i = 0; i < 3; i++) small();
    best = Math.min(best, median(large) / median(small));
  }
  return best;
}

function median(run: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    return user + system;
  });
  return Math.max(1, times.sort((a, b) => a - b)[2]!);
}
