import { describe, expect, test } from "vitest";
import { describeChanges, type FileState, invertChanges } from "../../src/node/changes.js";
import { isBusy } from "../../src/node/conflict.js";
import { contentHash } from "../../src/node/files.js";

const state = (text: string, mode = 0o644): FileState => ({ text, hash: contentHash(Buffer.from(text)), mode });
const file = (path: string, before: FileState | null, after: FileState | null) => ({ path, before, after });
const a = state("a\n");
const b = state("b\n");

/** What each file's change is: kind, names and modes, and whether lines change. */
const shown = (...args: Parameters<typeof describeChanges>) =>
  describeChanges(...args).files.map(({ kind, before, after, oldMode, newMode, hunks }) =>
    [kind, before, after, oldMode, newMode, hunks.length].map((each) => each ?? "-").join(" "),
  );

describe("planned files as a patch", () => {
  test.each<[what: string, files: ReturnType<typeof file>[], moves: [string, string][], patch: string[]]>([
    ["a change", [file("x", a, b)], [], ["modify x x - - 1"]],
    ["a new file", [file("x", null, a)], [], ["create - x - 100644 1"]],
    ["a new program", [file("x", null, state("a\n", 0o755))], [], ["create - x - 100755 1"]],
    ["a deleted file", [file("x", a, null)], [], ["delete x - 100644 - 1"]],
    ["another mode", [file("x", a, state("a\n", 0o755))], [], ["modify x x 100644 100755 0"]],
    ["another mode and a change", [file("x", state("a\n", 0o700), b)], [], ["modify x x 100755 100644 1"]],
    ["a mode that git does not have", [file("x", a, state("a\n", 0o600))], [], []],
    ["a move", [file("x", a, null), file("y", null, a)], [["x", "y"]], ["rename x y - - 0"]],
    ["a move and a change", [file("x", a, null), file("y", null, b)], [["x", "y"]], ["rename x y - - 1"]],
    [
      "two moves of one file",
      [file("x", a, null), file("z", null, a)],
      [
        ["x", "y"],
        ["y", "z"],
      ],
      ["rename x z - - 0"],
    ],
    [
      "a move onto a file that is there",
      [file("x", a, null), file("y", b, a)],
      [["x", "y"]],
      ["delete x - 100644 - 1", "modify y y - - 1"],
    ],
    [
      "a move of a file that is made again",
      [file("x", a, b), file("y", null, a)],
      [["x", "y"]],
      ["modify x x - - 1", "create - y - 100644 1"],
    ],
    [
      "a deleted file beside a new one",
      [file("x", a, null), file("y", null, a)],
      [],
      ["delete x - 100644 - 1", "create - y - 100644 1"],
    ],
  ])("%s", (_, files, moves, patch) => {
    expect(
      shown(
        files,
        moves.map(([from, to]) => ({ from, to })),
      ),
    ).toEqual(patch);
  });
});

test("planned files inverted have their states exchanged, and moves go back from the last", () => {
  const moves = [
    { from: "x", to: "y" },
    { from: "y", to: "z" },
  ];
  expect(invertChanges([file("x", a, null)], moves)).toEqual({
    files: [file("x", null, a)],
    moves: [
      { from: "z", to: "y" },
      { from: "y", to: "x" },
    ],
  });
});

test("only a plan that waits for another one may succeed later", () => {
  const busy = (reason: "busy" | "io" | "hunks") => isBusy({ path: null, reason, message: "" });
  expect([busy("busy"), busy("io"), busy("hunks")]).toEqual([true, false, false]);
});
