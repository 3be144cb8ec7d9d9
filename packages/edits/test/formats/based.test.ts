import { applyPatch, createPatch, formatForBased, formatPatch, type Patch, parsePatch } from "@parlance/edits";
import { describe, expect, test } from "vitest";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";
import { applyAsBased, type Engine, engines } from "./based-engine.js";

const seed = seeded(20_261_122);
const cases = process.env.PARLANCE_LONG ? 40_000 : 4_000;

const worst: Engine = { headers: "any", stripped: true, context: "diff" };
const HEAD = "--- a/f\n+++ b/f\n";

describe("the replica does to a diff what is known of the real engine", () => {
  const abc = "a\nb\nc\n";
  test.each<[what: string, text: string, diff: string, made: string | null, engine?: Engine]>([
    ["a plain hunk is applied", abc, `${HEAD}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n`, "a\nB\nc\n"],
    ["one line is written without counts", "a\n", `${HEAD}@@ -1 +1 @@\n-a\n+b\n`, "b\n"],
    ["several hunks are applied", abc, `${HEAD}@@ -1 +1 @@\n-a\n+A\n@@ -3 +3 @@\n-c\n+C\n`, "A\nb\nC\n"],
    ["an empty diff changes nothing", abc, "", abc],
    [
      "a last line without line feed stays so",
      "a\nb",
      `${HEAD}@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n`,
      "a\nB",
    ],
    ["a diff without final newline glues lines", abc, `${HEAD}@@ -1 +1 @@\n-a\n+A`, "Ab\nc\n"],
    [
      "a blank context line without its space is deleted",
      "a\n\nb\n",
      `${HEAD}@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n`,
      "a\nB\n",
    ],
    ["context that starts as a header is lost", "--- sep\nb\n", `${HEAD}@@ -1,2 +1,2 @@\n --- sep\n-b\n+B\n`, "B\nb\n"],
    ["context that starts as a hunk is an error", "@@ x\nb\n", `${HEAD}@@ -1,2 +1,2 @@\n @@ x\n-b\n+B\n`, null],
    [
      "`-- x` deleted before `++ y` added: both are dropped",
      "-- x\nb\n",
      `${HEAD}@@ -1 +1 @@\n--- x\n+++ y\n`,
      "-- x\nb\n",
      { ...worst, headers: "pairs" },
    ],
    ["CRLF and LF are mixed", "a\r\nb\r\n", `${HEAD}@@ -1 +1 @@\n-a\n+A\n`, "A\nb\r\n"],
    ["U+2028 splits a line", "a\u2028b\nc\n", `${HEAD}@@ -2 +2 @@\n-c\n+C\n`, "a\u2028C\nc\n"],
    ["a form feed splits a line", "a\fb\nc\n", `${HEAD}@@ -2 +2 @@\n-c\n+C\n`, "a\fC\nc\n"],
    ["stale context is not checked", "x\ny\nz\n", `${HEAD}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n`, "a\nB\nc\n"],
    ["section text is an error", abc, `${HEAD}@@ -1 +1 @@ def f():\n-a\n+A\n`, null],
    ["git's header is an error", abc, `diff --git a/f b/f\nindex 1..2 100644\n${HEAD}@@ -1 +1 @@\n-a\n+A\n`, null],
  ])("%s", (_what, text, diff, made, engine = worst) => {
    expect(applyAsBased(text, diff, engine)).toBe(made);
  });
});

/** Every engine makes the very text of `applyPatch`, and git's reader agrees with the diff. */
function expectRight(text: string, patch: Patch, label: unknown): "written" | string {
  const writing = formatForBased(patch, text);
  if (!writing.ok) return writing.reason;
  const applied = applyPatch(patch, text);
  if (!applied.ok) expect.fail(`${label}: a diff was written for a patch that does not apply`);
  for (const engine of engines)
    expect([label, engine, applyAsBased(text, writing.diff, engine)]).toEqual([label, engine, applied.text]);
  if (writing.diff === "") return "empty";
  const strict = parsePatch(writing.diff, { strict: true });
  if (!strict.ok) expect.fail(`${label}: ${strict.errors[0]!.message}`);
  expect([label, formatPatch(strict.patch)]).toEqual([label, writing.diff]);
  expect(writing.diff).toMatch(/^--- a\/[^\n]*\n\+\+\+ b\/[^\n]*\n@@ -\d+(,\d+)? \+\d+(,\d+)? @@\n/);
  return "written";
}

const plain = ["a", "b", "  c", "", "x = 1;", "é🎉"];
const headers = [
  "--- sep",
  "---",
  "-- x",
  "++ y",
  "+++ z",
  "  --- in",
  "@@ -1 +1 @@",
  "\t@@",
  "diff --git a b",
  "index 1..2",
  "-",
  "+",
  "\\ No",
];
const splits = ["a\rb", "a\u2028b", "\f", "a\vb", "\x1c", "\x85", "\ud800"];

test("what is written is right for every engine, and the rest is refused with advice", () => {
  const draw = random(seed);
  const outcomes: Record<string, number> = {};
  for (let i = 0; i < cases; i++) {
    const hazards = draw.below(3);
    const words = [
      ...plain,
      ...plain,
      ...(hazards > 0 ? headers : []),
      ...(hazards > 1 && draw.chance(0.2) ? splits : []),
    ];
    const end = draw.chance(0.05) ? "\r\n" : "\n";
    const lines = () => Array.from({ length: draw.below(24) }, () => draw.pick(words));
    const old = lines();
    const now = draw.chance(0.9) ? [...old] : lines();
    for (let edits = draw.below(4); edits > 0; edits--)
      now.splice(draw.below(now.length + 1), draw.below(3), ...lines().slice(0, draw.below(4)));
    const joined = (text: string[]) => text.join(end) + (draw.chance(0.8) && text.length > 0 ? end : "");
    const before = joined(old);
    const patch = createPatch(before, joined(now), { path: "dir/a file.ts", context: draw.below(4) });
    const outcome = expectRight(before, patch, [i, seed]);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  expect(Object.keys(outcomes).sort()).toEqual(["empty", "line", "text", "written"]);
  expect(outcomes.written).toBeGreaterThan(cases / 4);
});

test("every change of a real file is written, unless one of its own lines looks like a header", () => {
  const draw = random(seed);
  const outcomes: Record<string, number> = {};
  for (const before of readSources(300)) {
    if (/[^\P{Cc}\t\n]|[\u2028\u2029]/u.test(before)) continue;
    const patch = createPatch(before, editText(draw, before, 1 + draw.below(6)), { path: "src/x.ts" });
    const outcome = expectRight(before, patch, patch.files[0]?.hunks[0]?.id);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (outcome !== "line") continue;
    const changed = patch.files[0]!.hunks.flatMap(({ lines }) => lines.filter((line) => line[0] !== " "));
    expect(changed.join("\n")).toMatch(/^(?:[-+]\s*(?:---|\+\+\+|@@|diff --git |index )|---|\+\+\+)/m);
  }
  expect(outcomes.written).toBeGreaterThan(200);
  expect(outcomes.line ?? 0).toBeLessThan(30);
});

describe("what a diff cannot say to such a server", () => {
  const modify = createPatch("a\n", "b\n", { path: "f" });
  test.each<[string, Patch, string, string]>([
    ["a new file", createPatch("", "a\n", { oldPath: null, newPath: "f" }), "", "kind"],
    ["a deleted file", createPatch("a\n", "", { oldPath: "f", newPath: null }), "a\n", "kind"],
    ["a renamed file", createPatch("a\n", "b\n", { oldPath: "f", newPath: "g" }), "a\n", "kind"],
    ["a mode", { files: [{ ...modify.files[0]!, oldMode: "100644", newMode: "100755" }] }, "a\n", "kind"],
    ["two files", { files: [...modify.files, ...modify.files] }, "a\n", "kind"],
    ["CRLF", createPatch("a\r\n", "b\r\n", { path: "f" }), "a\r\n", "text"],
    ["a new line separator", createPatch("a\n", "a\u2028b\n", { path: "f" }), "a\n", "text"],
    ["a new line that looks like a header", createPatch("a\n", "--- b\n", { path: "f" }), "a\n", "line"],
    ["an empty file", createPatch("", "a\n", { path: "f" }), "", "line"],
  ])("%s is refused: send the whole file", (_what, patch, text, reason) => {
    expect(formatForBased(patch, text)).toEqual({
      ok: false,
      reason,
      message: expect.stringMatching(/: send the whole file\.$/),
    });
  });

  test("a patch that does not apply comes back with its conflicts", () => {
    expect(formatForBased(modify, "c\n")).toMatchObject({
      ok: false,
      reason: "conflict",
      conflicts: [{ reason: "not-found" }],
    });
  });

  test("a patch without files is an empty diff", () => {
    expect(formatForBased({ files: [] }, "a\n")).toEqual({ ok: true, diff: "" });
  });
});

test("context that looks like a header is left out, and the numbers stay true", () => {
  const before = "a\n--- sep\nb\nc\n";
  const writing = formatForBased(createPatch(before, "a\n--- sep\nB\nc\n", { path: "f" }), before);
  expect(writing).toEqual({ ok: true, diff: `${HEAD}@@ -3,2 +3,2 @@\n-b\n+B\n c\n` });
});

test("a model's diff with wrong numbers and stale context is written anew for the file", () => {
  const reading = parsePatch("--- a/f\n+++ b/f\n@@ -40,3 +40,3 @@ def f():\n   a\n-b\n+B\n c\n");
  const text = "x\n\n  a \nb\nc\n";
  expect(reading.ok && formatForBased(reading.patch, text)).toEqual({
    ok: true,
    diff: `${HEAD}@@ -1,5 +1,5 @@\n x\n \n   a \n-b\n+B\n c\n`,
  });
});

test.each([
  ["a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"],
  ["a\nb\n", "b\n", "@@ -1,2 +1 @@\n-a\n b\n"],
  ["a\n", "", "@@ -1 +0,0 @@\n-a\n"],
])("the numbers of a hunk from %j to %j are as git writes them", (before, after, hunk) => {
  expect(formatForBased(createPatch(before, after, { path: "f" }), before)).toEqual({ ok: true, diff: HEAD + hunk });
});
