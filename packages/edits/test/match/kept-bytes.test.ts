import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";

function apply(lines: readonly string[], text: string): unknown {
  const hunk = { id: "h", oldStart: null, newStart: null, lines };
  const result = applyPatch({ kind: "modify", before: "x", after: "x", hunks: [hunk] }, text);
  return result.ok ? result.text : result.conflicts[0]!.reason;
}
const many = Array.from({ length: 150 }, (_, i) => `line ${i}`);
const spaced = (lines: readonly string[]) => lines.map((line) => `${line} \n`).join("");
const deleted = many.map((line) => `-${line}`);

test.each<[what: string, lines: string[], text: string, made: string]>([
  ["as do the lines behind it", ["-a", "-b", "-c", "+a", "+b", "+d"], "a \nb \nc \n", "a \nb \nd\n"],
  ["with its line ending", ["-a", "-b", "+n", "+a"], "a\r\nb\n", "n\r\na\r\n"],
  ["unlike one that is equal to the context behind it", ["-a", "+c", " c"], "a\nc  \n", "c\nc  \n"],
  ["where it is the hundredth", [...deleted, "+line 99"], spaced(many), "line 99 \n"],
  ["but not where it is the next", [...deleted, "+line 100"], spaced(many), "line 100\n"],
])("a deleted line that is added again keeps the bytes of the text, %s", (_, lines, text, made) => {
  expect(apply(lines, text)).toBe(made);
});
