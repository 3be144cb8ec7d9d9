import { readFileSync } from "node:fs";
import { connect } from "@parlance/client";
import { applyPatch, parseEditBlocks } from "@parlance/edits";
import { serve } from "@parlance/server";
import { describe, expect, it } from "vitest";
import { readDiffMessage, toDiffMessages } from "../helpers/agentsmithy-diff.js";
import { agentsmithy, type DiffMessage } from "../src/agentsmithy.js";
import { all } from "./conversations/carriers.js";

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

/** Paths that are not relative to the workspace, or may lead out of it, on some system. */
const outside = [
  "/etc/passwd",
  "//server/share/x",
  "\\\\server\\share\\x",
  "\\x",
  "C:\\x",
  "C:/x",
  "c:x",
  "~/x",
  "~root/x",
  "file:///etc/passwd",
  "file:\\\\x",
  "..",
  "../x",
  "..\\x",
  "src/../x",
  "src\\..\\x",
  "src/..",
  ".. /x",
  "src/...",
  "src//../../x",
];

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

  it.each<[action: string, fields: string, text: string | undefined, lines: [first: number, last: number]]>([
    ["deletes a file of one line", "action: delete", "one\n", [1, 1]],
    ["deletes a file of three lines", "action: delete", "one\ntwo\nthree\n", [1, 3]],
    ["deletes a file without a final newline", "action: delete", "one\ntwo", [1, 2]],
    ["deletes an empty file", "action: delete", "", [1, 1]],
    ["deletes the lines that it shows", "action: delete\nold_content: |\n  one\n  two", undefined, [1, 2]],
    ["creates an empty file", "action: create\nnew_content: |", undefined, [1, 1]],
    ["creates a file, and shows no content", "action: create", undefined, [1, 1]],
    ["creates a file of two lines", "action: create\nnew_content: |\n  one\n  two", undefined, [1, 1]],
    ["empties a file", "action: edit\nold_content: |\n  one\n  two\nnew_content: |", "one\ntwo\n", [1, 2]],
  ])("that %s names real lines, and its diff says the same", (_, fields, text, [line_start, line_end]) => {
    const made = toDiffMessages(`\`\`\`edit\nfile: a.py\n${fields}\nreason: r\n\`\`\`\n`, () => text);
    expect(made).toMatchObject({ ok: true, messages: [{ file: "a.py", line_start, line_end, reason: "r" }] });
    const [message] = made.ok ? made.messages : [];
    const read = readDiffMessage(message!);
    const applied = read.ok && applyPatch(read.patch, text ?? (fields.includes("old_content") ? "one\ntwo\n" : ""));
    expect(applied).toMatchObject({ text: fields.includes("create\nnew_content: |\n") ? "one\ntwo\n" : "" });
  });

  it("that deletes a file is refused without the file's text", () => {
    expect(toDiffMessages("```edit\nfile: a.py\naction: delete\nreason: r\n```\n")).toEqual({
      ok: false,
      reason: "An edit block deletes a.py; its lines are known only with the file's text.",
    });
  });

  it("names the lines before the change, from its first block to its last", () => {
    const edit = (old: string, now: string) =>
      `\`\`\`edit\nfile: a.py\naction: edit\nold_content: |\n  ${old}\nnew_content: |\n${now}reason: r\n\`\`\`\n`;
    const made = toDiffMessages(
      edit("one", "  1\n  1\n  1\n") + edit("three", "  3\n"),
      () => "zero\none\ntwo\nthree\n",
    );
    expect(made).toMatchObject({ messages: [{ line_start: 2, line_end: 4 }] });
  });

  it.each(outside)("for %j is refused", (file) => {
    const made = toDiffMessages(
      `\`\`\`edit\nfile: '${file}'\naction: create\nnew_content: |\n  x\nreason: r\n\`\`\`\n`,
    );
    expect(made).toMatchObject({ ok: false, reason: expect.stringContaining("relative to the workspace") });
  });

  it("that is broken is refused, with every problem", () => {
    expect(toDiffMessages("```edit\nfile: a.py\nfoo bar\n```\n\n```edit\naction: edit\n```\n")).toEqual({
      ok: false,
      reason: expect.stringMatching(/^The block breaks its format: "foo bar" [^.]*\. The block names no file[^.]*\.$/),
    });
    expect(toDiffMessages("```edit\nfile: a.py\naction: edit\naction: edit\n```\n")).toEqual({
      ok: false,
      reason: expect.stringContaining("action stands twice"),
    });
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

  it.each(outside)("of %j breaks the contract, on both sides", async (file) => {
    const failures: unknown[] = [];
    const app = serve(
      agentsmithy,
      {
        async *chat() {
          yield { type: "content", content: "Look" };
          yield message({ file });
        },
        complete: () => ({ content: "", diffs: [message({ file })], done: true }),
      },
      { onError: (error) => void failures.push(error) },
    );
    const input = { messages: [{ role: "user" as const, content: "fix" }] };
    const own = connect(agentsmithy, { fetch: app.fetch });
    expect(await all(own.chat(input))).toMatchObject([{}, { type: "error", error: "the server failed" }]);
    await expect(own.complete(input)).rejects.toMatchObject({ name: "Refusal", status: 500 });
    expect(failures).toMatchObject([{ name: "Violation" }, { name: "Violation" }]);

    const body = `data: ${JSON.stringify(message({ file }))}\n\ndata: {"done":true}\n\n`;
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const reading = all(connect(agentsmithy, { fetch }).chat(input));
    await expect(reading).rejects.toMatchObject({ name: "Violation", flaws: [{ at: "/file" }] });
  });

  it.each(["a.ts", "src/a.ts", "./a.ts", "..a/b..ts", "a..b", ".env", "a b.ts", "é.ts", "C"])("of %j is read", (file) =>
    expect(agentsmithy.checks.DiffMessage!(message({ file }))).toBe(true),
  );

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
    // Two lines before `line_start` a hunk cannot be about it.
    expect(readDiffMessage(message({ line_start: 2, line_end: 2 }))).not.toHaveProperty("at");
    expect(readDiffMessage(message({ line_start: 3, line_end: 3 }))).toHaveProperty("at");
  });
});

describe("Content of an edit block that is not indented", () => {
  const flat = (lines: readonly string[]) =>
    `\`\`\`edit\nfile: a.py\naction: edit\nline_start: 1\nline_end: 2\nold_content: |\n  one\n  two\nnew_content: |\n${lines.join("\n")}\nreason: x\n\`\`\`\n`;

  it("is read as it is, with one repair for all its lines", () => {
    const reading = parseEditBlocks(flat(["ONE", "  two", "THREE"]));
    if (!reading.ok) throw new Error(reading.errors[0]!.message);
    expect(reading.repairs.filter(({ kind }) => kind === "unindented-content")).toHaveLength(1);
    const result = applyPatch(reading.patch, "one\ntwo\n");
    expect(result.ok && result.text).toBe("ONE\ntwo\nTHREE\n");
  });
});
