import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";

function applyReading(reading: Reading, text: string): string {
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  const result = applyPatch(reading.patch, text);
  return result.ok ? result.text : result.conflicts[0]!.reason;
}

const block = (search: string, replace: string, text: string) =>
  applyReading(parseSearchReplace(`a.py\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`), text);
const unified = (body: string, text: string) =>
  applyReading(parsePatch(`--- a/a.py\n+++ b/a.py\n@@ ... @@\n${body}`), text);
const begin = (body: string, text: string) =>
  applyReading(parseBeginPatch(`*** Begin Patch\n*** Update File: a.py\n@@\n${body}*** End Patch\n`), text);

const python = "def a():\n    x = 1\n    if x:\n        y = 2\n    return x\n";

describe("context without its markers", () => {
  test.each([
    ["an insertion", "    x = 1\n+    z = 3\n    if x:\n", "x = 1\n    z = 3\n"],
    ["an insertion at a deeper line", "    if x:\n+        z = 3\n        y = 2\n", "if x:\n        z = 3\n"],
    ["below a line that begins at the left", "def a():\n    x = 1\n+    z = 3\n", "x = 1\n    z = 3\n"],
    [
      "beside a line that is deleted",
      "    x = 1\n-    if x:\n+    if not x:\n        y = 2\n",
      "x = 1\n    if not x:\n",
    ],
  ])("leaves the indentation of new lines as it is: %s", (_, body, made) => {
    for (const apply of [unified, begin]) {
      const result = apply(body, python);
      expect(result).toContain(made);
      expect(result.replace(/^ *(?:z = 3|if not x:)\n/m, "")).toBe(
        python.replace(made.includes("not") ? /^ *if x:\n/m : /$^/, ""),
      );
    }
  });

  test("is distinguished from a dedent by one column by the new lines", () => {
    const comment = "/**\n * one\n * two\n */\n";
    expect(block("* one\n* two\n", "* one\n* new\n* two\n", comment)).toBe(comment.replace(" * two", " * new\n * two"));
    expect(unified("  * one\n+ * new\n  * two\n", comment)).toBe(comment.replace(" * two", " * new\n * two"));
    expect(unified(" * one\n+ * new\n * two\n", comment)).toBe(comment.replace(" * two", " * new\n * two"));
  });

  test("a missing marker beside a line at column 0 needs new lines that agree", () => {
    expect(unified("def a():\n    x = 1\n+    z = 3\n    if x:\n", python)).toBe(
      python.replace("    if", "    z = 3\n    if"),
    );
    for (const apply of [
      block.bind(null),
      (search: string, replace: string, text: string) => {
        const old = search.replace(/^/gm, " ").slice(0, -1);
        const now = replace.split("\n").filter((line) => line !== "" && !search.split("\n").includes(line));
        return unified(`${old}${now.map((line) => `+${line}\n`).join("")}`, text);
      },
    ]) {
      const search = "def a():\n   x = 1\n";
      expect(apply(search, `${search}   z = 3\n`, python)).toBe("ambiguous");
      expect(apply(search, `${search}   z = 3\ndef b():\n   y = 4\n`, python)).toBe("ambiguous");
      expect(apply(search, `${search}   if z:\n       y = 4\n`, python)).toBe("ambiguous");
    }
  });

  test("is refused where it may be either", () => {
    expect(unified("    a\n     b\n+    c\n", "    a\n     b\n")).toBe("ambiguous");
  });
});

describe("old lines that were dedented", () => {
  const text = "class A:\n    def f(self):\n        x = 1\n        y = 2\n";

  test.each([
    ["x = 1\n", "        x = 2\n"],
    ["x = 1\ny = 2\n", "        x = 2\n        y = 3\n"],
    ["x = 1\ny = 2\n", "        x = 3\ny = 2\n"],
    ["    x = 1\n", "        x = 2\n"],
    ["x = 1\ny = 2\n", "        x = 2\ny = 3\n"],
  ])("are refused where a new line has the text's indentation: %j to %j", (search, replace) => {
    expect(block(search, replace, text)).toBe("ambiguous");
  });

  test("move the new ones with them where these were dedented as well", () => {
    expect(block("x = 1\n", "x = 2\n", text)).toBe(text.replace("x = 1", "x = 2"));
    expect(block("x = 1\n", "if self:\n    x = 2\n", text)).toBe(text.replace("x = 1", "if self:\n            x = 2"));
  });

  test("move them also beside a bracket that was further out than the others", () => {
    const js = "f(() => {\n    a();\n    b();\n}, g);\n";
    expect(block("a();\nb();\n}, g);\n", "a();\nn();\nb();\n}, g);\n", js)).toBe("ambiguous");
    const bare = js.replace("}, g);", "}");
    expect(block("a();\nb();\n}\n", "a();\nn();\nb();\n}\n", bare)).toBe(bare.replace("    b", "    n();\n    b"));
    expect(block("a();\nb();\n}\n", "a();\nif (n) {\n}\nb();\n}\n", bare)).toBe("ambiguous");
  });

  test("are already applied where the new ones stand there as they are", () => {
    expect(block("x = 1\n", "        x = 1\n", text)).toBe("already-applied");
  });
});

describe("a text with tabs and spaces", () => {
  const text = "f:\n\tone\n        two\n\tthree\n";

  test("is refused where spaces are for both, and no rule has them", () => {
    const search = "        one\n        two\n";
    expect(block(search, "        one\n        two\n        new\n", text)).toBe("ambiguous");
    expect(block(search, "        one\n        2\n", text)).toBe("ambiguous");
  });

  test("keeps new lines that have the text's tabs although the old ones have spaces", () => {
    expect(block("    a\n    b\n", "\ta\n\tnew\n\tb\n", "\ta\n\tb\n")).toBe("\ta\n\tnew\n\tb\n");
  });
});

test("levels of another width are refused where new lines are written", () => {
  const text = "function f(a) {\n  if (a) {\n    go(a);\n  }\n}\n";
  const wide = text.replace(/^ +/gm, (own) => own + own);
  expect(block(wide, wide.replace("go(a);\n", "go(a);\n        more();\n"), text)).toBe("ambiguous");
  expect(block("    if (a) {\n", "    if (a) {\n        b();\n", text)).toBe("ambiguous");
});

test("new lines of which some are as far in as the patch has the old ones, and some as the text, are a conflict: either may be meant", () => {
  expect(block("    a()\n    b()\n", "    c()\nd()\n", "a()\nb()\n")).toBe("ambiguous");
});
