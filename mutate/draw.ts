import type { Mutant } from "./mutants.js";

/**
 * Mutants in the order in which they are tried: lines in an order drawn from the seed, each with its mutants in a drawn order. A longer sample of
 * the same seed begins with the shorter one.
 */
export function draw(mutants: readonly Mutant[], seed: number): Mutant[][] {
  const lines = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    const place = `${mutant.file}:${mutant.line}`;
    lines.set(place, [...(lines.get(place) ?? []), mutant]);
  }
  const random = randomOf(seed);
  return shuffled([...lines.values()], random).map((line) => shuffled(line, random));
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Numbers between 0 and 1 that a seed repeats (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
