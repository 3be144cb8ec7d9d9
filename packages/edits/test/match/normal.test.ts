import { describe, expect, test } from "vitest";
import { evenEndings } from "../../src/apply.js";
import { endingAt, hasReturns, lineStarts, spliceText } from "../../src/lines.js";
import { readOutline } from "../../src/match/address.js";
import { lastUpTo, looseLine, plainTypography, startEffort } from "../../src/match/target.js";
import { hintOf, takeApart } from "../../src/sides.js";

test.each([
  ["'", "\u2018\u2019\u201a\u201b"],
  ['"', "\u201c\u201d\u201e\u201f"],
  ["-", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"],
  [" ", "\u00a0\u2000\u2005\u200a\u202f\u205f"],
  ["...", "\u2026"],
])("the keyboard form %j is that of other characters", (plain, fancies) => {
  for (const fancy of fancies) {
    expect(plainTypography(`a${fancy}b${fancy}`)).toBe(`a${plain}b${plain}`);
    expect(looseLine(` a${fancy}b `)).toBe(`a${plain}b`);
  }
});

test("other characters stay as they are", () => {
  for (const line of ["", "a b", "é", "\u00ab\u00bb", "\u2017", "\u2016", "\u3000a", "日本", "a\tb"])
    expect(plainTypography(line)).toBe(line);
});

test.each([
  ["", ""],
  ["  ", ""],
  [" a", "a"],
  ["a\r", "a"],
  ["a  b", "a b"],
  ["a\tb", "a b"],
  ["\ta \t b\t", "a b"],
  ["a b", "a b"],
])("the line %j is loosely %j", (line, loose) => {
  expect(looseLine(line)).toBe(loose);
});

describe("line endings", () => {
  test.each([
    ["a\r\nb\r\n", true],
    ["a\r\nb", true],
    ["a\r\nb\n", false],
    ["\na\r\n", false],
    ["\r\n", true],
    ["a\rb", false],
    ["", false],
  ])("of %j are carriage returns everywhere or not", (text, all) => {
    expect(hasReturns(text)).toBe(all);
  });

  test.each([
    ["a\r\nb\n", 0, "\r\n"],
    ["a\r\nb\n", 3, "\n"],
    ["a\nb\r\n", 1, "\n"],
    ["a\nb\r\n", 2, "\r\n"],
    ["a\r\nb", 3, "\r\n"],
    ["a\nb", 2, "\n"],
    ["ab", 0, "\n"],
    ["\na", 0, "\n"],
    ["", 0, "\n"],
  ])("of %j at %d: %j", (text, offset, ending) => {
    expect(endingAt(text, offset)).toBe(ending);
  });

  const hunk = (lines: string[], more = {}) => ({ id: "h", oldStart: 1, newStart: 1, lines, ...more });
  test.each<[what: string, lines: string[][], text: string, made: string[][], more?: object]>([
    ["get a return where the text has them", [[" a", "+b"]], "a\r\n", [[" a\r", "+b\r"]]],
    ["lose it where the text has none", [[" a\r", "+b\r"]], "a\n", [[" a", "+b"]]],
    ["stay where the text has both", [[" a", "+b"]], "a\r\nb\n", [[" a", "+b"]]],
    ["stay where a hunk has both", [[" a", "+b\r"]], "a\n", [[" a", "+b\r"]]],
    ["stay where another hunk has others", [[" a\r"], [" b"]], "a\nb\n", [[" a\r"], [" b"]]],
    ["stay where they are the text's", [[" a\r"]], "a\r\n", [[" a\r"]]],
    ["lose it beside lines inserted by number", [["+a\r"], [" b\r"]], "b\n", [["+a"], [" b"]]],
    ["keep it in lines inserted by number alone", [["+a\r"]], "b\n", [["+a\r"]]],
    ["stay where the hunk knows the end", [[" a"]], "a\r\n", [[" a"]], { oldNoNewline: true }],
    ["stay where the hunk changes the end", [[" a"]], "a\r\n", [[" a"]], { newNoNewline: true }],
  ])("of hunks %s", (_, lines, text, made, more) => {
    const hunks = lines.map((own) => hunk(own, more));
    const even = evenEndings(hunks, text);
    expect(even).toEqual(made.map((own) => hunk(own, more)));
    expect(even === hunks).toBe(JSON.stringify(lines) === JSON.stringify(made));
  });
});

test("the last of sorted values up to a limit is found in lists of each length", () => {
  for (let length = 0; length < 9; length++) {
    const sorted = Array.from({ length }, (_, i) => 2 * i);
    for (let limit = -2; limit < 2 * length + 2; limit++)
      expect(lastUpTo(sorted, limit)).toBe(sorted.findLastIndex((value) => value <= limit));
  }
  expect([lastUpTo(["a", "b", "b"], "b"), lastUpTo(["a", "b"], "B")]).toEqual([2, -1]);
});

test("lines start behind each line feed, and one more at the end", () => {
  expect(["", "a", "a\n", "\n\n", "a\nb"].map(lineStarts)).toEqual([[0], [0, 1], [0, 2], [0, 1, 2], [0, 2, 3]]);
});

test("the budget of a search grows with the text", () => {
  expect([startEffort(0), startEffort(10)]).toEqual([{ left: 100_000 }, { left: 100_500 }]);
});

test("splices replace what is between them and leave the rest", () => {
  const splices = [
    { from: 0, to: 1, insert: "x" },
    { from: 3, to: 3, insert: "yy" },
    { from: 4, to: 6, insert: "" },
  ];
  expect([spliceText("abcdefg", splices), spliceText("abc", [])]).toEqual(["xbcyydg", "abc"]);
});

describe("a hunk taken apart", () => {
  const take = (lines: string[], oldStart: number | null = 5) => takeApart({ id: "h", oldStart, newStart: 1, lines });
  test("has its sides, its changes and how much context is around them", () => {
    expect(take([" a", " b", "-c", "+d", "+e", " f", "-g", " h", " i", " j"])).toMatchObject({
      old: ["a", "b", "c", "f", "g", "h", "i", "j"],
      new: ["a", "b", "d", "e", "f", "h", "i", "j"],
      deleted: [false, false, true, false, true, false, false, false],
      changes: [
        { from: 2, to: 3, insert: ["d", "e"] },
        { from: 4, to: 5, insert: [] },
      ],
      inserts: true,
      leading: 2,
      trailing: 3,
      hint: 4,
    });
  });

  test("has one change where deleted and added lines follow each other in any order", () => {
    expect(take(["+a", "-b", "+c"])).toMatchObject({
      changes: [{ from: 0, to: 1, insert: ["a", "c"] }],
      leading: 0,
      trailing: 0,
    });
  });

  test("of context or of deleted lines alone inserts nothing", () => {
    expect(take([" a", " b"])).toMatchObject({ changes: [], inserts: false, leading: 2, trailing: 2 });
    expect(take(["-a"])).toMatchObject({ inserts: false, leading: 0, trailing: 0 });
  });

  test("begins one line before its number, unless it only inserts", () => {
    const hint = (lines: string[], oldStart: number | null) => hintOf({ id: "h", oldStart, newStart: null, lines });
    expect([hint(["+a"], 3), hint(["-a"], 3), hint(["+a", " b"], 3), hint([" a"], null)]).toEqual([3, 2, 2, null]);
  });
});

describe("the outline of a text", () => {
  const lines = ["class A {", "  run() {", "\tx", "", "    \r", "  run(a) {", "  runs {", "}", ""];
  const outline = () => readOutline(lines, startEffort(0));
  test("has the columns of each line, and the last that is not blank", () => {
    expect(outline()).toMatchObject({ indents: [0, 2, 8, -1, -1, 2, 2, 0, -1], last: 7 });
    expect(readOutline(["  \ta", "a\r", " \r b"], startEffort(0)).indents).toEqual([8, 0, 1]);
    expect(readOutline([], startEffort(0)).last).toBe(-1);
  });

  test.each([
    ["run() {", [1]],
    ["  class   A {", [0]],
    ["run", [1, 5]],
    ["run(", [1, 5]],
    ["class A", [0]],
    ["clas", []],
    ["", []],
    ["z", []],
  ])("finds %j", (line, rows) => {
    expect(outline().find(line)).toEqual(rows);
  });

  test("finds a line that is cut off inside of a word, from 40 characters on", () => {
    const long = `${"a".repeat(38)}bcd`;
    const { find } = readOutline(["x", long], startEffort(0));
    expect([find(long.slice(0, 40)), find(long.slice(0, 39))]).toEqual([[1], []]);
  });

  test.each([
    [1, 2, 6, true],
    [1, 2, 5, false],
    [1, 0, 6, true],
    [1, 6, 9, false],
    [0, 1, 9, false],
    [7, 0, 9, false],
  ])("says whether a line like that of row %d is in rows %d to %d", (row, from, to, like) => {
    expect(outline().hasLike(row, from, to)).toBe(like);
  });

  test("finds nothing without a budget", () => {
    const effort = { left: 1, searches: 0 };
    const { find, hasLike } = readOutline(lines, effort);
    expect([find("run"), hasLike(1, 2, 6)]).toEqual([[], false]);
  });
});
