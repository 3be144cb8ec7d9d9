import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parsePatch } from "../../src/unified/parse.js";

function applyBegin(body: string, text: string) {
  const reading = parseBeginPatch(`*** Begin Patch\n*** Update File: a\n${body}*** End Patch\n`);
  return reading.ok ? applyPatch(reading.patch, text) : expect.fail(JSON.stringify(reading.errors));
}

function applyUnified(hunk: string, text: string) {
  const reading = parsePatch(`--- a/a\n+++ b/a\n${hunk}`);
  return reading.ok ? applyPatch(reading.patch, text) : expect.fail(JSON.stringify(reading.errors));
}

/** The text with the line of this number, counted from 1, changed. */
function withLine(text: string, row: number, line: string): string {
  return text
    .split("\n")
    .map((each, i) => (i === row - 1 ? line : each))
    .join("\n");
}

const change = "-    x = 1\n+    x = 2\n";
const python = ["a", "b", "c"].map((name) => `def ${name}():\n    x = 1\n    return x\n`).join("\n");
const classes = ["A", "B"]
  .map(
    (name) =>
      `class ${name}:\n    def run(self):\n        x = 1\n\n    def stop(self):\n        x = 1\n        y = 2\n`,
  )
  .join("\n\n");
const braces = "int a()\n{\n    x = 1\n}\n\nint b(int c,\n      int d)\n{\n    x = 1\n}\n";
const flush = "function a() {\nx = 1\n}\nfunction b() {\nx = 1\n}\n";
const headings = "# One\n\ntext\n\n## Two\n\ntext\n\n# Three\n\ntext\n";
const settings = "[one]\nport = 1\n\n[two]\nport = 1\n";

describe("an anchor decides where an ambiguous hunk is applied", () => {
  test.each([
    ["the second of three functions", `@@ def b():\n${change}`, python, 6, "    x = 2"],
    ["a function, without a blank before it", `@@def b():\n${change}`, python, 6, "    x = 2"],
    ["the last of three functions", `@@ def c():\n${change}`, python, 10, "    x = 2"],
    ["an anchor without its parameters", `@@ def b\n${change}`, python, 6, "    x = 2"],
    ["an anchor that is the hunk's first line as well", `@@ def b():\n def b():\n${change}`, python, 6, "    x = 2"],
    [
      "two anchors, one in the block of the other",
      "@@ class B:\n@@ def run(self):\n-        x = 1\n+        x = 2\n",
      classes,
      12,
      "        x = 2",
    ],
    [
      "the outer anchor, where the inner line stands in both",
      "@@ class B:\n     def stop(self):\n-        x = 1\n+        x = 2\n",
      classes,
      15,
      "        x = 2",
    ],
    ["a block that braces below its head hold", `@@ int b(int c,\n${change}`, braces, 9, "    x = 2"],
    ["a block without indentation", "@@ function b() {\n-x = 1\n+x = 2\n", flush, 5, "x = 2"],
    ["what stands below a heading", "@@ ## Two\n-text\n+new\n", headings, 7, "new"],
    ["what stands below a line in brackets", "@@ [two]\n-port = 1\n+port = 2\n", settings, 5, "port = 2"],
    ["another indentation in the named block", "@@ def b():\n-  x = 1\n+  x = 2\n", python, 6, "    x = 2"],
    ["CRLF", `@@ def b():\n${change}`, python.replaceAll("\n", "\r\n"), 6, "    x = 2\r"],
  ] as const)("%s", (_, body, text, row, line) => {
    expect(applyBegin(body, text)).toMatchObject({ ok: true, text: withLine(text, row, line), hunks: [{}] });
  });
});

describe("a hunk that begins above its anchor", () => {
  const above = "     return x\n \n";
  test.each<[what: string, body: string, made: string | null]>([
    ["changes a line below it", `@@ def b():\n${above} def b():\n${change}`, withLine(python, 6, "    x = 2")],
    [
      "inserts right below it, and ends there",
      `@@ def b():\n${above} def b():\n+    y = 0\n`,
      withLine(python, 5, "def b():\n    y = 0"),
    ],
    ["changes a line above it", "@@ def b():\n-    return x\n+    return y\n \n def b():\n     x = 1\n", null],
    ["inserts right above it", `@@ def b():\n${above}+# b\n def b():\n     x = 1\n`, null],
    ["inserts right above it, and ends there", `@@ def b():\n${above}+# b\n`, null],
  ])("is applied if its changes are below: it %s", (_, body, made) => {
    const once = python.replace(/return x(?=\n\ndef c)/, "return z");
    const result = applyBegin(body, once);
    if (made === null) expect(result).toMatchObject({ ok: false, conflicts: [{ reason: "not-found" }] });
    else expect(result).toMatchObject({ ok: true, text: made.replace(/return x(?=\n\ndef c)/, "return z") });
  });
});

describe("anchors and the lines that a hunk leaves out", () => {
  function applyBelow(anchor: string, lines: string[], text: string) {
    const hunk = { id: "h", oldStart: null, newStart: null, anchors: [anchor], lines };
    const result = applyPatch({ kind: "modify", before: "f", after: "f", hunks: [hunk] }, text);
    return result.ok ? result.text : result.conflicts[0]!.reason;
  }

  test("a deletion in the first line is above an anchor in the line that it leaves out", () => {
    const lines = ["-a1", " b1", " c1", " d1"];
    expect(applyBelow("a1", lines, "a1\nx1\nb1\nc1\nd1\n")).toBe("x1\nb1\nc1\nd1\n");
    expect(applyBelow("x1", lines, "a1\nx1\nb1\nc1\nd1\n")).toBe("not-found");
  });

  test("a new line in the place of a blank one that the text lacks is below the anchor before it", () => {
    expect(applyBelow("a1", [" z1", " a1", "+n1", "-"], "z1\na1\nb1\n")).toBe("z1\na1\nn1\nb1\n");
  });
});

describe("several anchors", () => {
  const text = "p\n q\n  k\npq\n  k\n";

  test("are not taken for one of the same letters", () => {
    const body = "@@ p\n@@ q\n-  k\n+  1\n@@ pq\n-  k\n+  2\n";
    expect(applyBegin(body, text)).toMatchObject({ ok: true, text: "p\n q\n  1\npq\n  2\n" });
  });

  test.each([
    ["the inner one is the outer one itself", "@@ a:\n@@ a:\n-  k\n+  1\n", "a:\n  k\nb:\n  m\n"],
    ["the inner one stands right behind the block", "@@ a:\n@@ b:\n-  m\n+  1\n", "a:\n  k\nb:\n  m\n"],
    ["the inner one is the first line of the text", "@@ b:\n@@ a:\n-  k\n+  1\n", "a:\n  k\nb:\n  m\n"],
  ])("name no place where %s", (_, body, text) => {
    expect(applyBegin(body, text)).toMatchObject({ ok: false, conflicts: [{ reason: "not-found" }] });
  });
});

test("many hunks stand below one anchor that is in many places", () => {
  const numbers = Array.from({ length: 1000 }, (_, i) => i);
  const text = numbers.map((each) => `class A:\n    x${each} = 1\n`).join("");
  const body = numbers
    .slice(0, 400)
    .map((each) => `@@ class A:\n-    x${each} = 1\n+    x${each} = 2\n`)
    .join("");
  const made = text.replace(/(x[0-3]?[0-9]?[0-9] =) 1/g, "$1 2");
  expect(applyBegin(body, text)).toMatchObject({ ok: true, text: made });
});

test.each([
  [200, true],
  [400, false],
])("of anchors that are in many places, each beside another one, %i are looked for: %s", (count, ok) => {
  const numbers = Array.from({ length: 700 }, (_, i) => i);
  const text = numbers.map((each) => `class A:\n    def f${each}():\n        x${each} = 1\n`).join("");
  const body = numbers
    .slice(0, count)
    .map((each) => `@@ class A:\n@@ def f${each}():\n-        x${each} = 1\n+        x${each} = 2\n`)
    .join("");
  expect(applyBegin(body, text)).toMatchObject({ ok });
});

describe("a hunk is applied nowhere else than its anchors say", () => {
  test.each([
    ["the anchor is not in the text", `@@ def d():\n${change}`, python, "not-found"],
    [
      "the anchor is not, although the lines stand only once",
      "@@ def d():\n-    z = 1\n+    z = 2\n",
      "z\n    z = 1\n",
      "not-found",
    ],
    [
      "the lines stand in another block",
      "@@ def a():\n-    y = 1\n+    y = 2\n",
      python.replace("x = 1\n    return x\n\ndef c", "y = 1\n    return y\n\ndef c"),
      "not-found",
    ],
    [
      "the lines stand above the anchor",
      "@@ def c():\n-    y = 1\n+    y = 2\n",
      python.replace("x = 1", "y = 1"),
      "not-found",
    ],
    [
      "the inner anchor is not in the outer one",
      "@@ class A:\n@@ def go(self):\n-        x = 1\n+        x = 2\n",
      classes.replace(/run(?!.*run)/s, "go"),
      "not-found",
    ],
    [
      "the anchors stand in another order",
      "@@ def run(self):\n@@ class B:\n-        x = 1\n+        x = 2\n",
      classes,
      "not-found",
    ],
    ["the anchor stands twice, and the lines below both", `@@ def a():\n${change}`, python + python, "ambiguous"],
    ["the lines stand twice below it", `@@ def b():\n${change}`, python.replaceAll("return x", "x = 1"), "ambiguous"],
    [
      "the new lines stand below it, and the old ones elsewhere",
      `@@ def b():\n${change}`,
      withLine(python, 6, "    x = 2"),
      "already-applied",
    ],
    ["another section is meant", "@@ ## Two\n-three\n+new\n", headings.replace(/text\n$/, "three\n"), "not-found"],
  ] as const)("%s", (_, body, text, reason) => {
    expect(applyBegin(body, text)).toMatchObject({ ok: false, conflicts: [{ reason }] });
  });
});

describe("*** End of File", () => {
  const text = "x\ny\nx\n";

  test("decides between places", () => {
    expect(applyBegin("@@\n-x\n+z\n*** End of File\n", text)).toMatchObject({ ok: true, text: "x\ny\nz\n" });
    expect(applyBegin("@@\n x\n+z\n*** End of File\n", text)).toMatchObject({ ok: true, text: "x\ny\nx\nz\n" });
    expect(applyBegin("@@\n x\n+z\n*** End of File\n", `${text}\n\n`)).toMatchObject({
      ok: true,
      text: `${text}z\n\n\n`,
    });
  });

  test("is a conflict where the lines stand elsewhere only", () => {
    const conflicts = [{ reason: "not-found", candidates: [2] }];
    expect(applyBegin("@@\n-y\n+z\n*** End of File\n", text)).toMatchObject({ ok: false, conflicts });
  });

  test("is the place of lines that are inserted without context", () => {
    expect(applyBegin("@@\n+z\n*** End of File\n", text)).toMatchObject({ ok: true, text: `${text}z\n` });
    expect(applyBegin("@@\n+z\n*** End of File\n", "x")).toMatchObject({ ok: true, text: "x\nz" });
    expect(applyBegin("@@\n+z\n", text)).toMatchObject({ ok: true, text: `${text}z\n` });
  });
});

describe("the order of chunks", () => {
  const repeated = "x\na\nx\nb\nx\n";

  test.each([
    ["a chunk behind one that stands once", "@@\n-b\n+c\n@@\n-x\n+y\n", "x\na\nx\nc\ny\n"],
    ["a chunk before one that stands once", "@@\n-x\n+y\n@@\n-a\n+c\n", "y\nc\nx\nb\nx\n"],
    ["a chunk between two", "@@\n-a\n+c\n@@\n-x\n+y\n@@\n-b\n+d\n", "x\nc\ny\nd\nx\n"],
    ["as many equal chunks as places", "@@\n-x\n+1\n@@\n-x\n+2\n@@\n-x\n+3\n", "1\na\n2\nb\n3\n"],
  ])("decides the place of %s", (_, body, text) => {
    expect(applyBegin(body, repeated)).toMatchObject({ ok: true, text });
  });

  test.each([
    ["two equal chunks for three places", "@@\n-x\n+1\n@@\n-x\n+2\n"],
    ["a chunk with two places behind the other", "@@\n-a\n+c\n@@\n-x\n+y\n"],
  ])("leaves %s ambiguous", (_, body) => {
    const result = applyBegin(body, repeated);
    expect(!result.ok && result.conflicts.every(({ reason }) => reason === "ambiguous")).toBe(true);
  });

  test("is no reason to refuse chunks that stand once each, in another order", () => {
    expect(applyBegin("@@\n-b\n+2\n@@\n-a\n+1\n", repeated)).toMatchObject({ ok: true, text: "x\n1\nx\n2\nx\n" });
  });
});

describe("the section of a unified hunk", () => {
  const at = (row: number | null, section: string) =>
    `@@ ${row === null ? "..." : `-${row} +${row}`} @@ ${section}\n${change}`;

  test.each([
    ["that the place is below", at(6, "def b():"), 6],
    ["that the text does not have", at(6, "def gone():"), 6],
    [
      "of the function before, as git writes it for a hunk that begins with a head,",
      `@@ -9,2 +9,2 @@ def b():\n def c():\n${change}`,
      10,
    ],
    ["that chooses where no number does", at(null, "def b():"), 6],
    ["that chooses where the number is wrong", at(600, "def c():"), 10],
  ])("%s is followed", (_, hunk, row) => {
    expect(applyUnified(hunk, python)).toMatchObject({ ok: true, text: withLine(python, row, "    x = 2") });
  });

  test("that contradicts the number is a conflict, and so is one that contradicts the only place", () => {
    expect(applyUnified(at(2, "def b():"), python)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
    const once = "def a():\n    x = 1\n\ndef b():\n    y = 1\n";
    expect(applyUnified(at(2, "def b():"), once)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
    expect(applyUnified(at(null, "def b():"), once)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
    const below = "def a():\n    y = 1\n\ndef b():\n    x = 1\n";
    expect(applyUnified(at(5, "def a():"), below)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
  });
});
