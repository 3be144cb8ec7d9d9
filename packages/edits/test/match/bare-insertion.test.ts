import { applyPatch, parsePatch } from "@parlance/edits";
import { expect, test } from "vitest";

test.each([
  ["at the start, behind a byte order mark", "\ufeffa\n", 0, "z", "\ufeffz\na\n"],
  ["at the start of a text with CRLF and a mark", "\ufeffa\r\n", 0, "z", "\ufeffz\r\na\r\n"],
  ["in a text with CRLF", "a\r\nb\r\n", 1, "z", "a\r\nz\r\nb\r\n"],
  ["at the end of a text with CRLF", "a\r\nb\r\n", 2, "z", "a\r\nb\r\nz\r\n"],
  ["with CRLF in a text with line feeds alone", "a\nb\n", 1, "z\r", "a\nz\r\nb\n"],
])("a line inserted by its number alone %s", (_what, text, after, line, expected) => {
  const reading = parsePatch(`--- a/x\n+++ b/x\n@@ -${after},0 +${after + 1} @@\n+${line}\n`);
  if (!reading.ok) return expect.fail(reading.errors[0]!.message);
  const result = applyPatch(reading.patch, text);
  expect(result.ok ? result.text : result.conflicts[0]!.reason).toBe(expected);
});

test("a line inserted by its number alone beside another hunk stands behind the byte order mark", () => {
  const hunks = [
    { id: "1", oldStart: 0, newStart: 1, lines: ["+z"] },
    { id: "2", oldStart: 2, newStart: 3, lines: ["-b", "+c"] },
  ];
  const result = applyPatch({ kind: "modify", before: "x", after: "x", hunks }, "\ufeffa\nb\n");
  expect(result).toMatchObject({ ok: true, text: "\ufeffz\na\nc\n" });
});
