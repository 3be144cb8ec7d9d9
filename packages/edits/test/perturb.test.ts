import { expect, test, vi } from "vitest";
import { readPairs } from "../bench/pairs.js";
import { isRefusal, makeCases, parlance, score } from "../bench/spoilt.js";
import { anchored } from "../src/match/anchored.js";

vi.setConfig({ testTimeout: 120_000 });

const seed = Number(process.env.SEED ?? 1 + (Date.now() % 10));

test.each([
  { format: "unified", least: 0.955 },
  { format: "begin-patch", least: 0.9 },
  { format: "search-replace", least: 0.83 },
  { format: "str-replace", least: 0.83 },
] as const)(
  `$format as models spoil it: at least $least byte-exact, none wrong, none taken that must be refused, seed ${seed}`,
  ({ format, least }) => {
    const cases = makeCases(format, readPairs(), seed);
    const wrong: unknown[] = [];
    const scores = score(cases, parlance(format), (item, made) => wrong.push({ ...item, made }));
    expect(wrong.slice(0, 1)).toEqual([]);
    const recoverable = [...scores].filter(([kind]) => !isRefusal(kind)).map(([, tally]) => tally);
    const correct = recoverable.reduce((sum, tally) => sum + tally.correct, 0);
    const all = recoverable.reduce((sum, tally) => sum + tally.correct + tally.refused, 0);
    expect(correct / all).toBeGreaterThanOrEqual(least);
    expect(cases.length).toBeGreaterThan(2000);
  },
);

/** What the anchored rung is for: context that the text does not have, or has otherwise. */
const ignored = ["must refuse: hallucinated middle", "must refuse: context of another meaning"];

test.each(["unified", "begin-patch", "search-replace", "str-replace"] as const)(
  `%s on the anchored rung: none wrong, and nothing that must be refused is taken but where only context was invented, seed ${seed}`,
  (format) => {
    const wrong: string[] = [];
    score(makeCases(format, readPairs(), seed), parlance(format, { beyond: anchored }), ({ kind }) => wrong.push(kind));
    expect(wrong.filter((kind) => !ignored.includes(kind))).toEqual([]);
  },
);
