import { describe, expect, test } from "vitest";
import { parseEdits } from "../../src/read/edits.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { eventsOf } from "../stream/answers.js";

const OLD = ["function big(a) {", "  const x = 1;", "  step();", "  return x;", "}"];
const marked = (marker: string) => [OLD[0]!, "  const x = 5;", `  ${marker}`, OLD.at(-1)!];

const MARKERS = [
  "...",
  "…",
  "[...]",
  "(...)",
  "//...",
  "// ...",
  "# ...",
  "# [...]",
  "/* ... */",
  "<!-- ... -->",
  "// ... existing code ...",
  "{/* ... existing JSX ... */}",
  "-- ... existing --",
  "{/* ...rest of the markup */}",
  "# ... the rest of the method stays the same",
];

/** A change in each format in which it can be written. */
const unified = (header: string) => (old: readonly string[], now: readonly string[], path: string) =>
  `--- a/${path}\n+++ b/${path}\n${header}\n${[...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)].join("\n")}\n`;
const yaml = (lines: readonly string[]) => lines.map((line) => `  ${line}\n`).join("");
type Write = (old: readonly string[], now: readonly string[], path: string) => string;
const FORMS: Record<string, Write> = {
  "a diff with line numbers": (old, now, path) => unified(`@@ -1,${old.length} +1,${now.length} @@`)(old, now, path),
  "a diff with wrong counts": unified("@@ -40,19 +40,19 @@"),
  "a diff without line numbers": unified("@@ ... @@"),
  "a diff in a fence": (old, now, path) => `\`\`\`diff\n${unified("@@")(old, now, path)}\`\`\`\n`,
  "SEARCH/REPLACE": (old, now, path) =>
    `${path}\n<<<<<<< SEARCH\n${old.join("\n")}\n=======\n${now.join("\n")}\n>>>>>>> REPLACE\n`,
  "Begin Patch": (old, now, path) =>
    `*** Begin Patch\n*** Update File: ${path}\n${unified("@@")(old, now, path).split("\n").slice(2).join("\n")}*** End Patch\n`,
  "an edit block": (old, now, path) =>
    `\`\`\`edit\nfile: ${path}\naction: edit\nold_content: |\n${yaml(old)}new_content: |\n${yaml(now)}\`\`\`\n`,
  "a call": (old, now, path) =>
    JSON.stringify({ command: "str_replace", path, old_str: old.join("\n"), new_str: now.join("\n") }),
};
const read = (text: string): Reading => (text.startsWith("{") ? parseStrReplace(text) : parseEdits(text));

describe.each(Object.keys(FORMS))("In %s", (form) => {
  const write = FORMS[form]!;

  test.each(MARKERS)("%s in the new text alone is an error where it would delete lines", (marker) => {
    const text = write(OLD, marked(marker), "f.js");
    const reading = read(text);
    expect(reading).toMatchObject({ ok: false, errors: [{ reason: "ambiguous" }] });
    expect(reading.ok || reading.errors[0]!.message).toContain(marker);
    if (!text.startsWith("{")) expect(eventsOf([text]).some(({ type }) => type === "edit")).toBe(false);
  });

  test.each<[string, readonly string[], readonly string[], string]>([
    ["that the old text has as well", [...OLD, "// ..."], [...marked("// ..."), "y"], "f.js"],
    ["as a body in a stub", ["def f():", "    a"], ["def f():", "    ..."], "f.pyi"],
    ["as the last argument in C", ["int f(", "    int a", ");"], ["int f(", "    int a,", "    ...", ");"], "f.h"],
    ["as the end of a document in YAML", ["a: 1"], ["a: 2", "..."], "f.yml"],
    ["in prose", ["a"], ["b", "..."], "f.md"],
  ])("dots are taken %s", (_, old, now, path) => {
    expect(read(write(old, now, path))).toMatchObject({ ok: true });
  });
});

test.each<[what: string, head: string]>([
  ["for an open file", ""],
  ["with names", "--- a/f.ts\n+++ b/f.ts\n"],
  ["with git's line alone", "diff --git a/f.ts b/f.ts\n"],
])("A marker in the new lines of a diff %s is an error at its line", (_, head) => {
  const text = `${head}@@ -1,4 +1,4 @@\n a\n-b\n-c\n+x\n+// ... existing code ...\n d\n`;
  const line = text.split("\n").indexOf("+// ... existing code ...") + 1;
  expect(parseEdits(text, { path: "f.ts" })).toMatchObject({ ok: false, errors: [{ line, reason: "ambiguous" }] });
});

describe("A marker is an error at its line in a diff that is read in spite of a count that is too large", () => {
  const diff = (added: string) => `--- a/f.ts\n+++ b/f.ts\n@@ -1,9 +1,9 @@\n a\n-b\n-c\n+x\n+${added}\n d\n`;

  test.each(["", "\nThe rest is as it was.\n"])("before %j", (behind) => {
    expect(parseEdits(diff("y") + behind)).toMatchObject({ ok: true });
    for (const marker of ["...", "// ... rest of the function unchanged"])
      expect(parseEdits(diff(marker) + behind)).toEqual({
        ok: false,
        errors: [
          {
            line: 8,
            reason: "ambiguous",
            message: `The block can be read in two ways: "${marker}" stands in the new text alone; write the lines that it stands for.`,
          },
        ],
      });
    expect(parseEdits(diff("// ... existing code ...") + behind)).toMatchObject({ ok: false, errors: [{ line: 8 }] });
  });
});

test("A marker in Python stands for lines where it takes the place of several", () => {
  const old = ["def f(a):", "    x = a", "    return x"];
  for (const now of [
    ["def f(a, b):", "    ..."],
    ["def f(a):", "    x = b", "    ..."],
  ])
    expect(read(FORMS["SEARCH/REPLACE"]!(old, now, "f.py"))).toMatchObject({ ok: false });
});

test("a comment that stands in the file is code", () => {
  for (const line of MARKERS) {
    const text = `f.js\n<<<<<<< SEARCH\n${line}\na\n=======\n${line}\nb\n>>>>>>> REPLACE\n`;
    expect(parseEdits(text), line).toMatchObject({ ok: true });
    expect(parseEdits(text.replace(`${line}\n`, "")), line).toMatchObject({ ok: false });
  }
});
