import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { readBlocks, readOutline } from "../../src/match/address.js";
import { startEffort } from "../../src/match/target.js";

type Row = [what: string, text: string, lines: string, made: string, rungs?: string, path?: string];

/** The text that a hunk without number makes, and its rungs; or why none. */
const expectRow = (_: string, text: string, lines: string, made: string, rungs?: string, path = "x") => {
  const hunk = { id: "h", oldStart: null, newStart: null, lines: lines.split("\n") };
  const result = applyPatch({ kind: "modify", before: path, after: path, hunks: [hunk] }, text);
  const own = result.ok ? [result.text, result.hunks[0]!.repairs.join(" ")] : [result.conflicts[0]!.reason];
  expect(own).toEqual(rungs === undefined ? [made] : [made, rungs]);
};

describe("typography", () => {
  test.each<Row>([
    ["of the text is its own: spaces", "f(\u00a0a)\nb\n", " f( a)\n-b\n+c", "f(\u00a0a)\nc\n", "typography"],
    ["of the text is its own: dashes", "a \u2014 b\nc\n", " a - b\n-c\n+d", "a \u2014 b\nd\n", "typography"],
    ["of the text is its own: dots", "a\u2026\nc\n", " a...\n-c\n+d", "a\u2026\nd\n", "typography"],
    ["of the text is its own: quotes", "it\u2019s\nc\n", " it's\n-c\n+d", "it\u2019s\nd\n", "typography"],
    ["of the text is its own: low quotes", "\u201ea\u201c\nc\n", ' "a"\n-c\n+d', "\u201ea\u201c\nd\n", "typography"],
    ["of new lines becomes plain", "'a'\n", "-\u2018a\u2019\n+\u2018b\u2019", "'b'\n", "typography"],
    ["of new lines becomes plain: double quotes", '"a"\n', "-\u201ca\u201d\n+\u201cb\u201d", '"b"\n', "typography"],
    [
      "of new lines stays where the text has it",
      "'a' \u2014\n",
      "-\u2018a\u2019 \u2014\n+b \u2014 c",
      "b \u2014 c\n",
      "typography",
    ],
    ["of new lines that no old line shows is in doubt", "'a'\n", "-\u2018a\u2019\n+b \u2014 c", "ambiguous"],
    ["of new lines is in doubt where the text has more of it", "\u2018a\u2019\n", "-'a'\n+'b'", "ambiguous"],
    ["of new lines is in doubt: dots", "\u2018a\u2019\n", "-'a'\n+b...", "ambiguous"],
    ["of new lines is in doubt: a dash", "\u2018a\u2019\n", "-'a'\n+b - c", "ambiguous"],
    ["does not matter to new lines without any", "\u2018a\u2019\n", "-'a'\n+b", "b\n", "typography"],
  ])("%s", expectRow);
});

describe("white space", () => {
  test.each<Row>([
    ["inside of a line is the text's, with tabs", "a\tb\nc\n", " a  b\n-c\n+d", "a\tb\nd\n", "indentation"],
    ["inside of a line of spaces is the text's", "a  b\nc\n", " a b\n-c\n+d", "a  b\nd\n", "indentation"],
    ["inside of new lines is in doubt then", "a\tb\nc\n", " a  b\n-c\n+d  e", "ambiguous"],
    ["at the end is dropped as the text does", "a\nb\n", " a  \n-b  \n+c  ", "a\nc\n", "trailing-space"],
    ["at the end is not made", "a  \nb  \n", " a\n-b\n+c", "a  \nc\n", "trailing-space"],
    ["at the end stays where context has it", "a  \nb  \n", " a  \n-b\n+c  ", "a  \nc  \n", "trailing-space"],
  ])("%s", expectRow);
});

describe("indentation", () => {
  test.each<Row>([
    ["of spaces becomes tabs", "\ta\n\t\tb\n", "     a\n-        b\n+        c", "\ta\n\t\tc\n", "indentation"],
    ["of two spaces becomes tabs", "\ta\n\t\tb\n", "   a\n-    b\n+      c", "\ta\n\t\t\tc\n", "indentation"],
    ["of tabs becomes spaces", "    a\n        b\n", " \ta\n-\t\tb\n+\t\tc", "    a\n        c\n", "indentation"],
    ["that makes no whole tab is in doubt", "\ta\n\t\tb\n", "     a\n-        b\n+       c", "ambiguous"],
    ["further out than the piece that is too much is in doubt", "a\nb\n", "   a\n-  b\n+ c", "ambiguous"],
    ["is none of blank lines", "  a\n  b\n", " a\n-b\n+\n+c", "  a\n\n  c\n", "indentation"],
    [
      "that the first line lacks is given to the first new one",
      "  a\n  b\n",
      "-a\n+n\n   b",
      "  n\n  b\n",
      "indentation",
    ],
    ["that the first line lacks is not given twice", "  a\n  b\n", "-a\n+  n\n   b", "  n\n  b\n", "indentation"],
    ["that two new lines lack is in doubt", "  a\n  b\n", "-a\n+n\n+m\n   b", "ambiguous"],
    ["that one of two new lines lacks is in doubt", "  a\n", "-a\n+n\n+  m", "ambiguous"],
    ["moves with a line that opens a block", "  a\n", "-a\n+n {\n+  m\n+}", "  n {\n    m\n  }\n", "indentation"],
    ["of wider levels is in doubt", "a\n  b\n    c\n", " a\n     b\n-        c\n+        d", "ambiguous"],
    [
      "that is a column less stands for a lost marker",
      "a\n  b\n    c\n",
      " b\n-    c\n+    d",
      "a\n  b\n    d\n",
      "indentation",
    ],
  ])("%s", expectRow);
});

describe("the block that a line opens ends", () => {
  test.each<[what: string, lines: string, row: number, end: number]>([
    ["before a line as far out", "f:\n  a\n  b\ng:", 0, 3],
    ["before one further out", "f:\n  g:\n    a\nh:", 1, 3],
    ["behind what goes on with it", "f {\n  a\n}\ng", 0, 3],
    ["before else", "if a:\n  b\nelse:\n  c\nd", 0, 2],
    ["at the end of the text", "f:\n  a\n\n", 0, 4],
    ["where one that opens nothing has its own", "f:\n  a\n  b\ng", 1, 3],
    ["behind the brace that closes it", "f {\na {\n}\n}\ng", 0, 4],
    ["behind braces of its own line", "f { a {\n}\n}\ng", 0, 3],
    ["with the text where no brace closes it", "f {\na", 0, 2],
    ["before a heading as high", "## a\nx\n### b\n## c", 0, 3],
    ["before a higher heading", "## a\nx\n# c", 0, 2],
    ["before another section in brackets", "[a]\nx\n[b]", 0, 2],
    ["with the text where it is no heading", "#a\nx\n#b", 0, 3],
  ])("%s", (_, text, row, end) => {
    const lines = text.split("\n");
    const endOf = readBlocks(lines, readOutline(lines, startEffort(0)).indents, startEffort(0));
    expect(endOf(row)).toBe(end);
  });

  test("behind the line itself without a budget", () => {
    const lines = ["f {", "a", "}"];
    expect(readBlocks(lines, [0, 0, 0], { left: 0 })(0)).toBe(1);
  });
});
