import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";
import type { ApplyOptions } from "../../src/result.js";

/** A hunk: its number, or null, and its lines. */
type Own = readonly [start: number | null, lines: string, more?: Partial<Hunk>];
/** What is expected: the text, and the rungs of each hunk; or each conflict, with its candidates. */
type Row = [what: string, text: string, hunks: readonly Own[], made: string, rungs?: string, path?: string];

function apply(text: string, hunks: readonly Own[], path = "x", options: ApplyOptions = {}): [string, string?] {
  const own = hunks.map(
    ([oldStart, lines, more], i): Hunk => ({
      id: `h${i}`,
      oldStart,
      newStart: oldStart,
      lines: lines.split("\n"),
      ...more,
    }),
  );
  const result = applyPatch({ kind: "modify", before: path, after: path, hunks: own }, text, options);
  if (result.ok) return [result.text, result.hunks.map(({ repairs }) => repairs.join(" ")).join(", ")];
  return [result.conflicts.map(({ reason, candidates }) => [reason, ...candidates].join(" ")).join(", ")];
}

const expectRow = (_: string, text: string, hunks: readonly Own[], made: string, rungs?: string, path?: string) => {
  const result = apply(text, hunks, path);
  expect(result).toEqual(rungs === undefined && result.length === 1 ? [made] : [made, rungs ?? ""]);
};

describe("a hunk with its number", () => {
  test.each<Row>([
    ["stands before its line where the text is shorter", "a\n", [[3, "-a\n+b"]], "b\n", "place"],
    ["inserts behind the last line", "a\nb\n", [[2, "+m"]], "a\nb\nm\n"],
    ["inserts behind a last line without line feed", "a\nb", [[2, "+m"]], "a\nb\nm", "final-newline"],
    ["inserts not further behind", "a\nb\n", [[3, "+m"]], "not-found"],
    ["has the text's line endings", "a\r\n", [[1, "+m"]], "a\r\nm\r\n", "line-endings"],
    ["takes the line feed at the end away", "a\nb\n", [[2, "-b\n+c", { newNoNewline: true }]], "a\nc"],
    ["adds the line feed at the end", "a\nb", [[2, "-b\n+c", { oldNoNewline: true }]], "a\nc\n"],
    [
      "keeps a line feed that it does not know",
      "a\nb\n",
      [[2, "-b\n+c", { oldNoNewline: true }]],
      "a\nc\n",
      "final-newline",
    ],
    ["keeps an end without line feed", "a\nb", [[2, "-b\n+c"]], "a\nc", "final-newline"],
    ["keeps one of CRLF lines", "a\r\nb", [[2, "-b\n+c", { oldNoNewline: true, newNoNewline: true }]], "a\r\nc"],
    ["inserts before a last line without line feed", "a\nb", [[1, " a\n+c\n b"]], "a\nc\nb"],
    ["adds to a last line without line feed", "a\nb", [[1, " a\n b\n+c"]], "a\nb\nc", "final-newline"],
    ["is not placed by blank context before a tab", "\tf();\nc\n", [[1, " \n+m"]], "not-found"],
    ["becomes one of LF lines", "a\nb\n", [[1, " a\r\n-b\r\n+c\r"]], "a\nc\n", "line-endings"],
    ["has the endings of most lines", "a\r\nb\r\nc\nd\r\n", [[1, " a\n-b\n+n"]], "a\r\nn\r\nc\nd\r\n", "line-endings"],
  ])("%s", expectRow);
});

describe("a byte order mark", () => {
  test.each<Row>([
    [
      "is deleted by the hunk that has it",
      "\ufeffa\nb\nc\nd\n",
      [
        [1, "-\ufeffa\n+z"],
        [3, "-d\n+e"],
      ],
      "z\nb\nc\ne\n",
      ", place",
    ],
    [
      "stays with the hunk that keeps it",
      "\ufeffa\nb\n",
      [
        [1, "-\ufeffa\n+\ufeffz"],
        [2, "-b\n+c"],
      ],
      "\ufeffz\nc\n",
      ", ",
    ],
    [
      "stays where no hunk has it",
      "\ufeffa\nb\n",
      [
        [1, "-a\n+z"],
        [2, "-b\n+c"],
      ],
      "\ufeffz\nc\n",
      ", ",
    ],
  ])("%s", expectRow);
});

describe("hunks that moved", () => {
  test.each<Row>([
    [
      "stand as far from their numbers",
      "x\nx\na\nb\nc\nd\n",
      [
        [1, "-a\n+n\n b"],
        [4, "-d\n+m"],
      ],
      "x\nx\nn\nb\nc\nm\n",
      "place, place",
    ],
    [
      "may touch",
      "x\na\nb\n",
      [
        [1, "-a\n+n"],
        [2, "-b\n+m"],
      ],
      "x\nn\nm\n",
      "place, place",
    ],
    [
      "may stand in another order",
      "b\nx\na\n",
      [
        [1, "-a\n+n"],
        [3, "-b\n+m"],
      ],
      "m\nx\nn\n",
      "place, place order",
    ],
    [
      "overlap where both insert",
      "x\na\nb\n",
      [
        [1, " a\n+n"],
        [2, "-b\n+m"],
      ],
      "overlap 3",
    ],
    [
      "leave lines without context where their number says",
      "x\na\nb\nc\n",
      [
        [1, "-a\n+n"],
        [3, "+m"],
      ],
      "x\nn\nb\nm\nc\n",
      "place, ",
    ],
    [
      "are not found where another has their place",
      "a\nx\na\n",
      [
        [1, "-a\n+n"],
        [2, "-a\n+m"],
      ],
      "ambiguous 1 3",
    ],
  ])("%s", expectRow);
});

describe("a hunk that moved", () => {
  test.each<Row>([
    ["counts from 1 where it says 0", "x\na\n", [[0, "-a\n+n"]], "x\nn\n", "place"],
    ["has been applied where it stands with its new lines", "x\na\nn\n", [[1, " a\n+n"]], "already-applied 2"],
    ["has been applied where its new lines stand at its number", "n\nx\na\n", [[1, "-a\n+n"]], "already-applied 1"],
    ["deletes, though what is behind stands at its number", "p\nx\ny\ny\n", [[4, "-x\n y"]], "p\ny\ny\n", "place"],
    ["is in doubt beside stale context at its number", "a\nq\nc\nx\na\nb\nc\n", [[1, " a\n b\n-c\n+n"]], "ambiguous 5"],
    [
      "is in doubt beside one line more at its number",
      "a\nb\nq\nc\nd\nx\ny\nz\na\nb\nc\nd\n",
      [[1, " a\n b\n-c\n-d\n+n"]],
      "ambiguous 9",
    ],
  ])("%s", expectRow);
});

describe("the block of an anchor", () => {
  const flush = "function a() {\nx = 1\n}\nfunction b() {\nx = 1\n}\n";
  const on = (anchor: string, lines: string): Own[] => [[null, lines, { anchors: [anchor] }]];
  test.each<Row>([
    ["ends with its brace", flush, on("function a() {", "-x = 1\n+x = 2"), flush.replace("1", "2")],
    [
      "ends with the brace that closes its own",
      "f {\nif {\nx\n}\nq\n}\nx\n",
      on("f {", "-x\n+y"),
      "f {\nif {\ny\n}\nq\n}\nx\n",
    ],
    ["is what follows where its braces are closed", "f {}\nx\ng\nx\n", on("f {}", "-x\n+y"), "ambiguous 2 4"],
    ["is what follows where another line opens it", "f\n{\nx\n}\nx\n", on("f", "-x\n+y"), "ambiguous 3 5"],
    ["ends with the next heading", "# A\nx\n## B\nx\n# C\nx\n", on("## B", "-x\n+y"), "# A\nx\n## B\ny\n# C\nx\n"],
    ["has the headings below its own", "# A\n## B\nx\n# C\nx\n", on("# A", "-x\n+y"), "# A\n## B\ny\n# C\nx\n"],
    ["ends with the next section in brackets", "[a]\nx\n[b]\nx\n", on("[a]", "-x\n+y"), "[a]\ny\n[b]\nx\n"],
    [
      "ends with else, which is an anchor itself",
      "if a:\n  x\nelse:\n  y\nif b:\n  y\n",
      on("else:", "-  y\n+  z"),
      "if a:\n  x\nelse:\n  z\nif b:\n  y\n",
    ],
  ])("%s", expectRow);
});

describe("context that is not quite the text's", () => {
  test.each<Row>([
    [
      "has a blank line less beside the first",
      "first = 1;\n\nb\nc\n",
      [[null, "-first = 1;\n+first = 2;\n b\n c"]],
      "first = 2;\n\nb\nc\n",
      "context",
    ],
    [
      "has a line less beside the first",
      "first = 1;\n# x\nb\nc\nd\n",
      [[null, "-first = 1;\n+first = 2;\n b\n c\n d"]],
      "first = 2;\n# x\nb\nc\nd\n",
      "context",
    ],
    ["has one less beside an unlike line", "abcd\nx\ny\nz\n", [[null, "-abcd\n+aefg\n y\n z"]], "not-found"],
    [
      "has one less beside the likest of two",
      "a = one\n# q\ny\nz\nw\n",
      [[null, "-a = one\n+b\n+a = one1\n y\n z\n w"]],
      "b\na = one1\n# q\ny\nz\nw\n",
      "context",
    ],
    [
      "has one less before a deleted one",
      "b\nx\nd\nc\ne\nf\n",
      [[null, " b\n-d\n c\n e\n f"]],
      "b\nx\nc\ne\nf\n",
      "context",
    ],
    ["has one less before a repeated one", "b\nx\nd\nd\nc\ne\nf\n", [[null, " b\n d\n-d\n c\n e\n f"]], "not-found"],
    ["has one less behind a repeated one", "b\nc\nd\nd\nx\ne\nf\n", [[null, " b\n c\n-d\n d\n e\n f"]], "not-found"],
    [
      "has one less before repeated ones",
      "b\nx\nd\ne\nd\ne\nc\nf\ng\n",
      [[null, " b\n d\n e\n-d\n-e\n c\n f\n g"]],
      "not-found",
    ],
    [
      "has one less between deleted and replaced ones",
      "d\na\nd\nd\nd\nc\ne\n",
      [[null, " d\n d\n-d\n d\n-c\n+n\n e"]],
      "not-found",
    ],
    ["has one more above an insertion", "b\nc\nd\n", [[null, " a\n+n\n b\n c\n d"]], "not-found"],
    ["has one more below an insertion", "b\nc\nd\n", [[null, " b\n c\n d\n+n\n e"]], "not-found"],
    ["has one more inside", "a\nb\nd\ne\n", [[null, " a\n b\n-c\n d\n e"]], "not-found"],
    ["has a deleted blank line more at the end", "  a\n", [[null, "-a\n-\n+"]], "not-found"],
    [
      "has one less in a sorted list",
      "import a\nimport b\nimport c\n",
      [[null, " import a\n-import c\n+import d"]],
      "not-found",
    ],
  ])("%s", expectRow);
});
