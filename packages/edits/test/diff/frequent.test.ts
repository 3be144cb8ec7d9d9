import { expect, test } from "vitest";
import { diffLines } from "../../src/diff/diff.js";
import { readSource } from "../../src/diff/source.js";

const lines = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}\n`).join("");
const braces = (count: number) => Array.from({ length: count }, (_, i) => `z${i}\n}\n`).join("");

/** How many braces of the old text stay where they stand among lines that the new one lacks. */
function countKept(before: string, after: string): number {
  const gone = diffLines(readSource(before), readSource(after));
  const isKept = (line: string, i: number) =>
    line === "}" && !gone.some(({ oldStart, oldEnd }) => i >= oldStart && i < oldEnd);
  return before.split("\n").filter(isKept).length;
}

test.each([
  ["as many as the root of the old lines", 8, 0],
  ["fewer than that", 7, 1],
])("a line is no landmark among lines that are gone where the new text has it very often: %s", (_, count, kept) => {
  expect(countKept(`${lines("x", 30)}}\n${lines("y", 30)}`, braces(count))).toBe(kept);
});

test.each([
  ["six of eight", 3, 3, 1, 1],
  ["seven of nine", 4, 3, 1, 0],
  ["seven of nine, one of them above", 1, 6, 1, 0],
  ["none below", 7, 0, 1, 1],
  ["ten of thirteen, from the first line on", 5, 5, 2, 0],
])("it is none where more than three in four of the lines around are gone: %s", (_, above, below, own, kept) => {
  const before = `${lines("x", above)}${"}\n".repeat(own)}${lines("y", below)}k\n${lines("w", 200)}`;
  expect(countKept(before, `${braces(20)}k\n`)).toBe(kept);
});

test("it is one where others like it fill the hundred lines on one side", () => {
  const own = "}\n".repeat(34);
  for (const [above, below] of [
    [110, 1],
    [1, 110],
  ] as const) {
    const before = `${lines("x", above)}${own}${lines("y", below)}k\n${lines("w", 200)}`;
    expect(countKept(before, `${braces(20)}k\n${"}\n".repeat(20)}`)).toBeGreaterThan(30);
  }
});
