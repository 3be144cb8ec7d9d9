import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";

function patchOf(reading: Reading) {
  return reading.ok ? reading.patch : expect.fail(JSON.stringify(reading.errors));
}
const diff = (hunks: string, path = "x.ts") => patchOf(parsePatch(`--- a/${path}\n+++ b/${path}\n${hunks}`));

describe("carriage returns", () => {
  test("are taken from all hunks, lines that are inserted by number too, where the text has none", () => {
    const result = applyPatch(diff("@@ -1 +1 @@\n-a\r\n+c\r\n@@ -2,0 +3 @@\n+d\r\n"), "a\nb\n");
    const repairs = [{ repairs: ["line-endings"] }, { repairs: ["line-endings"] }];
    expect(result).toMatchObject({ ok: true, text: "c\nb\nd\n", hunks: repairs });
  });

  test("are taken from one hunk alone where another has none", () => {
    const result = applyPatch(diff("@@ -1 +1 @@\n-a\r\n+c\r\n@@ -3 +3 @@\n-x\n+y\n"), "a\nb\nx\n");
    expect(result).toMatchObject({
      ok: true,
      text: "c\nb\ny\n",
      hunks: [{ repairs: ["line-endings"] }, { repairs: [] }],
    });
  });

  test("are kept in lines that are inserted by number alone", () => {
    expect(applyPatch(diff("@@ -1,0 +2 @@\n+d\r\n"), "a\nb\n")).toMatchObject({ ok: true, text: "a\nd\r\nb\n" });
  });

  test("stand before the line feed of a text without one at its end", () => {
    const result = applyPatch(diff("@@ ... @@\n a\n-b\n+x\n+y\n"), "a \r\nb");
    expect(result).toMatchObject({ ok: true, text: "a \r\nx\r\ny" });
  });

  test.each<[before: string, after: string]>([
    ["a\r\nb\r\n", "x\r\ny\r\n"],
    ["a\r\nb\n", "x\ny\n"],
    ["a\nb\r\n", "x\ny\n"],
    ["\nb\r\n", "x\ny\n"],
    ["a", "x\ny\n"],
    ["", "x\ny\n"],
    ["\ufeffa\r\n", "\ufeffx\r\ny\r\n"],
  ])("of %j are those of a whole new text where all its lines had them", (before, after) => {
    const hunk = { id: "1", oldStart: 0, newStart: 1, lines: ["+x", "+y"] };
    const file = { kind: "modify", before: "f", after: "f", whole: true, hunks: [hunk] } as const;
    expect(applyPatch(file, before)).toMatchObject({ ok: true, text: after });
  });
});
