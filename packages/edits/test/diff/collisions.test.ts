import { expect, test, vi } from "vitest";
import { diffLines } from "../../src/diff/diff.js";
import { internByHash } from "../../src/diff/intern.js";
import { readSource } from "../../src/diff/source.js";
import { random } from "../random.js";

test("lines have the same numbers by their hashes as by their texts, from the first line that differs", () => {
  const dice = random(1);
  for (let round = 0; round < 200; round++) {
    const lines = () =>
      Array.from({ length: 1 + dice.below(30) }, () => dice.pick(["", "a", "b", "ab", "ba", "é", "\ud800", "  a"]));
    const [a, b] = [lines(), lines()].map((all) => readSource(all.join("\n"))) as [
      ReturnType<typeof readSource>,
      ReturnType<typeof readSource>,
    ];
    const start = dice.below(Math.min(a.length, b.length) + 1);
    const { left, right, size } = internByHash(a, b, start, a.length, b.length);
    const texts = [a, b].flatMap(({ text, starts, length }) =>
      Array.from({ length: length - start }, (_, i) => text.slice(starts[start + i], starts[start + i + 1])),
    );
    const all = [...new Set(texts)];
    expect([...left, ...right]).toEqual(texts.map((each) => all.indexOf(each)));
    expect(size).toBe(all.length);
  }
});

test("lines that are equal by their hashes alone are not taken for one", async () => {
  // The multipliers are random, so that nobody can prepare such lines. Here they are 1.
  vi.spyOn(Math, "random").mockReturnValue(0);
  vi.resetModules();
  const known = (await import("../../src/diff/diff.js")) as typeof import("../../src/diff/diff.js");
  vi.restoreAllMocks();
  const [one, other] = collision();
  // More changes than are looked for without hashes.
  const text = (letter: string, line: string) =>
    readSource(Array.from({ length: 200 }, (_, i) => (i === 100 ? line : `${letter}${i}`)).join("\n"));
  const all = [{ oldStart: 0, oldEnd: 200, newStart: 0, newEnd: 200 }];
  expect(known.diffLines(text("x", one), text("y", other))).toEqual(all);
  const kept = diffLines(text("x", one), text("y", one));
  expect(kept).toEqual([
    { oldStart: 0, oldEnd: 100, newStart: 0, newEnd: 100 },
    { oldStart: 101, oldEnd: 200, newStart: 101, newEnd: 200 },
  ]);
});

/** Two lines with the same hashes where both multipliers are 1. */
function collision(): [string, string] {
  const seen = new Map<string, string>();
  for (let i = 0; ; i++) {
    const line = i.toString(36);
    let [first, second] = [0, 0];
    for (const letter of `${line}\n`) {
      first += letter.charCodeAt(0);
      second = (second ^ letter.charCodeAt(0)) + 1;
    }
    const before = seen.get(`${first} ${second}`);
    if (before !== undefined) return [before, line];
    seen.set(`${first} ${second}`, line);
  }
}
