import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseBeginPatch } from "../../src/formats/begin-patch.js";
import { parseSearchReplace } from "../../src/formats/search-replace.js";
import { parsePatch } from "../../src/parse.js";
import type { Reading } from "../../src/reading.js";

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
      expect(apply(search, `${search}   z = 3\n`, python)).toBe("not-found");
      expect(apply(search, `${search}   z = 3\ndef b():\n   y = 4\n`, python)).toBe("not-found");
      expect(apply(search, `${search}   if z:\n       y = 4\n`, python)).toBe("not-found");
    }
  });

  test("is refused where it may be either", () => {
    expect(unified("    a\n     b\n+    c\n", "    a\n     b\n")).toBe("not-found");
  });

  test("and without all its white space leaves new lines as they are where their neighbours show it", () => {
    expect(unified(" x = 1\n+    z = 3\n if x:\n y = 2\n", python)).toBe(python.replace("    if", "    z = 3\n    if"));
    expect(unified(" x = 1\n if x:\n+        z = 3\n y = 2\n", python)).toBe("not-found");
  });
});

describe("old lines that alone were dedented", () => {
  const text = "class A:\n    def f(self):\n        x = 1\n        y = 2\n";

  test.each([
    ["a line", "x = 1\n", "        x = 2\n", "        x = 2\n        y = 2\n"],
    ["two lines", "x = 1\ny = 2\n", "        x = 2\n        y = 3\n", "        x = 2\n        y = 3\n"],
    [
      "one for several",
      "y = 2\n",
      "        if self:\n            y = 3\n",
      "        x = 1\n        if self:\n            y = 3\n",
    ],
    ["beside context that was", "x = 1\ny = 2\n", "        x = 3\ny = 2\n", "        x = 3\n        y = 2\n"],
    ["by a part of it", "    x = 1\n", "        x = 2\n", "        x = 2\n        y = 2\n"],
  ])("leave new ones with the text's indentation as they are: %s", (_, search, replace, end) => {
    const result = block(search, replace, text);
    expect(result).toBe(`class A:\n    def f(self):\n${end}`);
  });

  test("move the new ones with them where these were dedented as well", () => {
    expect(block("x = 1\n", "x = 2\n", text)).toBe(text.replace("x = 1", "x = 2"));
    expect(block("x = 1\n", "if self:\n    x = 2\n", text)).toBe(text.replace("x = 1", "if self:\n            x = 2"));
  });

  test("are refused where one of the new lines has the text's indentation and another has not", () => {
    expect(block("x = 1\ny = 2\n", "        x = 2\ny = 3\n", text)).toBe("not-found");
  });

  test("are already applied where the new ones stand there as they are", () => {
    expect(block("x = 1\n", "        x = 1\n", text)).toBe("already-applied");
  });
});

describe("a text with tabs and spaces", () => {
  const text = "f:\n\tone\n        two\n\tthree\n";

  test("gives a new line the indentation of its neighbour", () => {
    const search = "        one\n        two\n";
    expect(block(search, "        one\n        two\n        new\n", text)).toBe(
      text.replace("two\n", "two\n        new\n"),
    );
    expect(block(search, "        new\n        one\n        two\n", text)).toBe(text.replace("\tone", "\tnew\n\tone"));
    expect(block(search, "        one\n        2\n", text)).toBe(text.replace("two", "2"));
  });

  test("is refused where the neighbours differ, or none has the new line's indentation", () => {
    const search = "        one\n        two\n";
    expect(block(search, "        one\n        new\n        two\n", text)).toBe("ambiguous");
    expect(block(search, "        one\n        two\n            new\n", text)).toBe("ambiguous");
  });

  test("keeps new lines that have the text's tabs although the old ones have spaces", () => {
    expect(block("    a\n    b\n", "\ta\n\tnew\n\tb\n", "\ta\n\tb\n")).toBe("\ta\n\tnew\n\tb\n");
  });
});

describe("levels of another width", () => {
  const text = "function f(a) {\n  if (a) {\n    go(a);\n  }\n}\n";
  const wide = text.replace(/^ +/gm, (own) => own + own);
  const more = "    more();\n    if (b) {\n      less();\n    }\n";
  const insert = (into: string, lines: string) => into.replace(/^( *)go.*\n/m, (line) => line + lines);

  test("become those of the text", () => {
    const made = insert(text, more);
    expect(
      block(
        wide,
        made.replace(/^ +/gm, (own) => own + own),
        text,
      ),
    ).toBe(made);
    expect(block(text, insert(text, "    more();\n"), wide)).toBe(insert(wide, "        more();\n"));
  });

  test("are refused where the new lines have the text's, or a depth that no old line shows", () => {
    expect(block(wide, insert(wide, "    more();\n"), text)).toBe("not-found");
    expect(block(wide, insert(wide, "        more();\n          .and();\n"), text)).toBe("ambiguous");
    expect(block("    if (a) {\n", "    if (a) {\n        b();\n", text)).toBe("not-found");
    // One depth alone shows no ratio.
    const flat = "if (a) {\n    go(a);\n}\n";
    const narrow = flat.replace("    ", "  ");
    expect(block(flat, insert(flat, "    more();\n"), narrow)).toBe(insert(narrow, "  more();\n"));
    expect(block(flat, insert(flat, "    if (b) {\n        less();\n    }\n"), narrow)).toBe("ambiguous");
  });

  test.each([
    ["at their key", "items:\n- a\n- b\nother:\n  x: 1\n", "items:\n  - a\n  - c\n  - b\nother:\n  x: 1\n"],
    ["further in", "items:\n  - a\n  - b\nother:\n  x: 1\n", "items:\n- a\n- c\n- b\nother:\n  x: 1\n"],
    [
      "with keys of their own",
      "on:\n- a: 1\n  b: 2\n- a: 3\n",
      "on:\n  - a: 1\n    b: 2\n  - c: 1\n    b: 4\n  - a: 3\n",
    ],
  ])("of the items of a list become those of the text: %s", (_, yaml, replace) => {
    const search = replace.replace(/^ *- c.*\n(?: +b: 4\n)?/m, "");
    const made = block(search, replace, yaml);
    expect(made.replace(/^ *- c.*\n(?: +b: 4\n)?/m, "")).toBe(yaml);
    expect(/^ *(?=- c)/m.exec(made)![0]).toBe(/^ *(?=- a)/m.exec(yaml)![0]);
    if (made.includes("4")) expect(made).toContain("\n  b: 4");
  });
});

test("new lines of which some are as far in as the patch has the old ones, and some as the text, are a conflict: either may be meant", () => {
  expect(block("    a()\n    b()\n", "    c()\nd()\n", "a()\nb()\n")).toBe("ambiguous");
});
