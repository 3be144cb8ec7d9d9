import { readFileSync } from "node:fs";
import { applyPatch } from "@parlance/edits";
import { describe, expect, it } from "vitest";
import { readDiffMessage, toDiffMessages } from "../helpers/agentsmithy-diff.js";
import type { DiffMessage } from "../src/agentsmithy.js";

/** The block and the event that the document prints. */
const block = `I'll refactor this.
\`\`\`edit
file: src/example.py
action: edit
line_start: 1
line_end: 2
old_content: |
  def old_function():
      return 'old'
new_content: |
  def improved_function():
      """Better function with documentation."""
      return 'improved'
reason: Improved function naming and added documentation
\`\`\`
`;
const before = "def old_function():\n    return 'old'\n";
const after = 'def improved_function():\n    """Better function with documentation."""\n    return \'improved\'\n';

const message = (fields: Partial<DiffMessage>): DiffMessage => ({
  type: "diff",
  file: "a.ts",
  diff: "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-one\n+two\n",
  line_start: 1,
  line_end: 1,
  reason: "",
  ...fields,
});

describe("An edit block", () => {
  it.each([
    ["by its line numbers", undefined],
    ["by the file's text", before],
  ])("becomes the document's diff message, %s", (_, text) => {
    const made = toDiffMessages(block, () => text);
    expect(made).toMatchObject({
      ok: true,
      messages: [
        {
          type: "diff",
          file: "src/example.py",
          line_start: 1,
          line_end: 2,
          reason: "Improved function naming and added documentation",
        },
      ],
    });
    const [diff] = made.ok ? made.messages : [];
    const read = readDiffMessage(diff!);
    expect(read.ok && applyPatch(read.patch, before)).toMatchObject({ ok: true, text: after });
  });

  it("without line numbers is placed by the file's text, and refused without it", () => {
    const bare = block.replace(/^line_.*\n/gm, "");
    expect(toDiffMessages(bare)).toEqual({ ok: false, reason: "An edit block of src/example.py has no line numbers." });
    expect(toDiffMessages(bare, () => `import x\n\n${before}`)).toMatchObject({
      messages: [{ line_start: 3, line_end: 4 }],
    });
  });

  it("that does not fit the file's text is refused with what was looked for", () => {
    const made = toDiffMessages(block, () => "nothing of the kind\n");
    expect(made).toMatchObject({ ok: false, reason: expect.stringContaining("def old_function():") });
  });

  it("that is broken is refused", () => {
    expect(toDiffMessages("```edit\nfile: a.py\n")).toMatchObject({ ok: false });
  });
});

describe("A diff message", () => {
  const samples = readFileSync(new URL("documents/agentsmithy.jsonl", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  it.each([
    [5, before, after.trimEnd()],
    [10, "def calc(x, y):\n    return x + y\n", "    return x + y"],
  ])("of the document's own, sample %i, is applied, though its counts are wrong", (number, text, wanted) => {
    const read = readDiffMessage(JSON.parse(samples[number - 1]!).json);
    const applied = read.ok && applyPatch(read.patch, text);
    expect(applied).toMatchObject({ ok: true, text: expect.stringContaining(wanted) });
  });

  it.each([
    ["another file than its message names", message({ diff: "--- a/b.ts\n+++ b/b.ts\n@@ -1 +1 @@\n-one\n+two\n" })],
    ["a file outside, in the diff alone", message({ diff: "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-one\n+two\n" })],
    ["two files", message({ diff: `${message({}).diff}--- a/b.ts\n+++ b/b.ts\n@@ -1 +1 @@\n-one\n+two\n` })],
    ["a rename away", message({ diff: "diff --git a/a.ts b/b.ts\nrename from a.ts\nrename to b.ts\n" })],
    ["no diff at all", message({ diff: "see above" })],
  ])("for %s is refused", (_, diff) => {
    expect(readDiffMessage(diff)).toMatchObject({ ok: false, reason: expect.any(String) });
  });

  it("numbered from line_start is applied there, and one numbered from the first line where it says", () => {
    const text = "one\nx\nx\nx\nx\nx\nx\nx\none\n";
    const relative = readDiffMessage(message({ line_start: 9, line_end: 9 }));
    expect(relative).toMatchObject({ ok: true, at: { line_start: 9, line_end: 9 } });
    const { patch, at } = relative as Extract<typeof relative, { ok: true }>;
    expect(applyPatch(patch, text, { at })).toMatchObject({ text: text.replace(/one\n$/, "two\n") });
    const absolute = readDiffMessage(
      message({ diff: "--- a/a.ts\n+++ b/a.ts\n@@ -9 +9 @@\n-one\n+two\n", line_start: 9, line_end: 9 }),
    );
    expect(absolute).not.toHaveProperty("at");
  });
});
