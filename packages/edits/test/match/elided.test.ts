import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { explainConflict } from "../../src/explain.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import { parseWholeFiles } from "../../src/read/whole-file.js";
import type { Reading } from "../../src/reading.js";

const text = `import a from "a";

function first(x) {
  log("first");
  if (x) {
    open(x);
  }
  return x;
}

function second(x) {
  log("second");
  return x + 2;
}
`;

function apply(reading: Reading, to = text) {
  if (!reading.ok) return reading.errors[0]!.reason;
  const result = applyPatch(reading.patch, to);
  if (result.ok) return { text: result.text, repairs: result.hunks[0]!.repairs };
  const [conflict] = result.conflicts;
  return [conflict!.reason, conflict!.rung, explainConflict(conflict!, reading.patch, to).split("\n")[0]].join(" · ");
}

const block = (search: string, replace: string, path = "a.ts") =>
  parseSearchReplace(`${path}\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n`);

const DOTS = ["...", "…", "// ...", "  # ...", "// ... existing code ...", "  /* ... */", "<!-- ... -->", "[...]"];

describe("Lines that a block leaves out with dots in both of its parts", () => {
  test.each(DOTS)("stay as they are: %s", (dots) => {
    const search = `function first(x) {\n${dots}\n  return x;`;
    expect(apply(block(search, search.replace("(x)", "(x, y)").replace("return x", "return y")))).toEqual({
      text: text.replace("first(x)", "first(x, y)").replace("return x;\n", "return y;\n"),
      repairs: ["elided"],
    });
  });

  test.each([
    [
      "at its beginning and its end",
      "// ...\n    open(x);\n// ...",
      "// ...\n    close(x);\n// ...",
      ["open(x)", "close(x)"],
    ],
    [
      "above new lines",
      "function second(x) {\n  ...\n  return x + 2;",
      "function second(x) {\n  ...\n  log(x);\n  return x + 2;",
      ["  return x + 2;", "  log(x);\n  return x + 2;"],
    ],
    [
      "below new lines",
      "function first(x) {\n  ...\n  return x;",
      "function first(x) {\n  log(x);\n  ...\n  return x;",
      ["first(x) {\n", "first(x) {\n  log(x);\n"],
    ],
    [
      "twice",
      'import a from "a";\n...\nfunction first(x) {\n  ...\n  return x;\n}',
      'import a from "a";\n...\nfunction other(x) {\n  ...\n  return x;\n}',
      ["first", "other"],
    ],
  ])("may stand %s", (_, search, replace, change) => {
    const made = apply(block(search, replace));
    expect(made).toEqual({ text: text.replace(change[0]!, change[1]!), repairs: ["elided"] });
  });

  test("are read in calls and in sections of Begin Patch as well", () => {
    const [old_str, new_str] = [
      "function first(x) {\n  // ...\n  return x;",
      "function first(x) {\n  // ...\n  return 1;",
    ];
    const made = { text: text.replace("return x;", "return 1;"), repairs: ["elided"] };
    expect(apply(parseStrReplace({ path: "a.ts", old_str, new_str }))).toEqual(made);
    const lines = " function first(x) {\n   // ...\n-  return x;\n+  return 1;";
    expect(apply(parseBeginPatch(`*** Begin Patch\n*** Update File: a.ts\n@@\n${lines}\n*** End Patch\n`))).toEqual(
      made,
    );
  });

  test("keep the line ends of the file", () => {
    const search = "function first(x) {\n  ...\n  return x;";
    const returns = text.replaceAll("\n", "\r\n");
    expect(apply(block(search, search.replace("return x", "return y")), returns)).toMatchObject({
      text: returns.replace("return x;", "return y;"),
    });
  });

  test("are lines of the file where it has them", () => {
    const stub = "class A:\n    def a(self):\n        ...\n\n    def b(self):\n        ...\n";
    const search = "    def a(self):\n        ...";
    expect(apply(block(search, "    def a(self) -> int:\n        ...", "a.pyi"), stub)).toEqual({
      text: stub.replace("a(self)", "a(self) -> int"),
      repairs: [],
    });
    const more = stub.replace("def a", "x = 1\n    y = 2\n    def a");
    expect(apply(block("class A:\n...\n    def b(self):", "class A:\n...\n    def c(self):", "a.pyi"), more)).toMatch(
      /^not-found · misspelt/,
    );
  });
});

describe("Dots are refused", () => {
  const head = "function first(x) {";
  test.each<[string, string, string, string]>([
    [
      "in the old lines alone",
      `${head}\n  ...\n  return x;`,
      `${head}\n  return 1;`,
      "`...` stands in the old lines alone.",
    ],
    [
      "where the new lines have more of them",
      `${head}\n  // ...\n  return x;`,
      `${head}\n  // ...\n  return 1;\n  // ...`,
      "`// ...` stands in the new lines alone.",
    ],
    ["below a line that is not there", `${head}\n  ...\n  return z;`, `${head}\n  ...\n  return 1;`, "not there"],
    [
      "below a line of another block",
      `${head}\n  ...\n  return x + 2;`,
      `${head}\n  ...\n  return 1;`,
      "not in one block",
    ],
    [
      "above a line that comes again",
      `import a from "a";\n...\n}`,
      `import a from "a";\n...\n};`,
      "fit at lines 9, 14",
    ],
    ["where nothing is left out", `${head}\n  ...\n  log("first");`, `${head}\n  ...\n  log("1");`, "not there"],
    [
      "where lines stand in another order",
      `  return x;\n  ...\n  open(x);`,
      `  return x;\n  ...\n  shut(x);`,
      "not there",
    ],
    ["beside what is in the file already", `${head}\n  ...\n  return x + 2;\n}`, `${head}\n  ...\n  return x;\n}`, ""],
    ["with new lines alone between them", `${head}\n...\n...\n}`, `${head}\n...\n  x();\n...\n}`, ""],
  ])("%s", (_, search, replace, why) => {
    const made = apply(block(search, replace));
    expect(made).toMatch(/^(not-found|ambiguous|already-applied) · elided · /);
    expect(made).toContain(why);
  });

  test.each<[string, Reading]>([
    ["a block", block(`${'  log("first");'}\n  if (x) {`, "  // ... existing code ...\n  if (y) {")],
    [
      "a call",
      parseStrReplace({ path: "a.ts", old_str: "  if (x) {\n    open(x);", new_str: "  // ... rest of it\n    x;" }),
    ],
    [
      "an edit block",
      parseEditBlocks(
        "```edit\nfile: a.ts\naction: edit\nline_start: 3\nold_content: |\n  a\nnew_content: |\n  # ... same as before ...\n```\n",
      ),
    ],
    [
      "Begin Patch",
      parseBeginPatch("*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+// ... unchanged ...\n*** End Patch\n"),
    ],
    ["a whole file", parseWholeFiles("a.ts\n```ts\nimport b;\n// ... rest of the file ...\n```\n")],
  ])("with words in the new text alone, where old lines would be lost: %s", (_, reading) => {
    expect(apply(reading)).toBe("ambiguous");
  });

  test("but not in a whole document, nor where no line is lost, nor dots alone", () => {
    expect(parseWholeFiles("a.md\n````md\n```js\n// ... rest of the file ...\n```\n````\n").ok).toBe(true);
    expect(block("a", "// ... existing code ...\na").ok).toBe(true);
    expect(block("    pass", "    ...", "a.pyi").ok).toBe(true);
  });
});
