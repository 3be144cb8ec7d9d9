import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { ApplyOptions, ApplyResult, Rung } from "../../src/result.js";
import { parsePatch } from "../../src/unified/parse.js";

function apply(hunks: readonly string[], text: string, options?: ApplyOptions): ApplyResult {
  const body = hunks.join("");
  const reading = parsePatch(`--- a/x\n+++ b/x\n${body}`);
  return reading.ok ? applyPatch(reading.patch, text, options) : expect.fail(reading.errors[0]!.message);
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join("");
const hunk = (row: number, old = "line 5") =>
  `@@ -${row},3 +${row},3 @@\n line ${row}\n-${old}\n+new\n line ${row + 2}\n`;

const rungs: readonly (readonly [
  name: string,
  hunks: readonly string[],
  text: string,
  expected: string,
  repairs: readonly Rung[],
])[] = [
  ["a hunk where it says", [hunk(4)], lines(1, 9), `${lines(1, 4)}new\n${lines(6, 9)}`, []],
  ["a hunk that moved", [hunk(4)], `a\nb\n${lines(1, 9)}`, `a\nb\n${lines(1, 4)}new\n${lines(6, 9)}`, ["place"]],
  [
    "a hunk of LF lines in a text of CRLF lines",
    [hunk(4)],
    lines(1, 9).replaceAll("\n", "\r\n"),
    `${lines(1, 4)}new\n${lines(6, 9)}`.replaceAll("\n", "\r\n"),
    ["line-endings"],
  ],
  [
    "one of CRLF lines in a text of LF lines, elsewhere",
    [hunk(4).replaceAll("\n", "\r\n")],
    `a\n${lines(1, 9)}`,
    `a\n${lines(1, 4)}new\n${lines(6, 9)}`,
    ["place", "line-endings"],
  ],
  [
    "one of LF lines where the text has both endings",
    [hunk(4)],
    lines(1, 3) + lines(4, 9).replaceAll("\n", "\r\n"),
    `${lines(1, 3)}line 4\r\nnew\r\n${lines(6, 9).replaceAll("\n", "\r\n")}`,
    ["line-endings"],
  ],
  [
    "lines without white space at their ends",
    [hunk(4)],
    lines(1, 9).replace("line 4", "line 4  "),
    `${lines(1, 3)}line 4  \nnew\n${lines(6, 9)}`,
    ["trailing-space"],
  ],
  [
    "another indentation",
    [hunk(4)],
    lines(1, 9).replaceAll("line", "  line"),
    `${`${lines(1, 4)}new\n${lines(6, 9)}`.replaceAll(/^/gm, "  ").trimEnd()}\n`,
    ["indentation"],
  ],
];

describe("each rung is reported, and what it ignored stays the text's own", () => {
  test.each(rungs)("%s", (_, hunks, text, expected, repairs) => {
    const result = apply(hunks, text);
    expect(result).toMatchObject({ ok: true, text: expected });
    expect(result.ok && result.hunks.map((each) => each.repairs)).toEqual(hunks.map(() => repairs));
  });
});

describe("a line that is deleted and added again", () => {
  const again = "@@ ... @@\n first\n-a\n-b\n-c\n+a\n+new\n+c\n+d\n last\n";

  test.each([
    ["its white space", "first\na  \nb\nc\t\nlast\n", "first\na  \nnew\nc\t\nd\nlast\n"],
    ["its own end, as every replaced line does", "first\na\r\nb\nc\r\nlast\n", "first\na\r\nnew\nc\r\nd\r\nlast\n"],
    ["its indentation", "  first\n  a\n  b \n  c \n  last\n", "  first\n  a\n  new\n  c \n  d\n  last\n"],
  ])("keeps %s", (_, text, expected) => {
    expect(apply([again], text)).toMatchObject({ ok: true, text: expected });
  });

  test("does not where white space inside of it may be what is to change", () => {
    const tabs = "@@ ... @@\n     first\n-    // \tmore\n+    // \tmore\n+    new\n     last\n".replace(/\t/g, "    ");
    expect(apply([tabs], "\tfirst\n\t// \tmore\n\tlast\n")).toMatchObject({ ok: false });
  });

  test("has that of its turn where it comes again", () => {
    const twice = "@@ ... @@\n-a\n-b\n-a\n+a\n+new\n+a\n+a\n";
    expect(apply([twice], "a \nb\na\t\n")).toMatchObject({ ok: true, text: "a \nnew\na\t\na\n" });
  });
});

describe("hunks that moved", () => {
  const two = [hunk(4), hunk(20, "line 21")];
  const after = `${lines(1, 4)}new\n${lines(6, 20)}new\n${lines(22, 30)}`;

  test("stand as far from their lines as the hunk before them, even where the lines come again", () => {
    const front = "a\n".repeat(7);
    const back = lines(4, 6) + lines(20, 22);
    const far = "b\n".repeat(30);
    const result = apply([...two, hunk(28, "line 29")], front + lines(1, 30) + far + back);
    expect(result).toMatchObject({
      ok: true,
      hunks: [
        { at: 11, offset: 7 },
        { at: 27, offset: 7 },
        { at: 35, offset: 7 },
      ],
    });
  });

  test("are ambiguous where one number names a place and the distance of the hunk before another", () => {
    const [seven, four] = ["a\n".repeat(7), "b\n".repeat(4)];
    const text = seven + lines(1, 12) + lines(20, 22) + four + lines(20, 30);
    expect(apply(two, text)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous", candidates: [20, 27] }] });
  });

  test("are known as applied where what they insert stands there already", () => {
    const insertion = "@@ -4,2 +4,3 @@\n line 4\n+new\n line 5\n";
    const text = `a\n${lines(1, 4)}new\n${lines(5, 9)}`;
    expect(apply([insertion], text)).toMatchObject({ ok: false, conflicts: [{ reason: "already-applied", at: 5 }] });
    const repeated = "@@ -4,2 +4,3 @@\n line 4\n+line 4\n line 5\n";
    expect(apply([repeated], `a\n${lines(1, 4)}${lines(4, 9)}`)).toMatchObject({ ok: false });
  });

  test("are found each for itself where lines were put between them", () => {
    const result = apply(two, `a\n${lines(1, 10)}b\nc\n${lines(11, 30)}`);
    expect(result).toMatchObject({ ok: true, text: `a\n${after.replace("line 10\n", "line 10\nb\nc\n")}` });
  });

  test("overlap behind a line that ends the text, and no line is lost", () => {
    const last = "@@ -2 +2 @@\n-b\n+c\n\\ No newline at end of file\n";
    const behind = "@@ -2,0 +3,2 @@\n+\n+d\n";
    expect(apply([last, behind], "a\nb\n")).toMatchObject({ ok: false, conflicts: [{ reason: "overlap" }] });
  });

  test("overlap where one inserts between lines that another deletes, and nothing is written", () => {
    const deletion = "@@ -3,4 +3,0 @@\n-line 4\n-line 5\n-line 6\n-line 7\n";
    const bare = "@@ -5,0 +2 @@\n+new\n";
    expect(apply([deletion, bare], lines(1, 9))).toMatchObject({ ok: false, conflicts: [{ reason: "overlap" }] });
  });
});

test("a hunk is not placed where two of the blank lines that it deletes are missing", () => {
  expect(apply(["@@ -1,3 +0,0 @@\n-\n-a\n-\n"], "  a\nb\n\n")).toMatchObject({ ok: false });
});

describe("line endings", () => {
  test("of a new last line are the text's", () => {
    const result = apply(["@@ -9 +9,2 @@\n line 9\n+new\n"], lines(1, 9).replaceAll("\n", "\r\n"));
    expect(result).toMatchObject({ ok: true, text: `${lines(1, 9)}new\n`.replaceAll("\n", "\r\n") });
  });

  test("are not given to a hunk that is to change them", () => {
    const result = apply(["@@ -1,2 +1,2 @@\n line 1\n-line 2\n+line 2\r\n"], lines(1, 9));
    expect(result).toMatchObject({ ok: true, text: lines(1, 9).replace("2\n", "2\r\n"), hunks: [{ repairs: [] }] });
  });
});
