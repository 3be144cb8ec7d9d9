import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import type { Reading } from "../../src/reading.js";
import type { LineRange } from "../../src/result.js";
import { parsePatch } from "../../src/unified/parse.js";

const body = "  x = 1\n  return x\n}\n";
const text = ["a", "b", "c"].map((name) => `function ${name}() {\n${body}`).join("");
const changed = (row: number) =>
  text
    .split("\n")
    .map((line, i) => (i === row - 1 ? "  x = 2" : line))
    .join("\n");

function apply(reading: Reading, at: LineRange, before = text) {
  return reading.ok ? applyPatch(reading.patch, before, { at }) : expect.fail(JSON.stringify(reading.errors));
}
const unified = (hunk: string) => parsePatch(`--- a/x\n+++ b/x\n${hunk}`);
const search = parseSearchReplace("a.js\n<<<<<<< SEARCH\n  x = 1\n=======\n  x = 2\n>>>>>>> REPLACE\n");
const second = unified("@@ -2,2 +2,2 @@\n-  x = 1\n+  x = 2\n   return x\n");

describe("a patch of some lines of a text", () => {
  test("counts from the first of them", () => {
    expect(apply(second, { line_start: 5 })).toMatchObject({
      ok: true,
      text: changed(6),
      hunks: [{ at: 6, offset: 0 }],
    });
    expect(apply(second, { line_start: 1, line_end: 4 })).toMatchObject({ ok: true, text: changed(2) });
  });

  test("is applied there, whatever stands elsewhere", () => {
    expect(apply(search, { line_start: 5, line_end: 8 })).toMatchObject({
      ok: true,
      text: changed(6),
      hunks: [{ at: 6 }],
    });
    expect(apply(search, { line_start: 10, line_end: 10 })).toMatchObject({ ok: true, text: changed(10) });
  });

  test.each([
    ["the lines stand before them", { line_start: 11 }, "not-found", []],
    ["the lines stand behind them", { line_start: 1, line_end: 1 }, "not-found", []],
    ["the hunk reaches over the last of them", { line_start: 5, line_end: 5 }, "not-found", []],
    ["the lines stand twice among them", { line_start: 5 }, "ambiguous", [6, 10]],
    ["there are no such lines", { line_start: 20 }, "not-found", []],
    ["they end before they begin", { line_start: 5, line_end: 3 }, "not-found", []],
    ["they begin before the text", { line_start: 0 }, "not-found", []],
    ["they begin within a line", { line_start: 1.5 }, "not-found", []],
  ])("is a conflict where %s", (_, at, reason, candidates) => {
    expect(apply(search, at)).toMatchObject({
      ok: false,
      conflicts: [{ reason, at: candidates[0] ?? null, candidates }],
    });
  });

  test("ends where the next line begins, whatever it says of a final newline", () => {
    const unended = unified(
      "@@ -1 +1 @@\n-function b() {\n\\ No newline at end of file\n+function d() {\n\\ No newline at end of file\n",
    );
    expect(apply(unended, { line_start: 5, line_end: 5 })).toMatchObject({
      ok: true,
      text: text.replace("b()", "d()"),
    });
    const last = unified("@@ -1 +1 @@\n-function b() {\n+function d() {\n\\ No newline at end of file\n");
    expect(apply(last, { line_start: 5, line_end: 5 })).toMatchObject({ ok: true, text: text.replace("b()", "d()") });
  });

  test("ends as the text does where it ends there", () => {
    const last = unified("@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n");
    expect(apply(last, { line_start: 2 }, "a\nb")).toMatchObject({ ok: true, text: "a\nc" });
  });

  test("may be none: then the text stays", () => {
    expect(applyPatch({ files: [] }, text, { at: { line_start: 5 } })).toEqual({ ok: true, text, hunks: [] });
    expect(() => applyPatch("no patch" as never, text, { at: { line_start: 5 } })).toThrow(/`?patch`?/);
  });

  test("goes as far as the options allow, as in a whole text", () => {
    const indented = parseSearchReplace("a.js\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n");
    const patch = indented.ok ? indented.patch : expect.fail();
    const at = { line_start: 5, line_end: 8 };
    expect(applyPatch(patch, text, { at })).toMatchObject({ ok: true, text: changed(6) });
    expect(applyPatch(patch, text, { at, loosest: "exact" })).toMatchObject({
      ok: false,
      conflicts: [{ reason: "not-found" }],
    });
  });

  test("may be an insertion before a line, or at the end", () => {
    const bare = unified("@@ -0,0 +1 @@\n+// new\n");
    expect(apply(bare, { line_start: 5, line_end: 4 })).toMatchObject({
      ok: true,
      text: text.replace("function b", "// new\nfunction b"),
    });
    expect(apply(bare, { line_start: 5, line_end: 3 })).toMatchObject({ ok: false });
    expect(apply(bare, { line_start: 13 })).toMatchObject({ ok: true, text: `${text}// new\n` });
  });

  test("is about the whole file where that is created, deleted or replaced", () => {
    const created = parsePatch("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n");
    expect(apply(created, { line_start: 5 }, "")).toMatchObject({ ok: true, text: "new\n" });
  });
});
