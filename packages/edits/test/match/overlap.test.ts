import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";

type Lines = readonly [start: number | null, lines: string[], more?: Partial<Hunk>];
const apply = (hunks: readonly Lines[], text: string) =>
  applyPatch(
    {
      kind: "modify",
      before: "x",
      after: "x",
      hunks: hunks.map(([oldStart, lines, more], i) => ({ id: `h${i}`, oldStart, newStart: oldStart, lines, ...more })),
    },
    text,
  );
const text = "a\nb\nc\nd\ne\n";

describe("hunks that meet", () => {
  test.each<[what: string, hunks: Lines[], made: string | string[]]>([
    [
      "share context",
      [
        [1, [" a", "-b", "+B", " c"]],
        [3, [" c", "-d", "+D", " e"]],
      ],
      "a\nB\nc\nD\ne\n",
    ],
    [
      "change neighbours",
      [
        [2, ["-b", "+B"]],
        [3, ["-c", "+C"]],
      ],
      "a\nB\nC\nd\ne\n",
    ],
    [
      "delete neighbours",
      [
        [2, ["-b"]],
        [3, ["-c"]],
      ],
      "a\nd\ne\n",
    ],
    [
      "insert before a line that another changes",
      [
        [2, ["+x"]],
        [3, ["-c", "+C"]],
      ],
      "a\nb\nx\nC\nd\ne\n",
    ],
    [
      "delete one line",
      [
        [2, ["-b", "+B"]],
        [1, [" a", "-b"]],
      ],
      ["h0", "h1"],
    ],
    [
      "show a line that another deletes",
      [
        [1, [" a", "-b"]],
        [2, [" b", "-c"]],
      ],
      ["h1"],
    ],
    [
      "insert at one place, with context",
      [
        [1, [" a", "+x", " b"]],
        [1, [" a", "+y", " b"]],
      ],
      ["h1"],
    ],
    [
      "insert at one place, by number",
      [
        [1, ["+x"]],
        [1, ["+y"]],
      ],
      "a\nx\ny\nb\nc\nd\ne\n",
    ],
    [
      "insert at one place, behind one line of context",
      [
        [1, [" a", "+x"]],
        [1, [" a", "+y"]],
      ],
      ["h1"],
    ],
    [
      "insert before a line that one before them deletes",
      [
        [2, ["-b"]],
        [1, ["+x"]],
      ],
      "a\nx\nc\nd\ne\n",
    ],
    [
      "show the text's first line, which another deletes",
      [
        [1, [" a", "+n"]],
        [1, ["-a"]],
      ],
      ["h0"],
    ],
    [
      "insert between lines that another deletes",
      [
        [2, ["-b", "-c"]],
        [2, ["+x"]],
      ],
      ["h1"],
    ],
    [
      "stand in another order",
      [
        [4, ["-d", "+D"]],
        [1, ["-a", "+A"]],
      ],
      "A\nb\nc\nD\ne\n",
    ],
    [
      "insert behind one that ends the text",
      [
        [5, ["-e", "+E"], { newNoNewline: true }],
        [5, ["+x"]],
      ],
      ["h1"],
    ],
    [
      "end the text twice",
      [
        [5, ["-e", "+E"]],
        [5, ["+x"]],
      ],
      "a\nb\nc\nd\nE\nx\n",
    ],
  ])("%s", (_, hunks, made) => {
    const result = apply(hunks, text);
    if (typeof made === "string") expect(result).toMatchObject({ ok: true, text: made });
    else {
      expect(result).toMatchObject({ ok: false });
      const conflicts = result.ok ? [] : result.conflicts;
      expect(conflicts.map(({ hunk, reason }) => [hunk, reason])).toEqual(made.map((id) => [id, "overlap"]));
    }
  });

  test("are reported out of order only where their numbers say one", () => {
    const repairsOf = (hunks: readonly Lines[]) => {
      const result = apply(hunks, text);
      return result.ok ? result.hunks.map(({ repairs }) => repairs) : result.conflicts;
    };
    const [one, other]: [string[], string[]] = [
      ["-d", "+D"],
      ["-a", "+A"],
    ];
    expect(
      repairsOf([
        [4, one],
        [1, other],
      ]),
    ).toEqual([[], ["order"]]);
    expect(
      repairsOf([
        [1, other],
        [4, one],
      ]),
    ).toEqual([[], []]);
    expect(
      repairsOf([
        [null, one],
        [null, other],
      ]),
    ).toEqual([[], []]);
  });
});

describe("the end of the text", () => {
  const end = { oldNoNewline: true, newNoNewline: true } as const;
  test.each<[what: string, hunk: Lines, text: string, made: string, repairs: string[]]>([
    ["stays without a newline, which the hunk does not know", [2, ["-b", "+B"]], "a\nb", "a\nB", ["final-newline"]],
    [
      "stays with a newline, which the hunk does not know",
      [2, ["-b", "+B"], end],
      "a\nb\n",
      "a\nB\n",
      ["final-newline"],
    ],
    ["stays without a newline, as the hunk has it", [2, ["-b", "+B"], end], "a\nb", "a\nB", []],
    ["gets a newline, as the hunk has it", [2, ["-b", "+B"], { oldNoNewline: true }], "a\nb", "a\nB\n", []],
    ["loses its newline, as the hunk has it", [2, ["-b", "+B"], { newNoNewline: true }], "a\nb\n", "a\nB", []],
    ["stays without a newline behind a new line", [2, ["+x"]], "a\nb", "a\nb\nx", ["final-newline"]],
    [
      "stays without a newline behind the second of two new lines",
      [1, [" a", "+x", " b", "+y"]],
      "a\nb",
      "a\nx\nb\ny",
      ["final-newline"],
    ],
    ["stays with a newline behind a new line", [2, ["+x"]], "a\nb\n", "a\nb\nx\n", []],
    ["is the end of a new line by number, in an empty text", [0, ["+x"]], "", "x\n", []],
    ["is no matter of a change before it", [1, ["-a", "+A"]], "a\nb", "A\nb", []],
  ])("%s", (_, hunk, text, made, repairs) => {
    expect(apply([hunk], text)).toMatchObject({ ok: true, text: made, hunks: [{ repairs }] });
  });
});
