import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";
import { type Rung, rungs } from "../../src/result.js";

const fileOf = (lines: readonly string[], more: Partial<Hunk> = {}) =>
  ({
    kind: "modify",
    before: "x.ts",
    after: "x.ts",
    hunks: [{ id: "h", oldStart: null, newStart: null, lines, ...more }],
  }) as const;

/** A hunk that only one rung places, and its text. */
const ONLY: readonly [rung: Rung, lines: string[], text: string, made: string][] = [
  ["exact", [" a", "-b", "+c"], "a\nb\n", "a\nc\n"],
  ["line-endings", [" a", "-b", "+c"], "a\r\nb\nx\n", "a\r\nc\nx\n"],
  ["trailing-space", [" a", "-b", "+c"], "a \nb\n", "a \nc\n"],
  ["typography", [" “a”", "-b", "+c"], '"a"\nb\n', '"a"\nc\n'],
  ["indentation", [" a", "-b", "+c"], "  a\n  b\n", "  a\n  c\n"],
  ["context", [" a", " d", "-b", "+c"], "a\nx\nd\nb\n", "a\nx\nd\nc\n"],
  [
    "misspelt",
    [" let margni = 1;", " a", " d", "-b", "+c"],
    "let margin = 1;\na\nd\nb\n",
    "let margin = 1;\na\nd\nc\n",
  ],
];

/** Where the longest line of a hunk is nowhere, the rungs that compare whole lines are left out. */
const lastOf = (rung: Rung, loosest: Rung) =>
  rung === "misspelt" && loosest !== "context" ? "exact" : (LAST[loosest] ?? loosest);

/** What the rungs up to one try last: nothing is tried for place, order and the like. */
const LAST: Partial<Record<Rung, Rung>> = {
  place: "exact",
  order: "exact",
  "final-newline": "exact",
  "byte-order-mark": "exact",
};

describe.each(ONLY)("a hunk that only the rung %s places", (rung, lines, text, made) => {
  test.each(rungs)("is written, or not found, where %s is the loosest", (loosest) => {
    const result = applyPatch(fileOf(lines), text, { loosest });
    if (rungs.indexOf(loosest) >= rungs.indexOf(rung))
      expect(result).toMatchObject({ ok: true, text: made, hunks: [{ repairs: rung === "exact" ? [] : [rung] }] });
    else
      expect(result).toMatchObject({
        ok: false,
        conflicts: [{ reason: "not-found", rung: lastOf(rung, loosest), candidates: [], total: 0, at: null }],
      });
  });
});

test("a hunk with other line endings than its text is not found where only what is exact may match", () => {
  const [lines, text] = [[" a", "-b", "+c"], "a\r\nb\r\n"];
  expect(applyPatch(fileOf(lines), text, { loosest: "line-endings" })).toMatchObject({ ok: true, text: "a\r\nc\r\n" });
  expect(applyPatch(fileOf(lines), text, { loosest: "exact" })).toMatchObject({ ok: false });
});

describe("the rung that a conflict names", () => {
  const nowhere = fileOf(["-unheard", "+of"]);
  test("is the last one that was tried", () => {
    const rungOf = (options: object) => {
      const result = applyPatch(nowhere, "a\n", options);
      return result.ok ? undefined : result.conflicts[0]!.rung;
    };
    expect(rungOf({})).toBe("misspelt");
    expect(rungOf({ loosest: "context" })).toBe("context");
    expect(rungOf({ loosest: "indentation" })).toBe("exact");
  });

  test("is the one on which the places are too many", () => {
    for (const [first, rung] of [
      ["a", "exact"],
      ["a ", "trailing-space"],
      ["  a", "indentation"],
    ] as const)
      expect(applyPatch(fileOf(["-a", "+b"]), `${first}\nx\n${first}\n`)).toMatchObject({
        conflicts: [{ reason: "ambiguous", rung, candidates: [1, 3], total: 2 }],
      });
  });
});

test.each([null, 1])("dots stand for no lines of the text, at the line %s", (oldStart) => {
  const lines = [" f {", " ...", "-  b", "+  c"];
  const apply = (text: string) => applyPatch(fileOf(lines, { oldStart, newStart: oldStart }), text);
  const conflicts = [{ reason: "not-found", rung: "misspelt" }];
  expect(apply("f {\n  a\n  b\n}\n")).toMatchObject({ ok: false, conflicts });
  expect(apply("f {\n  a\n  a\n  b\n}\n")).toMatchObject({ ok: false, conflicts });
  expect(apply("f {\n...\n  b\n}\n")).toMatchObject({ ok: true, text: "f {\n...\n  c\n}\n" });
});

describe("a hunk that changes the newline at the end alone", () => {
  const [gone, made] = [{ newNoNewline: true }, { oldNoNewline: true }] as const;
  const lines = [" a", "-b", "+b"];
  test.each<[what: string, more: Partial<Hunk>, text: string, expected: string]>([
    ["takes it away", gone, "a\nb\n", "a\nb"],
    ["has taken it away", gone, "a\nb", "already-applied"],
    ["adds it", made, "a\nb", "a\nb\n"],
    ["has added it", made, "a\nb\n", "already-applied"],
  ])("%s", (_, more, text, expected) => {
    const result = applyPatch(fileOf(lines, more), text);
    expect(result.ok ? result.text : result.conflicts[0]!.reason).toBe(expected);
  });
});

describe("a hunk that stands where it says is refused where its address says otherwise", () => {
  const at = { oldStart: 2, newStart: 2 };
  const text = "f {\n  a\n}\ng {\n  b\n}\n";
  test.each<[what: string, more: Partial<Hunk>, ok: boolean]>([
    ["without an address", {}, true],
    ["below its anchor", { anchors: ["f {"] }, true],
    ["with no anchor in a list of them", { anchors: [] }, true],
    ["above its anchor", { anchors: ["g {"] }, false],
    ["below an anchor that is not there", { anchors: ["h {"] }, false],
    ["not at the end", { atEnd: true }, false],
    ["below its section", { section: "f {" }, true],
    ["above its section", { section: "g {" }, false],
    ["below a section that is not there", { section: "h {" }, true],
  ])("%s", (_, more, ok) => {
    const result = applyPatch(fileOf(["-  a", "+  c"], { ...at, ...more }), text);
    expect(result).toMatchObject(ok ? { ok, text: text.replace("a", "c"), hunks: [{ at: 2, offset: 0 }] } : { ok });
  });

  test("also if another hunk of the patch has none", () => {
    const [hunk] = fileOf(["-  a", "+  c"], at).hunks;
    const other = { ...hunk, id: "i", oldStart: 5, newStart: 5, lines: ["-  b", "+  d"] };
    const apply = (anchors: string[]) => applyPatch({ ...fileOf([]), hunks: [hunk, { ...other, anchors }] }, text);
    expect(apply(["g {"])).toMatchObject({ ok: true });
    expect(apply(["f {"])).toMatchObject({ ok: false });
  });
});
