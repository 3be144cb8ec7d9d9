import { describe, test, vi } from "vitest";
import { createPatch } from "../../src/diff/create.js";
import { expectLaws } from "../laws.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";

vi.setConfig({ testTimeout: 120_000 });

const seed = seeded(Date.now() % 1_000_000);
const rounds = process.env.PARLANCE_LONG ? 700 : 250;

const small: readonly (readonly [before: string, after: string])[] = [
  ["", "a\n"],
  ["", "a"],
  ["a\n", ""],
  ["a", ""],
  ["a", "a\n"],
  ["a\n", "a"],
  ["a\nb", "a\nb\nc"],
  ["a\nb", "c\na\nb"],
  ["a\r\nb\r\n", "a\r\nx\r\nb\r\n"],
  ["a\nb\r\n", "a\r\nb\n"],
  ["\ufeffa\nb\n", "\ufeffx\nb\n"],
  ["\ufeffa\nb\n", "a\nb\n"],
  ["x\n".repeat(20), "x\n".repeat(21)],
  ["x\n".repeat(20), "x\n".repeat(19)],
  ["\n".repeat(10), "\n".repeat(12)],
  ["{\n}\n\n{\n}\n\n{\n}\n", "{\n}\n\n{\n}\n\n{\n}\n\n{\n}\n"],
  ["a\n", "a\n"],
];

describe("the laws of a patch", () => {
  test.each(small)("hold for %j to %j with every amount of context", (before, after) => {
    for (const context of [0, 1, 2, 3, 10]) expectLaws(createPatch(before, after, { context }), before, after);
  });

  test("hold for random edits of real sources", () => {
    const source = random(seed);
    for (const text of readSources(120)) {
      const after = editText(source, text, 1 + source.below(12));
      expectLaws(createPatch(text, after, { context: source.pick([0, 1, 3, 3, 3, 8]) }), text, after);
    }
  });

  test("hold for texts of few distinct lines, where every place looks like another", () => {
    const source = random(seed);
    const draw = () =>
      Array.from({ length: source.below(40) }, () => source.pick(["", "a", "b", "}", "  a"])).join("\n");
    for (let i = 0; i < rounds; i++) {
      const [before, after] = [draw(), draw()];
      expectLaws(createPatch(before, after, { context: source.below(5) }), before, after);
      const near = editText(source, before, 1);
      expectLaws(createPatch(before, near, { context: source.below(4) }), before, near);
    }
  });
});
