import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parsePatch } from "../../src/unified/parse.js";

function apply(hunks: string, text: string) {
  const reading = parsePatch(`--- a/x\n+++ b/x\n${hunks}`);
  return reading.ok ? applyPatch(reading.patch, text) : expect.fail(JSON.stringify(reading.errors));
}

const twin = (inner: string) => `begin\n${inner}end\n`;
const filler = (count: number) => Array.from({ length: count }, (_, i) => `filler ${i}\n`).join("");

describe("new lines at the named place mean that the hunk is applied, although the old ones stand elsewhere", () => {
  test.each([
    ["a replacement", "@@ -1,3 +1,3 @@\n begin\n-old\n+new\n end\n", twin("new\n"), twin("old\n")],
    ["an insertion", "@@ -1,2 +1,3 @@\n begin\n+new\n end\n", twin("new\n"), twin("")],
    ["a deletion between lines", "@@ -1,3 +1,2 @@\n begin\n-old\n end\n", twin(""), twin("old\n")],
    [
      "a replacement by more lines",
      "@@ -1,3 +1,4 @@\n begin\n-old\n+new\n+newer\n end\n",
      twin("new\nnewer\n"),
      twin("old\n"),
    ],
  ])("%s", (_, hunk, made, old) => {
    const conflicts = [{ reason: "already-applied", at: 1 }];
    expect(apply(hunk, `${made}${filler(9)}${old}`)).toMatchObject({ ok: false, conflicts });
    expect(apply(hunk, `${made}${filler(9)}${old}`.replaceAll("\n", "\r\n"))).toMatchObject({ ok: false, conflicts });
    expect(apply(hunk, `${filler(2)}${old}${filler(3)}`)).toMatchObject({ ok: true });
  });

  test("also where the lines before made the text longer", () => {
    const first = "@@ -1,2 +1,4 @@\n head\n+1\n+2\n filler 0\n";
    const second = "@@ -4,3 +6,3 @@\n begin\n-old\n+new\n end\n";
    const text = `head\n1\n2\n${filler(2)}${twin("new\n")}${filler(2)}${twin("old\n")}`;
    expect(apply(first + second, text)).toMatchObject({
      ok: false,
      conflicts: [{ reason: "already-applied" }, { reason: "already-applied", at: 6 }],
    });
  });

  test("also where the hunks before stand as far from their numbers", () => {
    const first = "@@ -1,3 +1,3 @@\n head\n-one\n+two\n filler 0\n";
    const second = "@@ -5,3 +5,3 @@\n begin\n-old\n+new\n end\n";
    const text = `${filler(3)}head\none\nfiller 0\nfiller 1\n${twin("new\n")}${filler(2)}${twin("old\n")}`;
    expect(apply(first + second, text)).toMatchObject({ ok: false, conflicts: [{ reason: "already-applied", at: 8 }] });
  });
});

test("a line number that is no whole number names no place", () => {
  const lines = [" a", "-b", "+c"];
  const file = {
    kind: "modify",
    before: "x",
    after: "x",
    hunks: [{ id: "1", oldStart: 1.5, newStart: 0.5, lines }],
  } as const;
  expect(applyPatch(file, "a\nb\n")).toMatchObject({ ok: true, text: "a\nc\n" });
  expect(applyPatch(file, "a\nc\n")).toMatchObject({ ok: false, conflicts: [{ reason: "already-applied" }] });
});

describe("conflicts of repeated text", () => {
  test("list at most 20 places, and how many there are", () => {
    const result = apply("@@ ... @@\n-same\n+new\n", "same\n".repeat(50));
    expect(result).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous", total: 50 }] });
    expect(!result.ok && result.conflicts[0]!.candidates).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(apply("@@ ... @@\n-same\n+new\n", "same\n".repeat(5_000))).toMatchObject({ conflicts: [{ total: 5_000 }] });
  });

  test("are settled by a number, however many places there are", () => {
    const result = apply("@@ -4000 +4000 @@\n-same\n+new\n", "same\n".repeat(5_000));
    expect(result.ok && result.text.split("\n").indexOf("new")).toBe(3_999);
  });

  test("are bounded for a patch of many hunks", () => {
    const patch = parsePatch(`--- a/x\n+++ b/x\n${"@@ ... @@\n-same\n+new\n".repeat(20_000)}`);
    const result = patch.ok && applyPatch(patch.patch, "same\n".repeat(50_000));
    const listed =
      result && !result.ok ? result.conflicts.reduce((sum, { candidates }) => sum + candidates.length, 0) : -1;
    expect(listed).toBeLessThanOrEqual(20 * 20_000);
    expect(listed).toBeGreaterThan(0);
  });
});
