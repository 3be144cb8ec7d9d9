/**
 * How much longer the work takes on an input twice as large: the median of five of each, by processor time, so that other
 * processes on the machine do not count. Linear work gives 2, quadratic work 4; the best of three tries is taken.
 */
export function measureGrowth(make: (size: number) => () => unknown, size: number): number {
  const [small, large] = [make(size), make(2 * size)];
  const ratios = [1, 2, 3].map(() => {
    for (let i = 0; i < 3; i++) small();
    return median(large) / median(small);
  });
  return Math.min(...ratios);
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
