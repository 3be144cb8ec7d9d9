import { describe, expect, test } from "vitest";
import { applyStrictly, type StrictOptions } from "../../src/match/strict.js";
import type { FileKind, Hunk } from "../../src/patch.js";

/** A hunk: its numbers and its lines. */
type Own = readonly [oldStart: number, newStart: number, lines: string, more?: Partial<Hunk>];
type Row = [what: string, text: string, hunks: readonly Own[], made: string, options?: StrictOptions];

function apply(text: string, hunks: readonly Own[], options?: StrictOptions, kind: FileKind = "modify"): string {
  const own = hunks.map(
    ([oldStart, newStart, lines, more], i): Hunk => ({
      id: `h${i}`,
      oldStart,
      newStart,
      lines: lines.split("\n"),
      ...more,
    }),
  );
  const result = applyStrictly({ kind, before: "x", after: "x", hunks: own }, text, options);
  return result.ok ? result.text : result.conflicts.map(({ hunk, reason }) => `${hunk} ${reason}`.trim()).join(", ");
}

const expectRow = (_: string, text: string, hunks: readonly Own[], made: string, options?: StrictOptions) => {
  expect(apply(text, hunks, options)).toBe(made);
};
const [gone, known] = [{ newNoNewline: true }, { oldNoNewline: true }] as const;
const nowhere = { oldStart: null, newStart: null };
const BARE = { unidiffZero: true };

describe("a hunk that is applied strictly stands", () => {
  const hunk = " a\n+n\n b";
  test.each<Row>([
    ["where it says", "x\na\nb\nx\na\nb\nx\na\nb\n", [[5, 5, hunk]], "x\na\nb\nx\na\nn\nb\nx\na\nb\n"],
    ["behind, of two as near", "a\nb\nx\nx\na\nb\n", [[3, 3, hunk]], "a\nb\nx\nx\na\nn\nb\n"],
    ["before, where that is nearer", "x\na\nb\nx\nx\na\nb\nx\n", [[3, 3, hunk]], "x\na\nn\nb\nx\nx\na\nb\nx\n"],
    [
      "two lines before, not three behind",
      "x\na\nb\nx\nx\nx\na\nb\nx\n",
      [[4, 4, hunk]],
      "x\na\nn\nb\nx\nx\nx\na\nb\nx\n",
    ],
    ["behind, where that is nearer", "a\nb\nx\nx\na\nb\nx\n", [[4, 4, hunk]], "a\nb\nx\nx\na\nn\nb\nx\n"],
    ["nowhere but at the start where it says line 1", "x\na\nb\n", [[1, 1, hunk]], "h0 not-found"],
    ["at the end where no context follows", "a\nx\na\n", [[2, 2, "-a\n+n"]], "a\nx\nn\n"],
    ["nowhere else then", "a\nx\n", [[2, 2, " a\n+n"]], "h0 not-found"],
    [
      "on no lines of an earlier one",
      "a\nb\nc\n",
      [
        [1, 1, " a\n-b\n c"],
        [2, 2, " b\n+n\n c"],
      ],
      "h1 overlap",
    ],
    [
      "before an earlier one as well",
      "b\na\n",
      [
        [2, 2, "-a\n+n"],
        [1, 1, "-b\n+m"],
      ],
      "h1 not-found",
    ],
    ["byte for byte", "a \nb\n", [[1, 1, " a\n-b\n+c"]], "h0 not-found"],
    ["in the empty text without context", "", [[0, 1, "+a"]], "a\n"],
    ["in no other without context", "b\n", [[1, 2, "+a"]], "h0 not-found"],
    [
      "near its line in the text that an earlier one made longer",
      "a\nb\nx\nc\nd\nx\nc\nd\n",
      [
        [1, 1, " a\n+1\n+2\n+3\n b"],
        [4, 7, " c\n+n\n d"],
      ],
      "a\n1\n2\n3\nb\nx\nc\nn\nd\nx\nc\nd\n",
    ],
    [
      "near its line in the text that an earlier one made shorter",
      "a\n1\n2\n3\nb\nc\nd\nx\nc\nd\n",
      [
        [1, 1, " a\n-1\n-2\n-3\n b"],
        [6, 3, " c\n+n\n d"],
      ],
      "a\nb\nc\nn\nd\nx\nc\nd\n",
    ],
  ])("%s", expectRow);
});

describe("at the end of a text a strict hunk", () => {
  test.each<Row>([
    ["has to know that there is no line feed", "g\nc", [[2, 2, "-c\n+n"]], "h0 not-found"],
    ["has to be right that there is none", "g\nc\n", [[2, 2, "-c\n+n", known]], "h0 not-found"],
    ["adds one", "g\nc", [[2, 2, "-c\n+n", known]], "g\nn\n"],
    ["takes it away", "g\nc\n", [[2, 2, "-c\n+n", gone]], "g\nn"],
    ["takes none away elsewhere", "c\ng\n", [[1, 1, "-c\n+n", gone]], "h0 not-found"],
    [
      "takes none away two lines before what an earlier one replaces",
      "c\nx\ng\ny\n",
      [
        [3, 3, "-g\n+m\n y"],
        [1, 1, "-c\n+n", gone],
      ],
      "h1 not-found",
    ],
    [
      "has nothing behind it",
      "a\nb\n",
      [
        [2, 2, "-b\n+n", gone],
        [2, 3, "+m"],
      ],
      "h1 overlap",
      BARE,
    ],
    [
      "takes none away before what an earlier one inserts",
      "a\nb\n",
      [
        [2, 3, "+m"],
        [2, 2, "-b\n+n", gone],
      ],
      "h1 overlap",
      BARE,
    ],
    [
      "takes none away of a line that an earlier one replaces",
      "a\nb\n",
      [
        [2, 2, "-b\n+n", gone],
        [2, 2, "-b\n+m", gone],
      ],
      "h1 overlap",
    ],
  ])("%s", expectRow);
});

describe("without context, by its number alone, a hunk", () => {
  test.each<Row>([
    ["inserts where it says", "a\nb\n", [[1, 2, "+n"]], "a\nn\nb\n", BARE],
    ["inserts at the start", "a\n", [[0, 1, "+n"]], "n\na\n", BARE],
    ["inserts at the end at most", "a\n", [[9, 10, "+n"]], "a\nn\n", BARE],
    ["inserts at the end of a text without a line feed", "a", [[1, 2, "+n"]], "a\nn", BARE],
    ["inserts at the start where it says line 0", "a\n", [[0, 0, "+n"]], "n\na\n", BARE],
    ["inserts at the start where it says no line", "a\n", [[1, 2, "+n", nowhere]], "n\na\n", BARE],
    ["stands first where it says no line", "a\nb\na\n", [[2, 2, "-a\n+n", nowhere]], "n\nb\na\n", BARE],
    [
      "counts the lines of an earlier one",
      "a\nb\nc\n",
      [
        [1, 2, "+1\n+2"],
        [2, 5, "+n"],
      ],
      "a\n1\n2\nb\nn\nc\n",
      BARE,
    ],
    [
      "inserts nothing among those",
      "a\nb\nc\n",
      [
        [1, 1, "-a\n-b\n+1\n+2"],
        [1, 2, "+n"],
      ],
      "h1 overlap",
      BARE,
    ],
    [
      "inserts behind those",
      "a\nb\nc\n",
      [
        [2, 2, "-b\n+1\n+2"],
        [2, 4, "+n"],
      ],
      "a\n1\n2\nn\nc\n",
      BARE,
    ],
    [
      "counts the lines that one deleted",
      "a\nb\nc\nd\n",
      [
        [1, 0, "-a\n-b"],
        [3, 2, "+n"],
      ],
      "c\nn\nd\n",
      BARE,
    ],
    [
      "counts the lines of an earlier one right before it, but none of one behind it",
      "a\nc\nx\nc\nz\n",
      [
        [1, 1, "-a\n+1\n+2\n+3"],
        [5, 7, "-z\n+4\n+5\n+6"],
        [2, 4, "-c\n+n"],
      ],
      "1\n2\n3\nn\nx\nc\n4\n5\n6\n",
      BARE,
    ],
    ["deletes what moved", "x\na\ny\n", [[1, 0, "-a"]], "x\ny\n", BARE],
    ["is bound to the start where it says line 0", "x\na\n", [[0, 0, "-a\n+n"]], "h0 not-found", BARE],
    ["is not bound to the start", "x\na\n", [[1, 1, "-a\n+n"]], "x\nn\n", BARE],
    [
      "may stand before an earlier one",
      "b\na\n",
      [
        [2, 2, "-a\n+n"],
        [1, 1, "-b\n+m"],
      ],
      "m\nn\n",
      BARE,
    ],
  ])("%s", expectRow);
});

test.each<[kind: FileKind, hunks: readonly Own[], text: string, made: string]>([
  ["delete", [[1, 0, "-a"]], "a\n", ""],
  ["delete", [[1, 0, "-a"]], "a\nb\n", "h0 not-found"],
  ["delete", [], "", ""],
  ["delete", [], "a\n", "stale"],
  ["create", [], "", ""],
  ["create", [], "a\n", "stale"],
  ["create", [[0, 1, "+a"]], "", "a\n"],
  ["modify", [], "a\n", "a\n"],
])("a strict patch of the kind %s with the hunks %j makes of %j: %j", (kind, hunks, text, made) => {
  expect(apply(text, hunks, undefined, kind)).toBe(made);
});

describe("the conflict of a strict hunk", () => {
  const conflictOf = (text: string, lines: readonly (readonly string[])[], at: number) => {
    const hunks = lines.map((own, i) => ({ id: `h${i}`, oldStart: at, newStart: at, lines: own }));
    const result = applyStrictly({ kind: "modify", before: "x", after: "x", hunks }, text, BARE);
    return result.ok ? result.text : result.conflicts[0];
  };
  const conflict = { at: null, candidates: [], total: 0, rung: "place" };

  test("has no places", () => {
    expect(conflictOf("a\n", [["-b"]], 1)).toEqual({ ...conflict, hunk: "h0", reason: "not-found" });
    const taken = [["-a", "-b", "+1", "+2"], ["+n"]];
    expect(conflictOf("x\na\nb\nc\n", taken, 3)).toMatchObject({ ...conflict, hunk: "h1", reason: "overlap" });
  });

  test("is ambiguous where too many others stand behind it that come before it in the patch", () => {
    const numbers = Array.from({ length: 1500 }, (_, i) => i + 1);
    const text = numbers.map((each) => `${each}\n`).join("");
    const made = numbers.map((each) => `n${each}\n`).join("");
    const hunks = numbers.map((each): Own => [each, each, `-${each}\n+n${each}`]);
    expect(apply(text, hunks, BARE)).toBe(made);
    const few = text.slice(0, text.indexOf("301\n"));
    expect(apply(few, hunks.slice(0, 300).reverse(), BARE)).toBe(few.replace(/^/gm, "n").slice(0, -1));
    expect(apply(text, hunks.reverse(), BARE)).toMatch(/^h\d+ ambiguous(?:, h\d+ ambiguous)*$/);
  });

  test("is ambiguous where too many others have been looked for at too many places", () => {
    const hunks = Array.from({ length: 80 }, (_, i): Own => [i + 1, i + 1, "-a\n+n"]);
    expect(apply("a\n".repeat(1000), hunks.slice(0, 70), BARE)).toBe("n\n".repeat(70) + "a\n".repeat(930));
    expect(apply("a\n".repeat(1000), hunks, BARE)).toMatch(/^h7\d ambiguous(?:, h7\d ambiguous)*$/);
  });

  test("is ambiguous where its lines are nearly at too many places", () => {
    const lines = Array.from({ length: 2000 }, () => " a");
    expect(conflictOf("a\n".repeat(4000), [[...lines, "-b"]], 1)).toEqual({
      ...conflict,
      hunk: "h0",
      reason: "ambiguous",
    });
  });
});
