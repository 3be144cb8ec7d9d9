import {
  applyPatch,
  parseBeginPatch,
  parseEdits,
  parsePatch,
  parseSearchReplace,
  parseStrReplace,
} from "@parlance/edits";
import { expect, test } from "vitest";

const block = (search: string, replace: string) =>
  `f.js\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`;
const update = (body: string) => `*** Begin Patch\n*** Update File: f.js\n${body}*** End Patch\n`;
const call = (old_str: string, new_str: string, more: object = {}) => ({ path: "f.js", old_str, new_str, ...more });
const HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";

/** What other tools do with an edit, and what ours does: a text, or a refusal. */
const REFUSED = null;

/** Reads an edit by the entry that its form asks for; a call has the text at hand, as its tool has. */
function make(edit: object | string, before: string): string | null {
  const read =
    typeof edit !== "string"
      ? parseStrReplace(edit, { text: before })
      : edit.startsWith("*** Begin")
        ? parseBeginPatch(edit)
        : edit.includes("<<<<<<<")
          ? parseSearchReplace(edit)
          : parsePatch(edit);
  const result = read.ok ? applyPatch(read.patch, before) : null;
  return result?.ok ? result.text : REFUSED;
}

type Row = readonly [tool: string, behaviour: string, edit: object | string, before: string, outcome: string | null];

const HEADERS: readonly Row[] = [
  ["gemini-cli", "stamps are any text", `--- f.js\tCurrent\n+++ f.js\tProposed\n${HUNK}`, "a\nb\n", "a\nc\n"],
  ["jsdiff", "both names carry one stamp", `--- f.js\tOriginal\n+++ f.js\tOriginal\n${HUNK}`, "a\nb\n", "a\nc\n"],
  ["GNU diff", "the names differ", `--- old.txt\t2026-07-19\n+++ new.txt\t2026-07-19\n${HUNK}`, "a\nb\n", "a\nc\n"],
  [
    "Subversion",
    "a revision is a stamp",
    `Index: f.js\n====\n--- f.js\t(revision 1)\n+++ f.js\t(working copy)\n${HUNK}`,
    "a\nb\n",
    "a\nc\n",
  ],
  [
    "Mercurial",
    "a stamp stands behind a prefix",
    `diff -r 0123456789ab f.js\n--- a/f.js\tSun Jul 19 12:28:25 2026 +0100\n+++ b/f.js\tSun Jul 19 12:28:13 2026 +0100\n${HUNK}`,
    "a\nb\n",
    "a\nc\n",
  ],
  ["git", "a rename has no hunks", "diff --git a/f b/g\nrename from f\nrename to g\n", "a\n", "a\n"],
  ["git", "a binary patch is refused", "diff --git a/f b/f\nGIT binary patch\nliteral 3\nKcmZQ\n", "a\n", REFUSED],
  ["GNU patch", "text around a patch is left out", `Hello,\n\n--- f\n+++ f\n${HUNK}\nBye\n`, "a\nb\n", "a\nc\n"],
];

const BLOCKS: readonly Row[] = [
  [
    "Roo",
    "a line number is in front of one line, and in `:start_line:`",
    block(":start_line:2\n-------\n2 | }\n", "2 | }\n0 | \n0 | void b()\n"),
    "{\n}\n",
    "{\n}\n\nvoid b()\n",
  ],
  ["Roo", "a number alone is content", block("2 | }\n", "x\n"), "{\n}\n", REFUSED],
  ["Roo", "line numbers are in front of every line", block("1 | a\n2 | b\n", "1 | a\n2 | c\n"), "a\nb\n", "a\nc\n"],
  ["Roo", "a marker in the content is refused unless it is escaped", block("a\n=======\nb\n", "c\n"), "a\n", REFUSED],
  ["Roo", "an escaped marker is content", block("\\=======\n", "c\n"), "=======\n", "c\n"],
  ["cline", "the new text of a block may be empty", block("b\n", ""), "a\nb\nc\n", "a\nc\n"],
  ["aider", "an empty search creates the file", block("", "a\n"), "", "a\n"],
  ["aider", "blocks are in `<source>`", `f.js\n<source>\n${block("b\n", "c\n").slice(5)}</source>\n`, "b\n", "c\n"],
  ["aider", "an empty search appends, but Continue inserts at the start", block("", "new\n"), "a\n", REFUSED],
  ["cline", "blank lines around the search are trimmed", block("\n\nb\n\n", "c\n"), "a\nb\nd\n", "a\nc\nd\n"],
  ["Continue", "blank lines around both parts are trimmed", block("\n\nb\n", "\n\nc\n"), "a\nb\nd\n", "a\nc\nd\n"],
  ["gemini-cli", "blanks around the search are trimmed", block("  b  \n", "  c  \n"), "a\nb\nd\n", "a\nc\nd\n"],
  ["gemini-cli", "trimmed text that fits twice is refused", block("\n\nb\n", "c\n"), "b\nb\n", REFUSED],
  ["opencode", "new text takes CRLF", block("a\nb\n", "a\nc\nd\n"), "a\r\nb\r\n", "a\r\nc\r\nd\r\n"],
  ["opencode", "new text takes LF", block("a\r\nb\r\n", "a\r\nc\r\nd\r\n"), "a\nb\n", "a\nc\nd\n"],
  ["Roo, Zed", "a similar line is not the line", block("const total = 1;\n", "x\n"), "const totals = 1;\n", REFUSED],
];

const CALLS: readonly Row[] = [
  ["Continue", "an empty search inserts at the start of a file", call("", "new\n"), "a\n", "new\na\n"],
  ["Continue, gemini-cli", "an empty search creates the file", call("", "new\n"), "", "new\n"],
  ["Continue", "upper and lower case are not the same", call("FOO", "x"), "foo\n", REFUSED],
  ["Continue", "white space inside of a line is not ignored", call("a  =  b", "x"), "a = c\n", REFUSED],
  [
    "opencode",
    "a string is replaced in all places",
    call("x", "y", { replace_all: true }),
    "x x\nz\nx\n",
    "y y\nz\ny\n",
  ],
  [
    "opencode",
    "several lines are replaced in all places of a CRLF file",
    call("a\nb", "c\nd", { replace_all: true }),
    "a\r\nb\r\nx\r\na\r\nb\r\n",
    "c\r\nd\r\nx\r\nc\r\nd\r\n",
  ],
  [
    "Continue",
    "several lines are replaced in all places, each with its own indentation",
    call("a {\n  b\n}", "c {\n  b\n}", { replace_all: true }),
    "  a {\n    b\n  }\nx\n    a {\n      b\n    }\n",
    "  c {\n    b\n  }\nx\n    c {\n      b\n    }\n",
  ],
  ["opencode, gemini-cli", "new text takes CRLF", call("a\nb", "a\nc\nd"), "a\r\nb\r\n", "a\r\nc\r\nd\r\n"],
  ["opencode, gemini-cli", "new text takes LF", call("a\r\nb", "a\r\nc\r\nd"), "a\nb\n", "a\nc\nd\n"],
  ["Continue", "blank lines around both strings are trimmed", call("\n\nb\n\n", "\n\nc\n\n"), "a\nb\nd\n", "a\nc\nd\n"],
  ["Continue", "blanks around both strings are trimmed", call("  b  ", "  c  "), "a\nb\nd\n", "a\nc\nd\n"],
  ["Anthropic", "a string that occurs twice is refused", call("x", "y"), "x\nx\n", REFUSED],
  ["Anthropic", "a string may be a part of a line", call("b", "c"), "a b\n", "a c\n"],
  ["Anthropic", "$ in the new string is text", call("b", "$&"), "b\n", "$&\n"],
  ["Anthropic", "the end of a line in the old string alone is habit", call("b\n", "c"), "a\nb\nd\n", "a\nc\nd\n"],
];

const PATCHES: readonly Row[] = [
  [
    "codex",
    "an anchor is the place",
    update("@@ def b():\n-x\n+y\n"),
    "def a():\nx\ndef b():\nx\n",
    "def a():\nx\ndef b():\ny\n",
  ],
  ["Roo, codex", "lines to add below a bare `@@` are appended", update("@@\n+b\n+c\n"), "a\n", "a\nb\nc\n"],
  [
    "codex",
    "chunks stand in the order of the file",
    update("@@\n-b\n+B\n@@\n-x\n+y\n"),
    "x\na\nb\nc\nx\n",
    "x\na\nB\nc\ny\n",
  ],
  [
    "codex",
    "the first chunk is the first place when the next one follows it",
    update("@@\n-x\n+1\n@@\n-x\n+2\n"),
    "x\nx\n",
    "1\n2\n",
  ],
  [
    "codex",
    "a chunk with two places behind the one before is refused",
    update("@@\n-a\n+b\n@@\n-x\n+y\n"),
    "a\nx\nx\n",
    REFUSED,
  ],
  ["codex", "`*** End of File` is the place", update("@@\n-x\n+y\n*** End of File\n"), "x\na\nx\n", "x\na\ny\n"],
  ["codex", "`*** End Patch` is missing", update("@@\n-x\n+y\n").replace("*** End Patch\n", ""), "x\n", REFUSED],
  ["codex", "lines before any file are refused", "*** Begin Patch\n@@\n-x\n+y\n*** End Patch\n", "x\n", REFUSED],
];

test.each([...HEADERS, ...BLOCKS, ...CALLS, ...PATCHES])("%s: %s", (_tool, _behaviour, edit, before, outcome) => {
  expect(make(edit, before)).toBe(outcome);
});

test("several tools: a fence of a diff that only illustrates refuses no other edit, and is an error alone", () => {
  const shown = "It was so:\n\n```diff\n-old way\n+new way\n```\n\n";
  const edit = block("b\n", "c\n");
  for (const answer of [shown + edit, edit + shown]) {
    const reading = parseEdits(answer);
    expect(reading.ok && applyPatch(reading.patch, "b\n")).toMatchObject({ ok: true, text: "c\n" });
  }
  expect(parseEdits(shown)).toMatchObject({ ok: false, errors: [{ line: 4 }] });
  // Below a path it was meant.
  expect(parseEdits(`${edit}\nb.js\n\`\`\`diff\n-old\n+new\n\`\`\`\n`)).toMatchObject({ ok: false });
});
