import { createPatch, type FilePatch, type Hunk, invertPatch, parsePatch } from "@parlance/edits";
import { describe, expect, test } from "vitest";

const file: FilePatch = { kind: "modify", before: "f", after: "f", hunks: [] };
const invert = (change: Partial<FilePatch>) => invertPatch({ files: [{ ...file, ...change }] }).files[0]!;

describe("the inverse of a file", () => {
  test.each<[what: string, change: Partial<FilePatch>, inverse: Partial<FilePatch>]>([
    ["a creation", { kind: "create", before: null }, { kind: "delete", after: null }],
    ["a deletion", { kind: "delete", after: null }, { kind: "create", before: null }],
    ["a rename", { kind: "rename", after: "g" }, { kind: "rename", before: "g", after: "f" }],
    ["a copy", { kind: "copy", after: "g" }, { kind: "delete", before: "g", after: null }],
    ["an old mode alone", { oldMode: "100644" }, { newMode: "100644" }],
    ["both modes", { oldMode: "100644", newMode: "100755" }, { oldMode: "100755", newMode: "100644" }],
    ["time stamps", { oldStamp: "1", newStamp: "2" }, { oldStamp: "2", newStamp: "1" }],
    ["one time stamp", { newStamp: "2" }, { oldStamp: "2" }],
    ["object names", { git: { index: "a1..b2", mode: "100644" } }, { git: { index: "b2..a1", mode: "100644" } }],
    ["a header without object names", { git: { similarity: 90 } }, { git: { similarity: 90 } }],
    ["an empty header", { git: {} }, { git: {} }],
    ["the reason of a change", { reason: "why" }, { reason: "why" }],
  ])("has what belongs to %s on the other side, and no field more", (_, change, inverse) => {
    expect(invert(change)).toStrictEqual({ ...file, ...inverse });
  });

  test("that was replaced as a whole has no lines, and is replaced; the one of a whole new file deletes it", () => {
    const [made] = createPatch("", "a\n", { oldPath: null, newPath: "f" }).files;
    expect(invert({ hunks: made!.hunks, whole: true })).toStrictEqual({ ...file, whole: true });
    const gone = invertPatch({ files: [{ ...made!, whole: true }] }).files[0]!;
    expect(gone).toMatchObject({ kind: "delete", before: "f", after: null, hunks: [{ lines: ["-a"] }] });
    expect(gone).not.toHaveProperty("whole");
  });
});

describe("the inverse of a hunk", () => {
  const hunk: Hunk = { id: "1", oldStart: 3, newStart: 5, lines: [" a", "-b", "+c", " d"] };
  const invertHunk = (change: Partial<Hunk>) => invert({ hunks: [{ ...hunk, ...change }] }).hunks[0]!;
  const inverse = invertHunk({});

  test.each<[what: string, change: Partial<Hunk>, inverse: Partial<Hunk>]>([
    ["its line numbers", {}, { oldStart: 5, newStart: 3 }],
    ["no line numbers", { oldStart: null, newStart: null }, { oldStart: null, newStart: null }],
    ["its section", { section: "f()" }, { section: "f()" }],
    ["its anchors", { anchors: ["a"] }, { anchors: ["a"] }],
    ["anchors, though there are none", { anchors: [] }, { anchors: [] }],
    ["the end of the file", { atEnd: true }, { atEnd: true }],
    ["an old last line without its end", { oldNoNewline: true }, { newNoNewline: true }],
    ["a new last line without its end", { newNoNewline: true }, { oldNoNewline: true }],
  ])("has %s, and no field more", (_, change, expected) => {
    expect(invertHunk(change)).toStrictEqual({ ...inverse, ...expected });
  });

  test.each<[lines: string[], inverse: string[]]>([
    [
      ["-a", "+b"],
      ["-b", "+a"],
    ],
    [
      ["-a", "-b", " c", "+d"],
      ["+a", "+b", " c", "-d"],
    ],
    [
      ["+a", "-b", "+c", "-d"],
      ["-a", "-c", "+b", "+d"],
    ],
    [
      ["-a", "+b", " c", "-d", "+e"],
      ["-b", "+a", " c", "-e", "+d"],
    ],
  ])("of %j has deleted lines before added ones: %j", (lines, expected) => {
    expect(invertHunk({ lines }).lines).toEqual(expected);
  });

  test("has the id that its own lines give, and an ordinal where these come again", () => {
    const twice = ["@@ -1 +1 @@\n-a\n+b\n", "@@ -9 +9 @@\n-a\n+b\n", "@@ -20 +20 @@\n-c\n+d\n"];
    const read = (hunks: readonly string[]) => {
      const reading = parsePatch(`--- a/f\n+++ b/f\n${hunks.join("")}`);
      return reading.ok ? reading.patch : expect.fail(reading.errors[0]!.message);
    };
    const turned = twice.map((each) => each.replace(/-(\w)\n\+(\w)/, "-$2\n+$1"));
    expect(invertPatch(read(twice))).toEqual(read(turned));
  });
});

test("the inverse of a patch has its files in reverse order", () => {
  const inverse = invertPatch({
    files: [
      { ...file, before: "a", after: "b", kind: "rename" },
      { ...file, reason: "last" },
    ],
  });
  expect(inverse.files.map(({ before }) => before)).toEqual(["f", "b"]);
});
