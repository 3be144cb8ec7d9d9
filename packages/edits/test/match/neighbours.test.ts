import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";

function patchOf(reading: Reading) {
  return reading.ok ? reading.patch : expect.fail(JSON.stringify(reading.errors));
}
const diff = (hunks: string, path = "x.ts") => patchOf(parsePatch(`--- a/${path}\n+++ b/${path}\n${hunks}`));

describe("dots for lines that are left out", () => {
  const apply = (old_str: string, new_str: string, text: string) => {
    const result = applyPatch(patchOf(parseStrReplace({ path: "x.ts", old_str, new_str })), text);
    return result.ok ? result.text : [result.conflicts[0]!.reason, ...result.conflicts[0]!.candidates].join(" ");
  };
  const change = (head: string, tail: string, text: string) =>
    apply(`${head}\n...\n${tail}`, `${head}\n...\n${tail.replace(/\w+/, "new")}`, text);

  test.each<[what: string, head: string, tail: string, text: string, made: string]>([
    [
      "before a line that also stands above",
      "f {",
      "  end();",
      "  end();\nf {\n  x();\n  end();\n}\n",
      "  end();\nf {\n  x();\n  new();\n}\n",
    ],
    [
      "behind a line that also stands below",
      "  a();",
      "  b();",
      "  a();\n  x();\n  b();\n  a();\n",
      "  a();\n  x();\n  new();\n  a();\n",
    ],
    [
      "behind the first of two lines that are the same",
      "a();",
      "b();",
      "a();\nx();\na();\nb();\n",
      "a();\nx();\na();\nnew();\n",
    ],
    ["where no line is left out", "  a();", "  b();", "  a();\n  b();\n", "not-found"],
    ["at one depth", "one();", "two();", "one();\nx();\ny();\ntwo();\n", "one();\nx();\ny();\nnew();\n"],
    ["one column deeper", "f {", " end();", "f {\n x();\n end();\n}\n", "f {\n x();\n new();\n}\n"],
    [
      "with blank and deeper ones",
      "f {",
      "  end();",
      "f {\n  x {\n\n    y\n  }\n  end();\n",
      "f {\n  x {\n\n    y\n  }\n  new();\n",
    ],
    ["out of the block", "f {", "  end();", "f {\n  a();\n}\ng {\n  end();\n", "not-found"],
    ["further out than both lines", "  a();", "  b();", "  a();\nx();\n  b();\n", "not-found"],
    [
      "at the depth of the line behind, which is further out",
      "  a();",
      "b();",
      "  a();\nx();\nb();\n",
      "  a();\nx();\nnew();\n",
    ],
    ["twice", "a();", "b();", "a();\nx();\nb();\na();\nx();\nb();\n", "ambiguous 1 4"],
  ])("%s", (_, head, tail, text, made) => {
    expect(change(head, tail, text)).toBe(made);
  });

  test("are filled in only below their anchors", () => {
    const text = "f {\n  x();\n  end();\n}\ng {\n  y();\n}\n";
    const apply = (anchor: string) => {
      const lines = " f {\n ...\n-  end();\n+  new();\n";
      const reading = parseBeginPatch(`*** Begin Patch\n*** Update File: x.ts\n@@ ${anchor}\n${lines}*** End Patch\n`);
      return applyPatch(patchOf(reading), text);
    };
    expect(apply("f {")).toMatchObject({ ok: true, text: text.replace("end", "new") });
    expect(apply("g {")).toMatchObject({ ok: false, conflicts: [{ reason: "not-found", rung: "elided", at: 1 }] });
  });
});

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
