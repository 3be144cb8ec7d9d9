import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";

type Lines = readonly [start: number | null, lines: string[]];

/** The text, or the candidates of the first conflict. */
function place(hunks: readonly Lines[], text: string): unknown {
  const own = hunks.map(([oldStart, lines], i): Hunk => ({ id: `h${i}`, oldStart, newStart: oldStart, lines }));
  const result = applyPatch({ kind: "modify", before: "x", after: "x", hunks: own }, text);
  return result.ok ? result.text : result.conflicts[0]!.candidates;
}

test.each<[what: string, hunks: Lines[], text: string, made: string | number[]]>([
  [
    "right behind one that only inserts",
    [
      [1, ["+n"]],
      [2, ["-d"]],
    ],
    "d\nd\nc\n",
    "d\nn\nc\n",
  ],
  [
    "not on the line of the hunk before",
    [
      [1, ["-b"]],
      [2, ["-d"]],
    ],
    "b\nd\nc\nd\n",
    "c\nd\n",
  ],
  [
    "not on a line that the hunk before keeps",
    [
      [1, [" d", "-x"]],
      [3, ["-d"]],
    ],
    "d\nx\nq\nd\n",
    "d\nq\n",
  ],
  [
    "perhaps on the second line of the hunk before",
    [
      [1, ["-x", " d"]],
      [3, ["-d"]],
    ],
    "x\nd\nq\nd\n",
    [2, 4],
  ],
  [
    "not before the hunk before",
    [
      [3, [" x", "-y"]],
      [4, ["-d"]],
    ],
    "d\nd\nx\ny\nd\n",
    "d\nd\nx\n",
  ],
  [
    "not on the line before which the hunk behind inserts",
    [
      [3, [" d", "+b"]],
      [2, ["+d"]],
    ],
    "d\nd\nd\n",
    [1, 2, 3],
  ],
  [
    "by its number where the hunks around it insert at one line",
    [
      [2, ["+n"]],
      [2, ["-g"]],
      [2, ["+m"]],
    ],
    "g\ng\n",
    "g\nn\nm\n",
  ],
  [
    "not behind the hunk behind",
    [
      [1, ["-d"]],
      [3, ["-x"]],
    ],
    "q\nd\nx\nd\n",
    "q\nd\n",
  ],
])("a hunk that fits more than once stands between its neighbours: %s", (_, hunks, text, made) => {
  expect(place(hunks, text)).toEqual(made);
});
