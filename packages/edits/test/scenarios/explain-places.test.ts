import { describe, expect, test } from "vitest";
import { explainConflict } from "../../src/explain.js";
import type { FilePatch, Hunk } from "../../src/patch.js";
import type { Conflict } from "../../src/result.js";

const CONFLICT: Conflict = { hunk: "h", reason: "not-found", at: null, candidates: [], total: 0, rung: "misspelt" };

/** What is reported of the conflict of a hunk with these lines: its first line, the numbers of the lines that are shown, and the advice. */
function tell(
  lines: readonly string[],
  text: string,
  { more, file, ...conflict }: Partial<Conflict> & { more?: Partial<Hunk>; file?: Partial<FilePatch> } = {},
) {
  const own: Hunk = { id: "h", oldStart: null, newStart: null, lines, ...more };
  const patch: FilePatch = { kind: "modify", before: "f", after: "f", hunks: [own], ...file };
  const [head, ...told] = explainConflict({ ...CONFLICT, ...conflict }, patch, text).split("\n");
  const advice = told.pop();
  return { head: head!.replace(/^f: /, ""), rows: told.map((line) => Number(/^ *(\d+) \| /.exec(line)![1])), advice };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

describe("the lines that are shown", () => {
  const around = (row: number, count: number) =>
    tell(["-nothing of it", "+y"], numbers(count), { more: { oldStart: row, newStart: row } }).rows;

  test.each<[row: number, count: number, rows: number[]]>([
    [1, 20, [1, 2, 3, 4, 5, 6, 7]],
    [2, 20, [1, 2, 3, 4, 5, 6, 7]],
    [10, 20, [7, 8, 9, 10, 11, 12, 13]],
    [19, 20, [14, 15, 16, 17, 18, 19, 20]],
    [20, 20, [14, 15, 16, 17, 18, 19, 20]],
    [99, 20, [14, 15, 16, 17, 18, 19, 20]],
    [0, 20, [1, 2, 3, 4, 5, 6, 7]],
    [2, 3, [1, 2, 3]],
    [1, 0, []],
  ])("are up to seven around line %i of %i: %j", (row, count, rows) => {
    expect(around(row, count)).toEqual(rows);
  });

  test("are fewer where they are long, and cut at 80 characters", () => {
    const { rows } = tell(["-nothing of it"], `${"x".repeat(100)}\n`.repeat(9));
    expect(rows.length).toBeLessThan(6);
    const message = explainConflict(CONFLICT, { kind: "modify", before: "f", after: "f", hunks: [] }, "x".repeat(100));
    expect(message).toContain(`    1 | ${"x".repeat(79)}…\n`);
    expect(explainConflict(CONFLICT, { kind: "modify", before: "f", after: "f", hunks: [] }, "x".repeat(80))).toContain(
      `    1 | ${"x".repeat(80)}\n`,
    );
  });
});

describe("the file and the change", () => {
  const pathOf = (file: Partial<FilePatch>) =>
    explainConflict(CONFLICT, { kind: "modify", before: "f", after: "g", hunks: [], ...file }, "").split(": ")[0];

  test.each<[file: Partial<FilePatch>, path: string]>([
    [{}, "f"],
    [{ before: null }, "g"],
    [{ before: null, after: null }, "the file"],
    [{ before: "x".repeat(80) }, "x".repeat(80)],
    [{ before: "x".repeat(81) }, `${"x".repeat(79)}…`],
  ])("are named: %j", (file, path) => {
    expect(pathOf(file)).toBe(path);
  });

  test("are counted where there are several changes", () => {
    const hunk = { oldStart: null, newStart: null, lines: ["-x"] };
    const hunks = ["g", "h", "i"].map((id) => ({ ...hunk, id }));
    const file: FilePatch = { kind: "modify", before: "f", after: "f", hunks };
    expect(explainConflict(CONFLICT, file, "y\n")).toMatch(/^f, change 2 of 3: /);
    expect(explainConflict({ ...CONFLICT, hunk: "" }, file, "y\n")).toMatch(/^f: there is no such file, /);
    expect(explainConflict(CONFLICT, { files: [{ ...file, before: "e", hunks: [] }, file] }, "y\n")).toMatch(
      /^f, change 2 of 3: /,
    );
  });
});

/** The advice by the problem. */
const ADVICE: Record<string, string> = {
  "looked for .* which fits": "Send more unchanged lines above and below it, until only one place fits.",
  "looked for .*; it is near":
    "Send the old lines exactly as the file has them, white space included, and the right @@ line or none.",
  "looked for .*; no line of the file is like it": "Check the path, read the file, and send old lines copied from it.",
  "looked for .*; no line of the file begins so":
    "Send a line of the file behind the @@, or none, and more lines around the change.",
  "looked for .*; (?:at line|the file ends)": "Send the change again with old lines copied from the file.",
  "the old lines .* other white space": "Send the old lines exactly as the file has them.",
  "the old lines .* may not be applied there":
    "Send the lines of the place that is meant, and the range that they are in.",
  "the old lines .* wants":
    "Send the address of the place that is meant, or leave it out and send more lines around the change.",
  "new lines.* no old lines": "Send them with the lines above and below, copied from the file.",
  "the new lines are to stand behind": "Send a line number from 0 to 20.",
  "the new lines are in the file already":
    "Leave this change out. If another place is meant, send the lines around that place.",
  "another change of this patch": "Send one change that has both.",
  ".* is no line of the file": "Send the old and the new lines in full, or one change for each place.",
};

/** The advice that belongs to a problem. */
function adviceFor(head: string): string | undefined {
  const problem = Object.keys(ADVICE).find((problem) => new RegExp(`^${problem}`).test(head));
  return problem && ADVICE[problem];
}

describe("old lines that are not found", () => {
  test.each<[what: string, lines: string[], text: string, head: string, row: number]>([
    [
      "differ at their end",
      ["-a = 1", "-b = 1", "+c"],
      "x\na = 1\nb = 2\n",
      "looked for `b = 1`, to be taken away; at line 3 is `b = 2`.",
      3,
    ],
    [
      "differ in a line that is kept",
      ["-a = 1", " b = 1"],
      "a = 1\nb = 2\n",
      "looked for `b = 1`; at line 2 is `b = 2`.",
      2,
    ],
    [
      "go on where the file ends",
      ["-a = 1", "-b = 1", "+c"],
      "x\na = 1\n",
      "looked for `b = 1`, to be taken away; the file ends there.",
      2,
    ],
    [
      "go on where the file ends, and are kept",
      ["-a = 1", " b = 1"],
      "a = 1\n",
      "looked for `b = 1`; the file ends there.",
      1,
    ],
    [
      "are there with other white space",
      [" a = 1", "-b = 1"],
      "a = 1\n  b = 1\n",
      "the old lines are at line 1, but with other white space or characters that look alike: at line 2 is `b = 1`.",
      2,
    ],
    [
      "are there",
      [" a = 1", "-b = 1"],
      "x\na = 1\nb = 1\n",
      "the old lines are at line 2, but the patch may not be applied there.",
      2,
    ],
    [
      "are there, with carriage returns",
      [" a = 1", "-b = 1"],
      "a = 1\r\nb = 1\r\n",
      "the old lines are at line 1, but the patch may not be applied there.",
      1,
    ],
    ["are not there", [" }", "-b = 1"], "x\n", "looked for `b = 1`; no line of the file is like it.", 1],
    [
      "are not there, and long",
      [`-${"b".repeat(80)}`],
      "x\n",
      `looked for \`${"b".repeat(71)}…\`; no line of the file is like it.`,
      1,
    ],
    ["are brackets that are not there", ["-}", "-)"], "x\n", "looked for `}`; no line of the file is like it.", 1],
  ])("%s", (_, lines, text, head, row) => {
    const told = tell(lines, text);
    expect([told.head, told.advice]).toEqual([head, adviceFor(head)]);
    expect(told.rows).toContain(row);
  });

  test.each<[what: string, more: Partial<Hunk>, candidates: number[], head: string]>([
    [
      "below an anchor",
      { anchors: ["a:"] },
      [2],
      "the old lines are at line 2, but not below `a:`, where the patch wants them.",
    ],
    [
      "below an anchor at the end",
      { anchors: ["a:"], atEnd: true },
      [2],
      "the old lines are at line 2, but not below `a:`, where the patch wants them.",
    ],
    [
      "at the end",
      { atEnd: true },
      [2],
      "the old lines are at line 2, but not at the end of the file, where the patch wants them.",
    ],
    [
      "below an anchor that is not there",
      { anchors: ["a:", "z:"] },
      [],
      "looked for `z:`, below which the patch wants its change; no line of the file begins so.",
    ],
    ["in other places", {}, [2], "the old lines are at line 2, but the patch may not be applied there."],
  ])("where the patch wants them %s", (_, more, candidates, head) => {
    const told = tell(["-b = 1"], "a:\nb = 1\nc\n", { more, candidates });
    expect([told.head, told.advice]).toEqual([head, adviceFor(head)]);
  });

  test.each<[what: string, more: Partial<Hunk>, head: string, rows: number[]]>([
    [
      "below an anchor",
      { anchors: ["line 12"] },
      "new lines below `line 12`, and no old lines that say where they go.",
      [9, 10, 11, 12, 13, 14, 15],
    ],
    ["without a place", {}, "new lines, and no old lines that say where they go.", [1, 2, 3, 4, 5, 6, 7]],
    [
      "behind the file's end",
      { oldStart: 30, newStart: 31 },
      "the new lines are to stand behind line 30, and the file has 20.",
      [14, 15, 16, 17, 18, 19, 20],
    ],
  ])("that a hunk does not have: new lines %s", (_, more, head, rows) => {
    const told = tell(["+x"], numbers(20), { more });
    expect(told).toEqual({ head, rows, advice: adviceFor(head) });
  });
});

describe("an ambiguous change", () => {
  const text = "}\na = 1\n}\na = 1\nf()\n";
  test.each<[what: string, lines: string[], conflict: Partial<Conflict> & { more?: Partial<Hunk> }, head: string]>([
    ["at two places", ["-a = 1"], { candidates: [2, 4], total: 2 }, "looked for `a = 1`, which fits at lines 2, 4."],
    [
      "that is known by its second line",
      [" }", "-a = 1"],
      { candidates: [1, 3], total: 2 },
      "looked for `a = 1`, which fits at lines 2, 4.",
    ],
    ["at too many places", ["-a = 1"], { total: 5000 }, "looked for `a = 1`, which fits at too many places."],
    [
      "that begins at one place with another line",
      [" }", "-a = 1"],
      { candidates: [1, 2], total: 2 },
      "looked for `a = 1`, which fits at lines 1, 2.",
    ],
    [
      "at one place",
      ["-a = 1"],
      { candidates: [2], total: 1 },
      "looked for `a = 1`; it is near line 2, and whether that is the place is not certain.",
    ],
    [
      "at one place outside of its section",
      ["-a = 1"],
      { candidates: [2], total: 1, more: { section: "f()" } },
      "looked for `a = 1`; it is near line 2, and whether that is the place is not certain.",
    ],
    [
      "at ten places",
      ["-a = 1"],
      { candidates: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], total: 10 },
      "looked for `a = 1`, which fits at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.",
    ],
    [
      "at eleven places",
      ["-a = 1"],
      { candidates: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], total: 11 },
      "looked for `a = 1`, which fits at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1 more.",
    ],
  ])("%s", (_, lines, conflict, head) => {
    const told = tell(lines, text, { reason: "ambiguous", ...conflict });
    expect([told.head, told.advice]).toEqual([head, adviceFor(head)]);
  });
});

describe("a change that is there, or that meets another", () => {
  const hunk = [" line 11", "-old = 1", "+line 12"];
  test.each<[reason: "already-applied" | "overlap", at: number | null, head: string, rows: number[]]>([
    ["already-applied", 11, "the new lines are in the file already.", [9, 10, 11, 12, 13, 14, 15]],
    ["already-applied", 20, "the new lines are in the file already.", [14, 15, 16, 17, 18, 19, 20]],
    ["already-applied", null, "the new lines are in the file already.", [1, 2, 3, 4, 5, 6, 7]],
    ["overlap", 11, "another change of this patch changes the same lines.", [9, 10, 11, 12, 13, 14, 15]],
  ])("%s at %s: %s", (reason, at, head, rows) => {
    expect(tell(hunk, numbers(20), { reason, at })).toEqual({ head, rows, advice: adviceFor(head) });
  });
});

test.each([
  ["in the old lines alone", ["-first", "-...", "+x"]],
  ["in both parts", ["-first", " ...", "-last", "+new"]],
])("dots are reported as no line of the file: %s", (_, lines) => {
  const told = tell(lines, "first\nlast\n", {});
  const head = "`...` is no line of the file.";
  expect([told.head, told.advice]).toEqual([head, adviceFor(head)]);
  expect(tell(lines, "first\n...\nlost\n", {}).head).not.toBe(head);
});

test.each<[file: Partial<FilePatch>, head: string]>([
  [{ kind: "create" }, "the patch makes a new file, but there is one with text in it."],
  [{ kind: "delete" }, "the patch deletes the file, but the file has other lines than the patch takes away."],
  [{}, "the file is not in the state that the patch was made for."],
])("a file in another state is reported: %j", (file, head) => {
  const told = tell(["-x"], numbers(9), { reason: "stale", file });
  expect(told).toEqual({
    head,
    rows: [1, 2, 3, 4, 5, 6, 7],
    advice: "Read the file again, and send a change of the lines that it has now.",
  });
});
