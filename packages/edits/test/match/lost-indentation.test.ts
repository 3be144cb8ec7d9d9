import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";

function made(reading: Reading, text: string): string {
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  const result = applyPatch(reading.patch, text);
  return result.ok ? result.text : result.conflicts[0]!.reason;
}

const replace = (text: string, old_str: string, new_str: string) =>
  made(parseStrReplace({ path: "a.py", old_str, new_str }), text);
const change = (text: string, lines: string) => made(parsePatch(`--- a/a.py\n+++ b/a.py\n@@ ... @@\n${lines}`), text);

describe("context that lacks the column of its marker, below a line at the left", () => {
  const text = "def a():\n    x = 1\n    y = 2\n";
  const insert = (lines: string) => change(text, ` def a():\n    x = 1\n${lines}    y = 2\n`);

  test.each<[what: string, lines: string, kept: boolean]>([
    ["stands beside it", "+    z\n", true],
    ["stands beside it, with a deeper one behind", "+    b\n+      c\n", true],
    ["stands a level deeper", "+        b\n", true],
    ["stands half a level further out", "+  b\n", true],
    ["stands at the left behind one beside it", "+    z\n+done()\n", true],
    ["stands before a blank one", "+    z\n+  \n", true],
    ["stands at the left alone", "+done()\n", true],
    ["stands as far in as the patch has the context", "+   b\n", false],
    ["stands further out than one beside it", "+  b\n+    c\n", false],
    ["stands deeper by a step that is none of the text's", "+       b\n", false],
    ["stands deeper by another step than the one before", "+      b\n+         c\n", false],
  ])("leaves new lines as they are, or is refused, where one %s", (_, lines, kept) => {
    expect(insert(lines)).toBe(kept ? text.replace("    y", `${lines.replaceAll("+", "")}    y`) : "ambiguous");
  });

  test.each<[what: string, text: string, lines: string, made: string]>([
    ["at an odd column", "f:\n     x\n     y\n", " f:\n     x\n+ b\n     y\n", "f:\n     x\n b\n     y\n"],
    ["at an odd column, new lines at an even one", "f:\n     x\n     y\n", " f:\n     x\n+  b\n     y\n", "ambiguous"],
    ["at odd and even columns", "f:\n    x\n       y\n", " f:\n    x\n       y\n+  c\n", "ambiguous"],
    [
      "at several columns, without new lines",
      "f:\n    x\n     y\nend\n",
      " f:\n    x\n     y\n-end\n",
      "f:\n    x\n     y\n",
    ],
    ["beside a deleted line that has its own", "  a\n b\n", "  a\n- b\n+ c\n", "  a\n c\n"],
    ["beside context that has its own", "  a\n  b\n", "  a\n   b\n+  c\n", "ambiguous"],
  ])("%s", (_, text, lines, expected) => {
    expect(change(text, lines)).toBe(expected);
  });
});

test("context that lacks the column of its marker is known by it also where nothing is inserted", () => {
  const reading = parsePatch("--- a/a.py\n+++ b/a.py\n@@ ... @@\n f:\n    x\n     y\n-end\n");
  const result = reading.ok && applyPatch(reading.patch, "f:\n    x\n     y\nend\n");
  expect(result).toMatchObject({ ok: true, hunks: [{ repairs: ["indentation"] }] });
});

describe("context of which no line has the column of its marker", () => {
  const text = "    x = 1\n    y = 2\n";

  test.each<[what: string, line: string, written: string]>([
    ["as far in as the text", "    z", "    z"],
    ["a level deeper than the text", "        z", "        z"],
    ["at the left", "z", "z"],
    ["as far in as the patch", "   z", "    z"],
    ["a level deeper than the patch", "       z", "        z"],
  ])("has a new line %s", (_, line, written) => {
    expect(change(text, `    x = 1\n+${line}\n    y = 2\n`)).toBe(text.replace("    y", `${written}\n    y`));
  });

  test("is refused where new lines may belong to either", () => {
    expect(change(text, "    x = 1\n+      z\n+       z\n    y = 2\n")).toBe("ambiguous");
  });
});

describe("a first line without its white space", () => {
  const text = "    a\n    b\n";

  test.each<[what: string, now: string, made: string]>([
    ["is written with it again", "z\n    b", "    z\n    b\n"],
    ["is written with it before a line that has another", "z\n  x\n    b", "    z\n  x\n    b\n"],
    ["is written with it before itself", "z\na\n    b", "    z\n    a\n    b\n"],
    ["stays before a line that is changed", "a\n    c", "    a\n    c\n"],
    ["stays where a line is only deleted", "a", "    a\n"],
    ["leaves a blank new line as it is", "z\n  \n    b", "    z\n  \n    b\n"],
    ["leaves columns inside of a new line as they are", "z  =  1\n    b", "    z  =  1\n    b\n"],
    ["is in doubt where a second one lacks it too", "z\ny\n    b", "ambiguous"],
    ["is in doubt where one behind it lacks it too", "a\n    b\nc", "ambiguous"],
    ["is in doubt where one behind it lacks it too, among changed ones", "z\nx\n    c", "ambiguous"],
  ])("%s", (_, now, expected) => {
    expect(replace(text, "a\n    b", now)).toBe(expected);
  });

  test("has its own, and not that of the next", () => {
    expect(replace("    a:\n        b\n", "a:\n        b", "z:\n        b")).toBe("    z:\n        b\n");
  });
});

describe("one line without its white space", () => {
  test.each<[what: string, old: string, now: string, made: string]>([
    ["is written with it", "x", "z", "    z\n"],
    ["has it before it too", "x", "y\nx", "    y\n    x\n"],
    ["has it behind it too, by a part of it", "x", "z\n  w", "    z\n      w\n"],
    ["may have been trimmed alone, before a line that has it", "x", "z\n    w", "ambiguous"],
    ["may have been trimmed alone, before a deeper line", "x", "x\n        y", "ambiguous"],
    ["may have been trimmed alone, before a line beside it", "x", "x\n    y", "ambiguous"],
    ["may have been trimmed alone, behind a line beside it", "x", "    y\nx", "ambiguous"],
    ["opens a block, whose line has less", "x:", "x:\n    y", "    x:\n        y\n"],
    ["opens a block as its successor does", "x:", "z:\n    w", "    z:\n        w\n"],
    ["opens a block, whose line has more", "x:", "x:\n        y", "ambiguous"],
    ["opens a block as its successor does, whose line has more", "x:", "z:\n        w", "ambiguous"],
  ])("%s", (_, old, now, expected) => {
    expect(replace(`    ${old}\n`, old, now)).toBe(expected);
  });

  test.each([":", "{", "(", "[", "=", ",", ">"])(
    "that ends with %j opens a block, in which deeper lines are as deep as the patch has them",
    (end) => {
      expect(replace(`    x${end}\n`, `x${end}`, `x${end}\n    y`)).toBe(`    x${end}\n        y\n`);
    },
  );

  test.each([";", ")", "}", "undo"])("that ends with %j opens none, and a deeper line is in doubt", (end) => {
    expect(replace(`    x${end}\n`, `x${end}`, `x${end}\n    y`)).toBe("ambiguous");
  });
});

describe("several lines without their white space", () => {
  const text = "    x\n    y\n";

  test.each<[what: string, text: string, old: string, now: string, made: string]>([
    ["beside a new line with it", text, "x\ny", "x\ny\n    z", "ambiguous"],
    ["beside a new line with more of it", text, "x\ny", "x\ny\n        z", "    x\n    y\n            z\n"],
    ["of which both are replaced by some without", text, "x\ny", "z\n    w", "    z\n        w\n"],
    ["of which only one is replaced by one without", text, "x\ny", "    z\nw", "ambiguous"],
    ["and of several depths, replaced by lines with theirs", "    x\n  y\n", "  x\ny", "    z\n  w", "ambiguous"],
  ])("%s", (_, text, old, now, expected) => {
    expect(replace(text, old, now)).toBe(expected);
  });

  test("are in doubt where one change has the depth of the patch and another that of the text", () => {
    const lines = (last: string) => `-        a\n+        x\n \n-        b\n+${last}y\n`;
    expect(change("    a\n\n    b\n", lines("    "))).toBe("ambiguous");
    expect(change("    a\n\n    b\n", lines("        "))).toBe("    x\n\n    y\n");
  });

  test("are in doubt where nothing but white space is changed", () => {
    const lines = (first: string) => `-x = 1\n-y = 2\n+    ${first} = 1\n+        y = 2\n`;
    expect(change("    x = 1\n    y = 2\n", lines("x"))).toBe("ambiguous");
  });
});

test("context without any of its white space, from lines of several depths, is refused where lines are written", () => {
  const text = "def a():\n    x = 1\n    if x:\n        y = 2\n    return x\n";
  for (const lines of [" x = 1\n+    z\n if x:\n y = 2\n", " x = 1\n-    if x:\n+    if z:\n y = 2\n"])
    expect(change(text, lines)).toBe("ambiguous");
});

describe.each([2, 3, 4, 8])("levels of %i spaces", (width) => {
  const tabs = "a:\n\tb:\n\t\tc\n";
  const spaced = (text: string) => text.replaceAll("\t", " ".repeat(width));

  test("in a patch become the text's tabs, where they are whole levels", () => {
    const add = (line: string) => replace(tabs, spaced(tabs).trimEnd(), `${spaced(tabs)}${line}`);
    expect(add(spaced("\t\t\td"))).toBe(`${tabs}\t\t\td\n`);
    expect(add("\t\td")).toBe(`${tabs}\t\td\n`);
    expect(add(spaced("\t\t d"))).toBe("ambiguous");
    expect(add(spaced("\td  = 1"))).toBe("ambiguous");
    expect(add(`${spaced("\td")}\n  \n${spaced("\te")}`)).toBe(`${tabs}\td\n\n\te\n`);
  });

  test("in a text are written for the tabs of a patch", () => {
    const add = (line: string) => replace(spaced(tabs), tabs.trimEnd(), `${tabs}${line}`);
    expect(add("\t\t\td")).toBe(spaced(`${tabs}\t\t\td\n`));
    expect(add("\t d")).toBe(spaced(`${tabs}\t d\n`));
    expect(add("\td  = 1")).toBe(spaced(`${tabs}\td  = 1\n`));
    expect(add("\td\n  \n\te")).toBe(spaced(`${tabs}\td\n\n\te\n`));
  });
});

test("levels of five spaces are no tabs", () => {
  expect(replace("a:\n\tb\n", "a:\n     b", "a:\n     c")).toBe("ambiguous");
  expect(replace("a:\n     b\n", "a:\n\tb", "a:\n\tc")).toBe("ambiguous");
});

test("a space behind tabs, as in a comment, stays behind them", () => {
  const text = "\t/**\n\t * a\n\t */\n";
  const spaces = text.replaceAll("\t", "    ");
  const add = (line: string) => replace(text, spaces.trimEnd(), spaces.trimEnd().replace("a\n", `a\n${line}\n`));
  expect(add("     * b")).toBe("\t/**\n\t * a\n\t * b\n\t */\n");
  expect(add("      b")).toBe("ambiguous");
});
