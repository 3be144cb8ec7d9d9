import { expect, test } from "vitest";
import { findNearest } from "../src/nearest.js";
import { takeApart } from "../src/sides.js";

const near = (old: readonly string[], lines: readonly string[], hint: number | null) =>
  findNearest(
    takeApart({
      id: "h",
      oldStart: hint === null ? null : hint + 1,
      newStart: null,
      lines: old.map((line) => ` ${line}`),
    }),
    lines,
  );
const nines = Array.from({ length: 9 }, () => "ab");
const blank = (count: number) => Array.from({ length: count }, () => "");
const gap = (length: number) => " ".repeat(length);

test.each<
  [what: string, old: string[], lines: string[], hint: number | null, place: number | null, differs: number | null]
>([
  ["has a line of two characters, not one of one", ["}", "ab"], ["}", "x", "ab"], null, 1, 0],
  ["has most of the lines", ["ab", "cd"], ["ab", "x", "ab", "cd"], null, 2, null],
  ["is the first of those with as many lines", ["ab", "yy", "ef"], ["q", "ab", "ef"], null, 1, 1],
  ["is the one next to the number", ["ab", "yy", "ef"], ["q", "ab", "ef"], 0, 0, 0],
  ["is found by the first eight equal lines", nines, [...blank(8), "ab"], 1, 1, 0],
  ["is not found by the ninth equal line", nines, [...blank(8), "ab"], 0, 1, 0],
  ["begins with the text where its first lines are missing", ["xx", "ab"], ["ab"], null, 0, 0],
  ["differs in a blank line behind the text's end", ["ab", ""], ["ab"], null, 0, 1],
  ["is like the first of the longest lines", ["one two", "six ten"], ["six ten y", "one two y"], null, 1, 0],
  ["is none where half of the words differ", ["one two"], ["one six"], null, null, null],
  ["is like a line that is not the first", ["zzz", "one two three"], ["q", "w", "one two four"], null, 1, 1],
  ["is like the text's first line", ["zzz", "one two three"], ["one two four"], null, 0, 0],
  ["is known by its first 1,000 characters", ["one two"], [`one two${gap(993)}a b c d e f`], null, 0, 0],
  ["is known by words behind the 500th", ["one two three four"], [`one${gap(600)}two three four!`], null, 0, 0],
])("the nearest place %s", (_, old, lines, hint, place, differs) => {
  expect(near(old, lines, hint)).toEqual(place === null ? null : { place, differs });
});
