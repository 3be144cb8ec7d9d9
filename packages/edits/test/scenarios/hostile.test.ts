import { expect, test, vi } from "vitest";
import { measureGrowth } from "../growth.js";
import { READERS, SHAPES } from "../hostile.js";

vi.setConfig({ testTimeout: 300_000 });

const size = process.env.PARLANCE_LONG ? 20_000 : 6_000;

test("there are at least 28 shapes", () => {
  expect(Object.keys(SHAPES).length).toBeGreaterThanOrEqual(28);
});

test.each(Object.keys(SHAPES))("%s: twice the text takes every reader at most 2.6 times as long", async (shape) => {
  for (const [reader, read] of Object.entries(READERS)) {
    const make = (size: number) => {
      const text = SHAPES[shape]!(size);
      return () => read(text);
    };
    expect(await measureGrowth(make, size, 2.6, 3_000), reader).toBeLessThanOrEqual(2.6);
  }
});
