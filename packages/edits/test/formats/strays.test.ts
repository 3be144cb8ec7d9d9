import { expect, test } from "vitest";
import { parseEdits, parsePatch, parseSearchReplace, readEdits } from "../../src/index.js";
import type { Reading } from "../../src/reading.js";

const diff = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`;
const block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

/** The files that are changed, each with how many hunks. */
function filesOf(reading: Reading): string {
  if (!reading.ok) return reading.errors[0]!.reason;
  return reading.patch.files.map(({ after, hunks }) => `${after} ${hunks.length}`).join(", ");
}

test.each([
  [
    "behind a fence",
    `\`\`\`diff\n${diff("x.js")}\`\`\`\n\`\`\`\n\n\`\`\`diff\n${diff("y.js")}\`\`\`\n`,
    "x.js 1, y.js 1",
  ],
  [
    "behind a fence, with prose between",
    `\`\`\`diff\n${diff("x.js")}\`\`\`\n\`\`\`\n\nThen y.js:\n\n\`\`\`diff\n${diff("y.js")}\`\`\`\n`,
    "x.js 1, y.js 1",
  ],
  ["behind a bare block", `a.js\n${block}\`\`\`\n\nb.js\n\`\`\`\n${block}\`\`\`\n`, "a.js 1, b.js 1"],
  ["behind a bare diff", `${diff("x.js")}\`\`\`\n${diff("y.js")}`, "x.js 1, y.js 1"],
])("a closing fence too many %s loses no edit and gives none to another file", (_, text, files) => {
  expect(filesOf(parseEdits(text))).toBe(files);
});

test("a diff in a fence of its own without names goes on with the file of the diff before it", () => {
  const more = "```diff\n@@ -9 +9 @@\n-c\n+d\n```\n";
  expect(filesOf(parseEdits(`\`\`\`diff\n${diff("x.js")}\`\`\`\nand\n${more}`))).toBe("x.js 2");
  expect(filesOf(parseEdits(`\`\`\`diff\n${diff("x.js")}\`\`\`\nSee also src/z.js.\n${more}`))).toBe("no-file-header");
});

test.each(["src/a.js:12", "src/a.js:12-20", "`src/a.js:12:5`", "### src/a.js#L12-L20", "src/a.js (lines 12-20)"])(
  "a path with a line behind it is the path: %s",
  (heading) => {
    expect(filesOf(parseEdits(`${heading}\n${block}`))).toBe("src/a.js 1");
  },
);

test("a time behind a name and a blank is no part of the name", () => {
  const named = (stamp: string) => diff("x.js").replace(/(?<=[-+]{3} .*)$/gm, stamp);
  expect(filesOf(parsePatch(named(" 2024-01-01 10:00:00.123 +0100")))).toBe("x.js 1");
  expect(filesOf(parsePatch(named(" 2024-01-01")))).toBe("x.js 2024-01-01 1");
  expect(filesOf(parsePatch(named(" 2024-01-01 10:00:00"), { strict: true }))).toBe("x.js 2024-01-01 10:00:00 1");
});

test("a body of Python that is replaced by dots may be meant to stay", () => {
  const read = (body: string) =>
    filesOf(
      parseSearchReplace(
        `a.py\n<<<<<<< SEARCH\ndef f(a):\n    ${body}\n=======\ndef f(a, b):\n    ...\n>>>>>>> REPLACE\n`,
      ),
    );
  expect(read("return compute(1)")).toBe("ambiguous");
  expect(read("pass")).toBe("ambiguous");
});

test("a new line of a diff that stands for others is an error, unless reading is strict", () => {
  const text = "--- a/x.js\n+++ b/x.js\n@@ -1,3 +1,2 @@\n-a\n-b\n-c\n+// ... existing code ...\n+d\n";
  expect(parsePatch(text)).toMatchObject({ ok: false, errors: [{ reason: "ambiguous", line: 7 }] });
  expect(parsePatch(text, { strict: true })).toMatchObject({ ok: true });
});

test("a hunk without counts may go on where a stream ends behind one of its lines", () => {
  const read = (text: string, complete: boolean) => {
    const reader = readEdits();
    const last = [...reader.push(text), ...reader.end({ complete })].at(-1)!;
    return last.type === "error" ? last.error.reason : last.type;
  };
  const text = "--- a/x\n+++ b/x\n@@\n a\n-b\n";
  expect(read(text, false)).toBe("unfinished");
  expect(read(text, true)).toBe("edit");
});
