import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";

type Lines = readonly [start: number, lines: string[], more?: Partial<Hunk>];

function apply(hunks: readonly Lines[], text: string): string {
  const own = hunks.map(
    ([oldStart, lines, more], i): Hunk => ({ id: `h${i}`, oldStart, newStart: oldStart, lines, ...more }),
  );
  const result = applyPatch({ kind: "modify", before: "x", after: "x", hunks: own }, text);
  return result.ok ? result.text : result.conflicts[0]!.reason;
}

/** Without its number this hunk would be one that has been applied. */
const last: Lines = [4, [" a", "+a"]];

test.each<[what: string, hunks: Lines[], text: string, made: string]>([
  ["alone", [[2, [" a", "+a"]]], "a\na\n", "a\na\na\n"],
  ["behind a byte order mark", [[2, [" a", "+a"]]], "\ufeffa\na\n", "\ufeffa\na\na\n"],
  ["beside a hunk with a section", [[2, ["-x", "+y"], { section: "f:" }], last], "f:\nx\na\na\n", "f:\ny\na\na\na\n"],
  [
    "beside a hunk that has the line of its section",
    [[1, [" q", "-f:", "+g:", " a"], { section: "f:" }], last],
    "q\nf:\na\na\n",
    "q\ng:\na\na\na\n",
  ],
])("a hunk at the end of the text stands by its number: %s", (_, hunks, text, made) => {
  expect(apply(hunks, text)).toBe(made);
});

test.each<[what: string, hunk: Lines, text: string, made: string]>([
  ["as its only line", [1, ["-}", "+x"], { atEnd: true }], "}\n", "x\n"],
  ["not before its last line", [0, ["+c"], { atEnd: true }], "g\n", "ambiguous"],
  ["before blank lines", [3, ["+n"], { anchors: [], atEnd: true }], "\n\na\n\n", "\n\na\nn\n\n"],
])("a hunk that ends the text stands there: %s", (_, hunk, text, made) => {
  expect(apply([hunk], text)).toBe(made);
});
