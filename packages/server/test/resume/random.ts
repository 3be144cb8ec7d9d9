/** Numbers between 0 and 1 that a seed repeats (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seeds from 1 on, or those of PARLANCE_SEED: `7` replays one, `101..200` runs others. */
export function seedsFor(count: number): readonly number[] {
  const { PARLANCE_SEED } = process.env;
  const [first = 1, last = first] = PARLANCE_SEED ? PARLANCE_SEED.split("..").map(Number) : [1, count];
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
