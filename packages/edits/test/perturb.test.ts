import { expect, test, vi } from "vitest";
import { readPairs } from "../bench/pairs.js";
import { isRefusal, makeCases, parlance, score } from "../bench/spoilt.js";
import { anchored } from "../src/anchored.js";

vi.setConfig({ testTimeout: 120_000 });

const seed = Number(process.env.SEED ?? 1 + (Date.now() % 5));

test.each([
  { form: "unified", least: 0.9 },
  { form: "search-replace", least: 0.75 },
  { form: "str-replace", least: 0.75 },
] as const)(
  `$form as models spoil it: at least $least byte-exact, none wrong, none taken that must be refused, seed ${seed}`,
  ({ form, least }) => {
    const cases = makeCases(form, readPairs(), seed);
    const wrong: unknown[] = [];
    const scores = score(cases, parlance(form), (item, made) => wrong.push({ ...item, made }));
    expect(wrong.slice(0, 1)).toEqual([]);
    const recoverable = [...scores].filter(([kind]) => !isRefusal(kind)).map(([, tally]) => tally);
    const correct = recoverable.reduce((sum, tally) => sum + tally.correct, 0);
    const all = recoverable.reduce((sum, tally) => sum + tally.correct + tally.refused, 0);
    expect(correct / all).toBeGreaterThanOrEqual(least);
    expect(cases.length).toBeGreaterThan(2000);
  },
);

test.each(["unified", "search-replace", "str-replace"] as const)(
  `%s on the anchored rung: none wrong, and nothing that must be refused is taken but where only context was invented, seed ${seed}`,
  (form) => {
    const wrong: string[] = [];
    score(makeCases(form, readPairs(), seed), parlance(form, { beyond: anchored }), ({ kind }) => wrong.push(kind));
    expect(wrong.filter((kind) => kind !== "must refuse: hallucinated middle")).toEqual([]);
  },
);
