import { expect, test } from "vitest";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";

const filesOf = (reading: Reading) =>
  reading.ok ? reading.patch.files.map(({ before, after, hunks }) => ({ before, after, hunks })) : reading.errors;
const hunksOf = (reading: Reading) =>
  reading.ok ? reading.patch.files.flatMap(({ hunks }) => hunks.map(({ lines }) => lines)) : reading.errors;
const block = (...lines: readonly string[]) => `f.js\n<<<<<<< SEARCH\n${lines.join("\n")}\n>>>>>>> REPLACE\n`;

test("lines behind the end of a file are another hunk, which may be anywhere", () => {
  const body = "@@\n-a\n+b\n*** End of File\n-c\n+d\n";
  expect(filesOf(parseBeginPatch(`*** Begin Patch\n*** Update File: f\n${body}*** End Patch\n`))).toMatchObject([
    {
      hunks: [
        { lines: ["-a", "+b"], atEnd: true },
        { lines: ["-c", "+d"], anchors: [] },
      ],
    },
  ]);
});

test("changes of a file on both sides of a move to its path are not gathered", () => {
  const update = (path: string, now: string) => `*** Update File: ${path}\n@@\n-a\n+${now}\n`;
  const moved = update("x", "m").replace("\n", "\n*** Move to: f\n");
  const files = filesOf(
    parseBeginPatch(`*** Begin Patch\n${update("f", "1")}${moved}${update("f", "2")}*** End Patch\n`),
  );
  expect(files).toMatchObject([
    { before: "f", after: "f", hunks: [{ lines: ["-a", "+1"] }] },
    { before: "x", after: "f", hunks: [{ lines: ["-a", "+m"] }] },
    { before: "f", after: "f", hunks: [{ lines: ["-a", "+2"] }] },
  ]);
});

test("the content of an edit block may stand below its key alone", () => {
  const text = "```edit\nfile: f\naction: edit\nold_content:\n  a\n    b\nnew_content:\n  c\n\n```\n";
  expect(hunksOf(parseEditBlocks(text))).toEqual([["-a", "-  b", "+c"]]);
});

test.each(["old_content: |\n  a\n", "new_content: |\n  a\n"])("an edit block with %j alone is an error", (content) => {
  expect(filesOf(parseEditBlocks(`\`\`\`edit\nfile: f\naction: edit\n${content}\`\`\`\n`))).toEqual([
    {
      line: 6,
      reason: "bad-block",
      message: expect.stringContaining('an edit needs old_content and new_content, an empty one as ""'),
    },
  ]);
});

test("a call that replaces everywhere is about its path, and needs the text", () => {
  const call = { path: "f", old_str: "a", new_str: "b", replace_all: true };
  expect(filesOf(parseStrReplace(call, { text: "a\n" }))).toMatchObject([{ before: "f", after: "f" }]);
  const message = expect.stringContaining("a patch names each place; give the text, or write one call for each place");
  expect(filesOf(parseStrReplace(call))).toEqual([{ line: 1, reason: "ambiguous", message }]);
});

test("the one divider of a block divides it, even among the marks of a conflict of git", () => {
  expect(hunksOf(parseSearchReplace(block("<<<<<<< ours", "a", "=======", "b", ">>>>>>> theirs")))).toEqual([
    ["-<<<<<<< ours", "-a", "+b", "+>>>>>>> theirs"],
  ]);
});

test("the second divider of a block is an error at its line, where the end of a conflict is missing", () => {
  expect(filesOf(parseSearchReplace(block("<<<<<<< ours", "a", "=======", "b", "=======", "c")))).toMatchObject([
    { line: 7, reason: "ambiguous" },
  ]);
});
