import { describe, expect, test } from "vitest";
import { parseBeginPatch } from "../src/read/begin-patch.js";
import { parseEditBlocks } from "../src/read/edit-block.js";
import { repair, say, unreadable } from "../src/read/message.js";
import { quote, REASONS, REPAIRS, type Repair } from "../src/reading.js";
import { parsePatch } from "../src/unified/parse.js";

describe("the message of a repair or an error", () => {
  test("is the sentence of its kind, with what was found before its full stop", () => {
    expect([say("It is so."), say("It is so.", '"a"'), say("It is so.", "")]).toEqual([
      "It is so.",
      'It is so: "a".',
      "It is so: .",
    ]);
  });

  test("quotes 60 characters of a line", () => {
    const line = "a".repeat(60);
    expect([quote(line), quote(`${line}b`), quote('a"\t')]).toEqual([`"${line}"`, `"${line}…"`, '"a\\"\\t"']);
  });

  test("is a sentence of its own for each kind", () => {
    const all = Object.values({ ...REPAIRS, ...REASONS });
    expect(new Set(all).size).toBe(all.length);
    for (const sentence of all) expect(sentence).toMatch(/^[A-Z`].{12,}\.$/);
  });

  const reasons = ["unfinished", "too-long", "no-path", "ambiguous", "bad-block", "no-hunk", "bad-hunk"] as const;
  const kinds = [
    "missing-action",
    "missing-bar",
    "unindented-content",
    "indented-block",
    "unknown-key",
    "bad-line-number",
    "marker",
    "missing-plus",
    "anchor",
    "wrong-count",
    "missing-space",
    "blank-context",
    "no-change",
    "gutter",
  ] as const;
  test("of a block is one as well", () => {
    const repairs: Repair[] = [];
    for (const [line, kind] of kinds.entries()) repair(repairs, line, kind);
    expect(repairs.map(({ line, kind }) => [line, kind])).toEqual([...kinds.entries()]);
    const errors = reasons.map((reason) => unreadable(3, reason));
    expect(errors.map(({ line, reason }) => [line, reason])).toEqual(reasons.map((reason) => [3, reason]));
    const all = [...repairs, ...errors].map(({ message }) => message);
    expect(new Set(all).size).toBe(all.length);
    for (const sentence of all) expect(sentence).toMatch(/^[A-Z].{12,}\.$/);
    expect(unreadable(0, "bad-block", "x").message).toBe("The block breaks its format: x.");
  });
});

describe("10,000 repairs are listed, and no more", () => {
  test("of a diff", () => {
    const reading = parsePatch(`--- a/x\n+++ b/x\n@@ -1,10002 +1,10003 @@\n${"\n".repeat(10_002)}+a\n`);
    expect(reading.ok && reading.repairs.length).toBe(10_000);
    expect(reading.ok && reading.repairs.at(-1)).toEqual({
      kind: "blank-context",
      line: 10_003,
      message: REPAIRS["blank-context"],
    });
  });

  test("of a block", () => {
    const repairs: Repair[] = [];
    for (let line = 0; line < 10_002; line++) repair(repairs, line, "marker");
    expect(repairs.length).toBe(10_000);
    expect(repairs.at(-1)).toMatchObject({ line: 9_999 });
  });

  test("and none of what needs none", () => {
    const block = "```edit\nfile: a\naction: edit\nold_content: |\n  a\nnew_content: |\n  b\n```\n";
    expect(parseEditBlocks(block)).toMatchObject({ ok: true, repairs: [] });
  });
});

test("a section of a patch without changes gives no file, and one repair", () => {
  const patch = "*** Begin Patch\n*** Update File: a\n@@\n x\n*** Update File: b\n@@\n-x\n+y\n*** End Patch\n";
  const reading = parseBeginPatch(patch);
  expect(reading.ok && reading.patch.files.map(({ after }) => after)).toEqual(["b"]);
  expect(reading.ok && reading.repairs.map(({ kind }) => kind)).toContain("no-change");
});
