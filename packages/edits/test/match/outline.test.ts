import { describe, expect, test } from "vitest";
import { readBlocks, readOutline } from "../../src/match/address.js";
import { startEffort } from "../../src/match/target.js";

const outlineOf = (lines: readonly string[]) => readOutline(lines, startEffort(lines.length));

describe("the columns in front of a line", () => {
  test.each<[line: string, columns: number]>([
    ["a", 0],
    ["  a", 2],
    ["\ta", 8],
    ["   \ta", 8],
    ["        \ta", 16],
    ["\t  a", 10],
    ["  a\r", 2],
    ["", -1],
    ["   ", -1],
    ["\t\r", -1],
    ["\r", -1],
    ["  \ra", 2],
  ])("of %j are %i", (line, columns) => {
    expect(outlineOf([line]).indents).toEqual([columns]);
  });

  test("tell the last line that is not blank", () => {
    expect(outlineOf(["a", "b", "", " "]).last).toBe(1);
    expect(outlineOf(["a"]).last).toBe(0);
    expect(outlineOf(["", ""]).last).toBe(-1);
  });
});

describe("the lines that an anchor means", () => {
  const long = "x".repeat(40);
  test.each<[lines: string[], anchor: string, rows: number[]]>([
    [["  def a():", "def a(): # x", "\tdef  a():"], "def a():", [0, 2]],
    [["def a(x):", "def ab():", "def a", "def a:"], "def a", [2]],
    [["def a(x):", "def ab():", "def a:", "x", "def a(x):"], "def a", [0, 2, 4]],
    [["def a(x):", "def a(y):"], "def a(", [0, 1]],
    [["def a(x):"], "ef a(", []],
    [[`${long}y`], long, [0]],
    [[`${long.slice(1)}y`], long.slice(1), []],
    [["a", ""], "", []],
    [["a", ""], "  ", []],
  ])("in %j of %j are at %j", (lines, anchor, rows) => {
    const { find } = outlineOf(lines);
    expect(find(anchor)).toEqual(rows);
    expect(find(anchor)).toEqual(rows);
  });
});

describe("a line like another, between rows", () => {
  const lines = [
    "def a():",
    "  def x():",
    "def b():",
    "class c:",
    "}",
    "}",
    "@d",
    "@d()",
    "1a",
    "1a",
    "\u00e9t\u00e9",
    "\u00e9t\u00e9 2",
  ];
  test.each<[row: number, from: number, to: number, is: boolean]>([
    [0, 0, 12, true],
    [0, 1, 3, true],
    [0, 1, 2, false],
    [0, 3, 12, false],
    [1, 0, 12, false],
    [2, 0, 12, false],
    [4, 5, 12, false],
    [6, 7, 8, true],
    [8, 9, 10, false],
    [10, 11, 12, true],
  ])("row %i: between %i and %i there is one: %j", (row, from, to, is) => {
    expect(outlineOf(lines).hasLike(row, from, to)).toBe(is);
  });

  test("is not looked for without end", () => {
    const effort = { left: 3 };
    const { hasLike, find } = readOutline(["def a", "x", "x", "x", "x", "def b"], effort);
    expect(hasLike(0, 1, 6)).toBe(false);
    expect(effort.left).toBe(-1);
    expect(find("def")).toEqual([]);
  });
});

describe("the block of a line", () => {
  const endOf = (text: string, row: number) => {
    const lines = text.split("\n");
    return readBlocks(lines, outlineOf(lines).indents, startEffort(lines.length))(row);
  };

  test.each<[what: string, text: string, row: number, end: number]>([
    ["ends before the next line that is no further in", "def a():\n  x\n\ndef b():\n  y", 0, 3],
    ["ends with the text", "def a():\n  x\n\ndef b():\n  y", 3, 5],
    ["of a line inside is the rest of that block", "def a():\n  x\n  y\n\ndef b():", 1, 4],
    ["of an inner head ends with it", "class a:\n  def b():\n    x\n  def c():\n    y\nz", 1, 3],
    ["of an outer head has the inner ones", "class a:\n  def b():\n    x\n  def c():\n    y\nz", 0, 5],
    ["ends behind its closing brace", "a() {\n  x\n}\nb", 0, 3],
    ["may have its brace below it", "a(b,\n  c)\n{\n  x\n}\n\nz", 0, 6],
    ["ends behind the brace of flush lines", "a {\nx\n}\ny", 0, 3],
    ["ends behind the brace of its own", "a {\nb {\n}\nx\n}\ny", 0, 5],
    ["of an inner brace ends before the outer", "a {\nb {\n}\nx\n}\ny", 1, 3],
    ["with two braces on a line ends behind both", "a { b {\nx\n}\ny\n}\nz", 0, 5],
    ["whose braces are even on one line is the rest", "a {}\nx\ny", 0, 3],
    ["without a closing brace is the rest", "a {\nx\ny", 0, 3],
    ["of a heading ends before one of its level", "# a\nx\n## b\ny\n# c\nz", 0, 4],
    ["of a lower heading ends before a higher", "# a\nx\n## b\ny\n# c\nz", 2, 4],
    ["of a heading has the lower ones", "## a\nx\n### b\ny\n## c", 0, 4],
    ["of a heading has what only looks like one", "## a\nx\n#b\n##\ty\n# c", 0, 3],
    ["of seven signs is the rest", "####### a\nx\n# b\ny", 0, 4],
    ["of a line in brackets ends before the next", "[a]\nx = 1\n[b]\ny", 0, 2],
    ["of a line in brackets has arrays", "[a]\nx = [\n1]\n[b]\ny", 0, 3],
    ["of a line in brackets has no heading", "[a]\n# x\n[b]", 0, 2],
    ["of a plain line is the rest", "a\nb\nc", 0, 3],
  ])("%s", (_, text, row, end) => {
    expect(endOf(text, row)).toBe(end);
  });

  test.each([")", "]", "}", "{", ",", ":", "*/", "#if x", "#else", "#endif", "#define x", "#undef x"])(
    "goes on with %j at its own depth",
    (line) => {
      expect(endOf(`if a\n  x\n${line}\n  y\nz`, 0)).toBe(4);
    },
  );

  test.each(["end", "else", "catch (e)", "(", "do", "# if", "x else"])("does not go on with %j", (line) => {
    expect(endOf(`if a\n  x\n${line}\n  y\nz`, 0)).toBe(2);
  });

  test("is the line alone where it would be looked for too long", () => {
    const lines = ["# a", "x", "y", "z", "# b"];
    expect(readBlocks(lines, outlineOf(lines).indents, { left: 2 })(0)).toBe(1);
  });
});
