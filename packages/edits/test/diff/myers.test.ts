import { describe, expect, test } from "vitest";
import { compareNumbers } from "../../src/diff/myers.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";

const seed = seeded(20_261_124);
const rounds = process.env.PARLANCE_LONG ? 20_000 : 1_500;

const draw = (dice: Random, length: number, values: number) =>
  Array.from({ length: dice.below(length + 1) }, () => dice.below(values));

/** The number of values that are removed and added, once what is kept of both sides has been found to be the same. */
function countChanges(a: readonly number[], b: readonly number[], cost: number, label?: unknown): number {
  const { removed, added } = compareNumbers(Int32Array.from(a), Int32Array.from(b), cost);
  const kept = a.filter((_, i) => removed[i] === 0);
  expect(
    b.filter((_, i) => added[i] === 0),
    JSON.stringify(label),
  ).toEqual(kept);
  // Each value is marked by 1, which is what its readers compare with.
  expect(Math.max(0, ...removed, ...added)).toBeLessThanOrEqual(1);
  return a.length + b.length - 2 * kept.length;
}

/** The fewest changes that can be, from the longest common subsequence. */
function countLeast(a: readonly number[], b: readonly number[]): number {
  let row = new Int32Array(b.length + 1);
  for (const value of a) {
    const next = new Int32Array(b.length + 1);
    for (const [j, other] of b.entries()) next[j + 1] = value === other ? row[j]! + 1 : Math.max(next[j]!, row[j + 1]!);
    row = next;
  }
  return a.length + b.length - 2 * row[b.length]!;
}

describe("a difference of numbers", () => {
  test("is as short as any, where no bound cuts the search short", () => {
    const dice = random(seed);
    for (let round = 0; round < rounds; round++) {
      const values = 1 + dice.below(6);
      const [a, b] = [draw(dice, 16, values), draw(dice, 16, values)];
      expect(countChanges(a, b, Number.POSITIVE_INFINITY, { a, b }), JSON.stringify({ a, b })).toBe(countLeast(a, b));
    }
  });

  test("is one, if not the shortest, whatever the bound", () => {
    const dice = random(seed + 1);
    let [made, least] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const [a, b] = [draw(dice, 30, 5), draw(dice, 30, 5)];
      made += countChanges(a, b, 1 + dice.below(3), { a, b });
      least += countLeast(a, b);
    }
    expect(made / least).toBeLessThan(1.15);
  });

  test.each(["at the beginning", "in the middle", "at the end", "on both sides"] as const)(
    "of two long lists keeps long runs that both have %s",
    (place) => {
      const dice = random(seed + 2);
      const noise = (count: number) => Array.from({ length: count }, () => dice.below(40));
      const run = (from: number) => Array.from({ length: 120 }, (_, i) => 1000 + from + i);
      const runs = { "at the beginning": [1], "in the middle": [3], "at the end": [5], "on both sides": [1, 5] }[place];
      const list = () => [0, 1, 2, 3, 4, 5, 6].flatMap((i) => (runs.includes(i) ? run(200 * i) : noise(160)));
      for (let round = 0; round < 3; round++) {
        const [a, b] = [list(), list()];
        const made = countChanges(a, b, 400);
        expect(made / countLeast(a, b)).toBeLessThan(1.1);
      }
    },
  );

  /** Runs of lines that both lists have, by length, and between them as many that only one of them has. */
  function drawRuns(
    parts: readonly (readonly [noise: number, run: number])[],
  ): [a: number[], b: number[], changes: number] {
    const [a, b]: [number[], number[]] = [[], []];
    for (const [i, [noise, run]] of parts.entries()) {
      for (let k = 0; k < noise; k++) {
        a.push(10_000 * i + k);
        b.push(-10_000 * i - k - 1);
      }
      const same = Array.from({ length: run }, (_, k) => 10_000 * i + 5_000 + k);
      a.push(...same);
      b.push(...same);
    }
    return [a, b, 2 * parts.reduce((sum, [noise]) => sum + noise, 0)];
  }

  const PARTS: Record<string, (readonly [noise: number, run: number])[]> = {
    "far ahead of many changes": [
      [60, 800],
      [70, 60],
      [600, 0],
    ],
    "far behind many changes": [
      [600, 60],
      [70, 800],
      [60, 0],
    ],
    "on both sides of many changes": [
      [60, 800],
      [70, 60],
      [500, 60],
      [70, 800],
      [60, 0],
    ],
    "among changes": [
      [150, 30],
      [150, 30],
      [150, 30],
      [150, 30],
      [150, 0],
    ],
  };

  test.each(Object.keys(PARTS))("is as short as any where long runs of the same stand %s", (place) => {
    const [a, b, changes] = drawRuns(PARTS[place]!);
    expect(countChanges(a, b, Number.POSITIVE_INFINITY)).toBe(changes);
    expect(countChanges(b, a, Number.POSITIVE_INFINITY)).toBe(changes);
    for (const cost of [20, 100, 300]) {
      expect(countChanges(a, b, cost)).toBeGreaterThanOrEqual(changes);
      expect(countChanges(a.toReversed(), b.toReversed(), cost)).toBeGreaterThanOrEqual(changes);
    }
  });

  test("is as short as any where the bound lets the search come to the next long run", () => {
    for (const parts of Object.values(PARTS)) {
      const [a, b, changes] = drawRuns(parts);
      expect(countChanges(a, b, 150)).toBe(changes);
      expect(countChanges(a.toReversed(), b.toReversed(), 150)).toBe(changes);
    }
  });
});
