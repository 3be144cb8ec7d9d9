import { describe, expect, it, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { Patch } from "../../src/patch.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseEdits, readEdits } from "../../src/read/edits.js";
import { mayOpen, parseInfoPath, parsePathLine } from "../../src/read/path-line.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { formatPatch, parsePatch } from "../../src/unified/parse.js";
import { applied } from "../laws.js";
import { pathLine, writeEditBlocks } from "./writers.js";

function patchOf(reading: Reading): Patch {
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  return reading.patch;
}

const block = (lines: string) => `\`\`\`edit\nfile: src/example.py\naction: edit\n${lines}\`\`\`\n`;
const content = block(`line_start: 41
line_end: 42
old_content: |
  def old_function():
      return 'old'
new_content: |
  def improved_function():
      return 'improved'
reason: Naming: clearer
`);

describe("what the first implementation of the edit block did wrong", () => {
  it("content loses the block's indentation and keeps its own", () => {
    expect(patchOf(parseEditBlocks(content)).files[0]!.hunks[0]!.lines).toEqual([
      "-def old_function():",
      "-    return 'old'",
      "+def improved_function():",
      "+    return 'improved'",
    ]);
  });

  it("the unified diff has each header on a line of its own, and the place in the file, not in the fragment", () => {
    const diff =
      "--- a/src/example.py\n+++ b/src/example.py\n@@ -41,2 +41,2 @@\n-def old_function():\n-    return 'old'\n+def improved_function():\n+    return 'improved'\n";
    expect(formatPatch(patchOf(parseEditBlocks(content)))).toBe(diff);
    const file = `${"\n".repeat(40)}def old_function():\n    return 'old'\nend\n`;
    expect(applied(patchOf(parsePatch(diff, { strict: true })), file)).toBe(
      `${"\n".repeat(40)}def improved_function():\n    return 'improved'\nend\n`,
    );
  });

  it("an edit block and its unified diff give each other back", () => {
    const patch = patchOf(parseEditBlocks(content));
    const { reason, ...plain } = patch.files[0]!;
    expect(reason).toBe("Naming: clearer");
    expect(patchOf(parsePatch(formatPatch(patch)))).toEqual({ files: [plain] });
    expect(writeEditBlocks(patch)).toBe(content);
  });

  it("an inner fence does not end the block", () => {
    const text = block(
      "line_start: 3\nline_end: 5\nold_content: |\n  ```\n  a\n  ```\nnew_content: |\n  ```\n  b\n  ```\n",
    );
    expect(patchOf(parseEditBlocks(`${text}after\n`)).files[0]!.hunks[0]!.lines).toEqual([" ```", "-a", "+b", " ```"]);
  });

  it.each([
    ["further in than the keys", "note: x\n  more\n", [2, 3]],
    ["further in than itself, before the keys", "  note: x\n    more\n", [2, 3]],
    ["further in than itself, behind a key that is further in", "    reason: r\n  note: x\n   more\n", [3, 4]],
    ["as far in as itself", "  note: x\n  more\n", "bad-block"],
    ["less far in than itself", "  note: x\n more\n", "bad-block"],
  ])("a line below an unknown key is its value, or an error: %s", (_, head, made) => {
    const reading = parseEditBlocks(
      `\`\`\`edit\n${head}file: f\naction: edit\nold_content: |\n  a\nnew_content: |\n  b\n\`\`\`\n`,
    );
    expect(reading.ok ? reading.repairs.map(({ line }) => line) : reading.errors[0]!.reason).toEqual(made);
  });

  it.each(["10-15", "10 - 15", "10..15", "L10-L15", "10, 15", "10:15", "10 to 15", '"10-15"'])(
    "a line number %s is read as line 10",
    (value) => {
      const text = block(`line_start: ${value}\nold_content: |\n  a\nnew_content: |\n  b\n`);
      expect(parseEditBlocks(text)).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ oldStart: 10 }] }] } });
    },
  );

  it.each([
    ["0", 1],
    ...["-3", "99999999999999999999", "NaN", "1e3", "", "|", "[1]"].map((value) => [value, null] as const),
  ] as const)("a line number %j is read as %j", (value, oldStart) => {
    const text = block(`line_start: ${value}\nline_end: ${value}\nold_content: |\n  a\nnew_content: |\n  b\n`);
    expect(parseEditBlocks(text)).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ oldStart }] }] } });
  });

  it("header lines glued together are an error that says so", () => {
    const glued = "```diff\n--- a/x +++ b/x @@ -1 +1 @@\n-a\n+b\n```\n";
    expect(parseEdits(glued)).toMatchObject({ ok: false, errors: [{ reason: "glued-header", line: 2 }] });
  });

  it("hunks of several blocks are numbered through", () => {
    const more = (line: number) =>
      block(`line_start: ${line}\nline_end: ${line}\nold_content: |\n  a\nnew_content: |\n  a1\n  a2\n`);
    expect(formatPatch(patchOf(parseEditBlocks(more(5) + more(9)))).match(/@@.*@@/g)).toEqual([
      "@@ -5 +5,2 @@",
      "@@ -9 +10,2 @@",
    ]);
  });
});

const edit = { files: [{ kind: "modify", before: "a.py", after: "a.py", hunks: [{ lines: ["-x = 1", "+x = 2"] }] }] };
test.each<[string, unknown, unknown]>([
  ["the text-editor tool", { command: "str_replace", path: "a.py", old_str: "x = 1", new_str: "x = 2" }, edit],
  ["file_path and old_string", { file_path: "a.py", old_string: "x = 1\n", new_string: "x = 2\n" }, edit],
  ["camel case", { filePath: "a.py", oldString: "x = 1", newString: "x = 2" }, edit],
  ["a list of edits of one file", { file_path: "a.py", edits: [{ old_string: "x = 1", new_string: "x = 2" }] }, edit],
  [
    "an edit with a path of its own, not that of the list",
    { path: "list.py", edits: [{ file_path: "a.py", old_str: "x = 1", new_str: "x = 2" }] },
    edit,
  ],
  [
    "an envelope with input",
    { type: "tool_use", name: "edit", input: { path: "a.py", old_str: "x = 1", new_str: "x = 2" } },
    edit,
  ],
  [
    "arguments as JSON text",
    { function: { name: "edit", arguments: '{"path":"a.py","old_str":"x = 1","new_str":"x = 2"}' } },
    edit,
  ],
  ["JSON text", '[{"path":"a.py","old_str":"x = 1","new_str":"x = 2"}]', edit],
  [
    "create",
    { command: "create", path: "n.txt", file_text: "a\nb" },
    { files: [{ kind: "create", after: "n.txt", hunks: [{ lines: ["+a", "+b"], newNoNewline: true }] }] },
  ],
  [
    "insert",
    { command: "insert", path: "a.py", insert_line: 4, new_str: "import os\n" },
    { files: [{ hunks: [{ oldStart: 4, newStart: 5, lines: ["+import os"] }] }] },
  ],
  [
    "insert before the first line",
    { command: "insert", path: "a.py", insert_line: 0, insert_text: "import os\n" },
    { files: [{ hunks: [{ oldStart: 0, newStart: 1 }] }] },
  ],
])("a call is read: %s", (_, call, patch) => {
  expect(parseStrReplace(call)).toMatchObject({ ok: true, patch });
});

test.each<[string, unknown, string]>([
  ["no path", { old_str: "a", new_str: "b" }, "no-path"],
  ["another command", { command: "view", path: "a" }, "bad-block"],
  ["every occurrence", { path: "a", old_str: "a", new_str: "b", replace_all: true }, "ambiguous"],
  ["a number for a string", { path: "a", old_str: 1, new_str: "b" }, "bad-block"],
  ["nothing", null, "no-hunk"],
  ["text that is no JSON", "{", "no-hunk"],
])("a call is refused: %s", (_, call, reason) => {
  expect(parseStrReplace(call)).toMatchObject({ ok: false, errors: [{ reason }] });
});

test.each<[string, string, string, string, string]>([
  ["within a line", "let a = f(x);\n", "f(x)", "g(x)", "let a = g(x);\n"],
  ["over lines", "if (a) {\n  b();\n}\n", "{\n  b", "{\n  c", "if (a) {\n  c();\n}\n"],
  ["with the line's end", "a\nb\nc\n", "b\n", "", "a\nc\n"],
  ["joining lines", "a\nb\nc\n", "a\nb", "ab", "ab\nc\n"],
  ["in a last line without a line feed", "a\nfoo(b)", "b", "c", "a\nfoo(c)"],
])("with the file's text a string may be a part of a line: %s", (_, text, old_str, new_str, expected) => {
  expect(applied(patchOf(parseStrReplace({ path: "a", old_str, new_str }, { text })), text)).toBe(expected);
});

test.each<[string, string, string, string]>([
  ["a line", "a\n", "a\nb\n", "x\na\ny\n"],
  ["lines without their line feed", "a", "a\nb", "x\na\ny\n"],
  ["a part of a line", "x", "f(x)", "let a = x;\nlet b = y;\n"],
])("a call that was applied is not applied again, though the text is given: %s", (_, old_str, new_str, text) => {
  const call = { path: "a", old_str, new_str };
  const once = applied(patchOf(parseStrReplace(call, { text })), text);
  expect(once).toBe(text.replace(old_str, new_str));
  const again = patchOf(parseStrReplace(call, { text: once }));
  expect(again.files[0]!.hunks[0]!.oldStart).toBeNull();
  expect(applyPatch(again, once)).toMatchObject({ ok: false });
});

test("of two blocks for one file the later one is not about what the earlier one made", () => {
  const block = (old: string, now: string) => `<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
  const answer = `a.txt\n${block("a", "b")}${block("b", "c")}`;
  expect(applyPatch(patchOf(parseEdits(answer)), "a\n")).toMatchObject({ ok: false });
  const reader = readEdits();
  const edits = [...reader.push(answer), ...reader.end()].filter((event) => event.type === "edit");
  expect(edits.reduce((text, { patch }) => applied(patch, text), "a\n")).toBe("c\n");
});

test.each<[string, string | null]>([
  ["src/a.ts", "src/a.ts"],
  ["`src/a.ts`", "src/a.ts"],
  ["**src/a.ts**", "src/a.ts"],
  ["**`my file.ts`**:", "my file.ts"],
  ["### 1. `src/a.ts`", "src/a.ts"],
  ["File: src/a.ts", "src/a.ts"],
  ["- filename: LICENSE", "LICENSE"],
  ["// src/a.ts", "src/a.ts"],
  ["<path>src/my a.ts</path>", "src/my a.ts"],
  ["  a.ts:", "a.ts"],
  ["LICENSE", "LICENSE"],
  ["Jenkinsfile", "Jenkinsfile"],
  ["my file.txt", "my file.txt"],
  ["docs/my first notes.md", "docs/my first notes.md"],
  ["**File:** `src/a.ts`", "src/a.ts"],
  ["**File: `src/a.ts`**", "src/a.ts"],
  ["**Path**: src/a.ts", "src/a.ts"],
  ["a.ts (new)", "a.ts"],
  ["`src/a.ts` (new file):", "src/a.ts"],
  ["### File: a.js", "a.js"],
  ["NOTE", null],
  ["edit the file a.ts", null],
  ["now see main.py", null],
  ["a few words", null],
  [".gitignore", ".gitignore"],
  ["Dockerfile", "Dockerfile"],
  ["src\\a.ts", "src\\a.ts"],
  ["app/[slug]/page.tsx", "app/[slug]/page.tsx"],
  ["Done.", null],
  ["In src/a.ts:", null],
  ["https://example.org/a.ts", null],
  ["Example", null],
  ["---", null],
  ["...", null],
  ["<div>", null],
  ["", null],
])("the line %j is the path %j, and is held back as far as it is typed", (line, path) => {
  expect(parsePathLine(line)).toBe(path);
  if (path === null) return;
  for (let end = 0; end <= line.length; end++) expect(mayOpen(line.slice(0, end)), line.slice(0, end)).toBe(true);
  expect(parsePathLine(pathLine(path))).toBe(path);
});

test("a line of more than 1,024 characters is no path, and is not held back", () => {
  const line = `src/${"x".repeat(1017)}.ts`;
  expect([parsePathLine(line), mayOpen(line)]).toEqual([line, true]);
  expect([parsePathLine(`${line}x`), mayOpen(`${line}x`)]).toEqual([null, false]);
});

test.each<[string, string | null]>([
  ["ts", null],
  ["", null],
  ["ts src/a.ts", "src/a.ts"],
  ["ts:src/a.ts", "src/a.ts"],
  ["12:20:src/a.ts", "src/a.ts"],
  ["src/a.ts", "src/a.ts"],
  ['ts title="src/a.ts"', "src/a.ts"],
  ["ts {file=a.ts}", "a.ts"],
  ["c++", null],
])("the info string %j names the path %j", (info, path) => {
  expect(parseInfoPath(info)).toBe(path);
});

test.each([
  "<<<<<<< SEARCH",
  "------- SEARCH",
  "  <<<<<<< SEARCH>  ",
  "*** Begin Patch",
  " *** Begin Patch ",
  "```edit",
  "````",
  "~~~~ ts",
  "diff --git a/x b/x",
  "--- a/x y",
  "+++ b/x y",
])("the marker %j is held back as far as it is typed", (line) => {
  for (let end = 0; end <= line.length; end++) expect(mayOpen(line.slice(0, end)), line.slice(0, end)).toBe(true);
});

describe("a call that replaces all", () => {
  const call = { path: "a", old_str: "x", new_str: "y", replace_all: true };

  it.each<[string, object, string, string]>([
    ["several in one line and in others", call, "x x\nb\nc\nd\ne\nf\ng\nh\nx\n", "y y\nb\nc\nd\ne\nf\ng\nh\ny\n"],
    ["one", call, "a\nx\n", "a\ny\n"],
    ["over lines", { ...call, old_str: "x\nb", new_str: "$&" }, "x\nb\nx\nb", "$&\n$&"],
    ["in camel case", { filePath: "a", oldString: "x", newString: "", replaceAll: true }, "axa\n", "aa\n"],
  ])("changes every place where the text is given: %s", (_, given, text, expected) => {
    expect(applied(patchOf(parseStrReplace(given, { text })), text)).toBe(expected);
  });

  it("is not applied again where it has been", () => {
    const again = { ...call, new_str: "f(x)" };
    const patch = patchOf(parseStrReplace(again, { text: "f(x) f(x)\n" }));
    expect(applyPatch(patch, "f(x) f(x)\n")).toMatchObject({ ok: false });
  });
});

test.each<[string, string | undefined, object]>([
  ["creates the file where no text is given", undefined, { kind: "create", after: "a" }],
  ["fills a file that is empty", "", { kind: "modify", hunks: [{ lines: ["+new"] }] }],
])("an empty old string %s", (_, text, file) => {
  const reading = parseStrReplace({ path: "a", old_str: "", new_str: "new\n" }, text === undefined ? {} : { text });
  expect(reading).toMatchObject({ ok: true, patch: { files: [file] } });
  expect(applied(patchOf(reading), "")).toBe("new\n");
});

test("an empty old string is inserted at the start of a file with text", () => {
  const reading = parseStrReplace({ path: "a", old_str: "", new_str: "new" }, { text: "a\n" });
  expect(applied(patchOf(reading), "a\n")).toBe("new\na\n");
});

test("a call that changes nothing is listed, and those beside it are read", () => {
  const same = { path: "a", old_str: "a", new_str: "a" };
  expect(parseStrReplace([same, { path: "b", old_str: "a", new_str: "b" }])).toMatchObject({
    ok: true,
    patch: { files: [{ after: "b" }] },
    repairs: [{ kind: "no-change", line: 1 }],
  });
});

test("a gutter that was copied with the old string is taken off", () => {
  const call = { path: "a", old_str: "1 | a\n2 | b\n", new_str: "a\nc\n" };
  const reading = parseStrReplace(call);
  expect(reading).toMatchObject({ ok: true, repairs: [{ kind: "gutter" }] });
  expect(applied(patchOf(reading), "x\na\nb\n")).toBe("x\na\nc\n");
  const table = "1 | a\n2 | b\n";
  expect(applied(patchOf(parseStrReplace(call, { text: table })), table)).toBe("a\nc\n");
});
