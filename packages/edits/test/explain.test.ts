import { expect, test } from "vitest";
import { applyPatch } from "../src/apply.js";
import { createPatch } from "../src/diff/create.js";
import { explainConflict } from "../src/explain.js";

const before = Array.from({ length: 40 }, (_, i) => `const value${i} = ${i};`).join("\n");
const patch = createPatch(before, before.replace("value20 = 20", "value20 = 21"), { path: "src/values.ts" });

function explain(text: string): string {
  const result = applyPatch(patch, text);
  return result.ok ? "applied" : explainConflict(result.conflicts[0]!, patch, text);
}

test("a hunk that is not found is explained by the first line that differs and the file's lines there", () => {
  const message = explain(before.replace("value20 = 20", "value20 = 7"));
  expect(message).toContain("src/values.ts, hunk ");
  expect(message).toContain("come nearest at line 18; the first that differs is old line 4, which is deleted");
  expect(message).toContain('looked for: "const value20 = 20;"');
  expect(message).toContain('the file has: "const value20 = 7;"');
  expect(message).toContain("    21 | const value20 = 7;");
  expect(message).toContain('up to "context"');
});

test("an ambiguous hunk is explained by its places", () => {
  const message = explain(`// front\n${before}\n${before}`);
  expect(message).toContain("They stand at lines 19, 59");
});

test("an applied hunk is named as such, and a foreign one says that nothing of it is there", () => {
  expect(explain(before.replace("value20 = 20", "value20 = 21"))).toContain(
    "at line 18: this change is already in the file",
  );
  expect(explain("nothing\nof\nit\n")).toContain("None of them is; is another file meant?");
});

test("a hunk that stands before one that came earlier in the patch is applied, and its order is told", () => {
  const after = before.replace("value5 = 5", "value5 = 6").replace("value30 = 30", "value30 = 31");
  const [file] = createPatch(before, after, { path: "a.ts" }).files;
  const result = applyPatch({ ...file!, hunks: [...file!.hunks].reverse() }, before);
  expect(result).toMatchObject({ ok: true, text: after, hunks: [{ repairs: [] }, { repairs: ["order"] }] });
});
