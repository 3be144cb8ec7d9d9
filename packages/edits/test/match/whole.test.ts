import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { FileKind, FilePatch, Hunk } from "../../src/patch.js";

const hunkOf = (lines: string[], more: Partial<Hunk> = {}): Hunk => ({
  id: "h",
  oldStart: 1,
  newStart: 1,
  lines,
  ...more,
});
const insertion = hunkOf(["+a"], { oldStart: 0 });
const deletion = hunkOf(["-a"]);

/** The text and what was repaired, or why not. */
function apply(patch: Partial<FilePatch>, text: string): string | [string, string] {
  const file: FilePatch = { kind: "modify", before: "x", after: "x", hunks: [insertion], ...patch };
  const result = applyPatch(file, text);
  if (!result.ok) {
    expect(result.conflicts).toEqual([
      { hunk: "", reason: expect.any(String), at: null, candidates: [], total: 0, rung: "exact" },
    ]);
    return result.conflicts[0]!.reason;
  }
  for (const hunk of result.hunks) expect(hunk).toMatchObject({ id: "h", at: 1, offset: 0 });
  return [result.text, result.hunks.map(({ repairs }) => repairs.join(" ")).join()];
}

describe("a file whose index line names the empty text", () => {
  const name = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
  test.each<[what: string, index: string, hunk: Hunk | null, text: string, made: string | [string, string]]>([
    ["is made", "e69de29..1234567", insertion, "", ["a\n", ""]],
    ["is not made where there is text", "e69de29..1234567", insertion, "b\n", "stale"],
    ["is not made by its whole name either", `${name}..1234567`, insertion, "b\n", "stale"],
    ["has been made", "e69de29..1234567", insertion, "a\n", "already-applied"],
    ["is another by a name too short", "e69de2..1234567", insertion, "b\n", ["a\nb\n", ""]],
    ["is another by a name too long", `${name}1..1234567`, insertion, "b\n", ["a\nb\n", ""]],
    ["is emptied", "1234567..e69de29", deletion, "a\n", ["", ""]],
    ["is not emptied of more", "1234567..e69de29", deletion, "a\nb\n", "stale"],
    ["is not emptied by another name", "1234567..e69de28", deletion, "a\nb\n", ["b\n", ""]],
    ["has to be empty without hunks", "e69de29..e69de29", null, "a\n", "stale"],
  ])("%s", (_, index, hunk, text, made) => {
    expect(apply({ git: { index }, hunks: hunk ? [hunk] : [] }, text)).toEqual(made);
  });
});

describe("a patch of a file", () => {
  test.each<[what: string, kind: FileKind, hunks: Hunk[], text: string, made: string | [string, string]]>([
    ["changes nothing without hunks", "modify", [], "a\n", ["a\n", ""]],
    ["deletes it without hunks", "delete", [], "a\n", ["", ""]],
    ["makes none of text without hunks", "create", [], "a\n", ["a\n", ""]],
    ["makes it", "create", [insertion], "", ["a\n", ""]],
    ["makes none that is there", "create", [insertion], "b\n", "stale"],
    ["has made it", "create", [insertion], "a\n", "already-applied"],
    ["deletes it", "delete", [deletion], "a\n", ["", ""]],
    ["deletes none with more text", "delete", [deletion], "a\nb\n", "stale"],
  ])("%s", (_, kind, hunks, text, made) => {
    expect(apply({ kind, hunks }, text)).toEqual(made);
  });

  test.each<[what: string, lines: string[], text: string, made: string | [string, string]]>([
    ["replaces it", ["+a"], "b\nc\n", ["a\n", ""]],
    ["keeps it", ["+a"], "a\n", ["a\n", ""]],
    ["empties it", ["-a"], "b\n", ["", ""]],
    ["keeps its byte order mark", ["+a"], "\ufeffb\n", ["\ufeffa\n", "byte-order-mark"]],
    ["has its own byte order mark", ["+\ufeffa"], "\ufeffb\n", ["\ufeffa\n", ""]],
    ["makes no byte order mark", ["+a"], "b\ufeff\n", ["a\n", ""]],
    ["keeps its line endings", ["+a", "+c"], "b\r\n", ["a\r\nc\r\n", "line-endings"]],
    ["has its own line endings", ["+a\r", "+c"], "b\r\n", ["a\r\nc\n", ""]],
    ["keeps both", ["+a"], "\ufeffb\r\n", ["\ufeffa\r\n", "line-endings byte-order-mark"]],
  ])("as a whole %s", (_, lines, text, made) => {
    const result = apply({ whole: true, hunks: [hunkOf(lines)] }, text);
    expect(typeof result === "string" ? result : [result[0], result[1].split(" ").sort().reverse().join(" ")]).toEqual(
      made,
    );
  });

  test("as a whole ends without line feed where it says so", () => {
    expect(apply({ whole: true, hunks: [hunkOf(["+a", "+b"], { newNoNewline: true })] }, "c\n")).toEqual(["a\nb", ""]);
  });

  test("as a whole without hunks makes an empty one, and changes none", () => {
    expect(applyPatch({ kind: "create", before: null, after: "x", hunks: [], whole: true }, "b")).toEqual({
      ok: true,
      text: "",
      hunks: [],
    });
    expect(apply({ whole: true, hunks: [] }, "b")).toBe("stale");
  });

  test("has to be of one file, or of none", () => {
    const file: FilePatch = { kind: "modify", before: "x", after: "x", hunks: [insertion] };
    expect(applyPatch({ files: [] }, "a\n")).toEqual({ ok: true, text: "a\n", hunks: [] });
    expect(applyPatch({ files: [file, file] }, "a\n")).toMatchObject({
      ok: false,
      conflicts: [{ reason: "not-found" }],
    });
  });
});
