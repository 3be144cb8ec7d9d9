import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPatch, formatPatch } from "@parlance/edits";
import { expect, test } from "vitest";
import { gitDiff, inFolder } from "../git.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";

const seed = seeded(20_261_123);
const rounds = process.env.PARLANCE_LONG ? 50_000 : 6_000;

/** Few lines at few depths, blank ones among them, so that a run of lines can stand in several places. */
const LINES = ["", "", "  ", "a", "b", "  a", "  b", "    a", "\ta", " \tb", "\t", `${" ".repeat(198)}\ta`];

function draw(dice: Random, length: number): string[] {
  return Array.from({ length: 1 + dice.below(length) }, () => dice.pick(LINES));
}

/**
 * Lines, and the same with one piece of them repeated, or a repeated piece dropped: the change can slide. Here and there one side has a line
 * that is nowhere else, so that what slides may meet another change.
 */
function drawPair(dice: Random): [before: string, after: string] {
  const [head, piece, tail] = [draw(dice, 5), draw(dice, 5), draw(dice, 5)];
  const gap = dice.chance(0.1) ? Array.from({ length: 18 + dice.below(5) }, () => "") : [];
  const same = (lines: string[]) => lines.map((line) => [line, line]);
  const unlike = (name: string) =>
    dice.chance(0.15)
      ? [
          dice.pick([
            [null, `new ${name}`],
            [`old ${name}`, null],
            [`old ${name}`, `new ${name}`],
          ]),
        ]
      : [];
  const added = [...piece, ...gap].map((line) => [null, line]);
  const rows: (string | null)[][] = [
    ...same(head),
    ...unlike("a"),
    ...same([...piece, ...gap]),
    ...unlike("b"),
    ...added,
    ...unlike("c"),
    ...same(tail),
  ];
  const [one, other] = [0, 1].map((side) =>
    rows.flatMap((row) => (row[side] === null ? [] : `${row[side]}\n`)).join(""),
  );
  return dice.chance(0.5) ? [one!, other!] : [other!, one!];
}

const hunksOf = (text: string) => text.slice(text.indexOf("\n@@")).replace(/^(@@.*@@).*$/gm, "$1");

test("a change that can stand in several places stands where git's indent heuristic has it", () => {
  const dice = random(seed);
  const pairs = Array.from({ length: rounds }, () => drawPair(dice));
  inFolder((folder) => {
    for (const [side, name] of ["before", "after"].entries()) {
      mkdirSync(join(folder, name));
      for (const [i, pair] of pairs.entries()) writeFileSync(join(folder, name, `${i}`), pair[side]!);
    }
    const files = gitDiff(folder, "before", "after", "--diff-algorithm=myers")
      .split(/^diff --git /m)
      .slice(1);
    expect(files.length).toBe(pairs.length);
    for (const file of files) {
      const [before, after] = pairs[Number(/^a\/before\/(\d+)/.exec(file)![1])]!;
      expect(hunksOf(formatPatch(createPatch(before, after))), JSON.stringify({ before, after })).toBe(hunksOf(file));
    }
  });
});

test.each<[before: string, after: string, lines: string[]]>([
  ["", "\n\n", ["+", "+"]],
  ["\n\n", "a\n\n", ["-", "+a", " "]],
])("a change from %j to %j at the start of the text stands as one run", (before, after, lines) => {
  expect(createPatch(before, after).files[0]!.hunks.map((hunk) => hunk.lines)).toEqual([lines]);
});
