import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";

/** Applies hunks that have no line numbers, in the file's order or in none. */
function apply(hunks: readonly string[][], more: Partial<Hunk>, text: string): unknown {
  const own = hunks.map((lines, i): Hunk => ({ id: `h${i}`, oldStart: null, newStart: null, lines, ...more }));
  const result = applyPatch({ kind: "modify", before: "x", after: "x", hunks: own }, text);
  return result.ok ? result.text : result.conflicts.map(({ hunk, reason }) => `${hunk} ${reason}`);
}

test.each<[what: string, hunks: string[][], text: string, made: string | string[]]>([
  ["one way fits", [["-b"], ["-a"]], "a\nb\na\n", "a\n"],
  ["two ways fit", [["-a"], ["-b"]], "a\nb\na\nb\n", ["h0 ambiguous", "h1 ambiguous"]],
  ["none fits", [["-b"], ["-a"], ["-a"]], "a\na\nb\n", ["h1 ambiguous", "h2 ambiguous"]],
])("hunks in the file's order stand where %s", (_, hunks, text, made) => {
  expect(apply(hunks, { anchors: [] }, text)).toEqual(made);
});

test("hunks in no order are ambiguous where only their order would place them", () => {
  expect(apply([["-b"], ["-a"]], {}, "a\nb\na\n")).toEqual(["h1 ambiguous"]);
});
