import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { readers } from "../../src/resume/readers.js";

test("what a reader has no longer counts as ahead of it, and is delivered once", () => {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const { advance } = readers({ limits: LIMITS, root, callbacks: {} } as never, {} as never, undefined);
  const delivered: number[] = [];
  let woken = 0;
  const run = {
    sizes: [1, 10, 100, 1000],
    ahead: 1111,
    delivered: 5,
    production: { delivered: (seq: number) => void delivered.push(seq) },
    wake: () => void woken++,
  };
  for (const [seq, sizes, ahead] of [
    [5, [1, 10, 100, 1000], 1111],
    [7, [100, 1000], 1100],
    [6, [100, 1000], 1100],
    [8, [1000], 1000],
    [9, [], 0],
  ] as const) {
    advance(run as never, seq);
    expect([run.sizes, run.ahead]).toEqual([sizes, ahead]);
  }
  expect([delivered, woken]).toEqual([[7, 8, 9], 5]);
});
