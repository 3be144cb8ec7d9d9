import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Review } from "../../src/node/review.js";
import { temporary } from "../harbour.js";

// Edits that a user looks at, applies and undoes.

const diff = (path: string, ...lines: string[]) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1,2 +1,2 @@\n${lines.join("\n")}\n`;
const one = diff("a.txt", "-one", "+1", " two");

async function folder() {
  const root = await temporary();
  await writeFile(join(root, "a.txt"), "one\ntwo\n");
  return root;
}

test("a change is shown with its place in the file as it is now, and without a folder as it was written", async () => {
  const root = await folder();
  await writeFile(join(root, "a.txt"), "zero\none\ntwo\n");
  const change = { id: "0:0:0", lines: ["-one", "+1", " two"] };
  expect(await new Review("x", [{ text: one }]).view()).toEqual({
    id: "x",
    files: [{ path: "a.txt", kind: "modify", changes: [{ ...change, line: 1 }] }],
    problems: [],
  });
  expect(await new Review("x", [{ text: one }], root).view()).toEqual({
    id: "x",
    root,
    files: [{ path: "a.txt", kind: "modify", changes: [{ id: "0:0:0", lines: [" zero", ...change.lines], line: 1 }] }],
    problems: [],
  });
});

test("a text that cannot be read, and one without edits, are reported as such", async () => {
  const broken = new Review("x", [{ text: "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n" }]);
  expect(broken.isEmpty).toBe(true);
  expect((await broken.view()).problems).toEqual([expect.stringMatching(/^line 1: .+/)]);
  const named = new Review("x", [{ text: "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n", path: "a.txt" }]);
  expect(named.isEmpty).toBe(false);
  expect((await named.view()).files).toMatchObject([{ path: "a.txt" }]);
});

test("a change that does not fit has its conflict, and a file without a block is one change", async () => {
  const root = await folder();
  const rename = "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n";
  const other = diff("a.txt", "-three", "+3", " four");
  const { files } = await new Review("x", [{ text: rename }, { text: other }], root).view();
  expect(files).toMatchObject([
    { path: "b.txt", from: "a.txt", kind: "rename", changes: [{ id: "0:0:", lines: [] }] },
    { path: "a.txt", kind: "modify", changes: [{ id: "1:0:0", conflict: expect.stringContaining("three") }] },
  ]);
  expect(files[0]!.changes[0]).not.toHaveProperty("conflict");
  expect(files[1]).not.toHaveProperty("from");
});

test("the chosen changes are applied once, undone, and may be applied again", async () => {
  const root = await folder();
  const review = new Review("x", [{ text: one }], root);
  await review.view();
  const text = () => readFile(join(root, "a.txt"), "utf8");
  expect(await review.undo()).toEqual({ ok: false, text: "There is nothing to undo." });
  expect(await review.apply([])).toEqual({ ok: false, text: "Choose a change to apply." });
  expect(await review.apply(["0:0:0", "nope"])).toEqual({ ok: false, text: "There is no change nope." });
  expect(await text()).toBe("one\ntwo\n");
  for (let time = 0; time < 2; time++) {
    expect(await review.apply(["0:0:0"])).toEqual({ ok: true, text: "Applied: a.txt" });
    expect(await text()).toBe("1\ntwo\n");
    expect(await review.apply(["0:0:0"])).toEqual({ ok: false, text: "Undo what was applied first." });
    expect(await review.undo()).toEqual({ ok: true, text: "Undone: a.txt" });
    expect(await text()).toBe("one\ntwo\n");
  }
});

test("what was applied is shown as it was before it, until it is undone", async () => {
  const root = await folder();
  const review = new Review("x", [{ text: one }], root);
  const before = await review.view();
  expect(before).not.toHaveProperty("applied");
  await review.apply(["0:0:0"]);
  expect(await review.view()).toEqual({ ...before, applied: ["0:0:0"] });
  expect(review.isAppliedTo([{ text: one }])).toBe(true);
  expect(review.isAppliedTo([{ text: `${one}\n` }])).toBe(false);
  await review.undo();
  expect(review.isAppliedTo([{ text: one }])).toBe(false);
  expect(await review.view()).toEqual(before);
});

test("what was applied and cannot be undone, because its file has changed since, is looked at anew", async () => {
  const root = await folder();
  const review = new Review("x", [{ text: one }], root);
  await review.view();
  await review.apply(["0:0:0"]);
  await writeFile(join(root, "a.txt"), "1\ntwo\nthree\n");
  expect(await review.undo()).toMatchObject({ ok: false, text: expect.stringContaining("a.txt") });
  expect(review.isAppliedTo([{ text: one }])).toBe(false);
  await writeFile(join(root, "a.txt"), "1\ntwo\n");
  expect(await review.undo()).toMatchObject({ ok: true });
});

test("nothing is applied without a folder, with a secret that was left out, or to a file that has changed", async () => {
  expect(await new Review("x", [{ text: one }]).apply(["0:0:0"])).toEqual({
    ok: false,
    text: "There is no folder to apply them to.",
  });
  const root = await folder();
  const secret = new Review("x", [{ text: diff("a.txt", "-one", "+__redacted_1__", " two") }], root);
  await secret.view();
  expect(await secret.apply(["0:0:0"])).toMatchObject({ ok: false, text: expect.stringContaining("holds a secret") });
  const review = new Review("x", [{ text: one }], root);
  await review.view();
  await writeFile(join(root, "a.txt"), "one\ntwo\nthree\n");
  expect(await review.apply(["0:0:0"])).toMatchObject({ ok: false, text: expect.stringContaining("a.txt") });
  await review.view();
  expect(await review.apply(["0:0:0"])).toMatchObject({ ok: true });
  await writeFile(join(root, "a.txt"), "other\n");
  expect(await review.undo()).toMatchObject({ ok: false, text: expect.stringContaining("a.txt") });
});

test("a thousand changes are shown, and the rest is reported", async () => {
  const texts = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ text: diff(`${at}.txt`, "-a", "+b", " c") }));
  const all = await new Review("x", texts(1000)).view();
  expect({ files: all.files.length, problems: all.problems }).toEqual({ files: 1000, problems: [] });
  const more = await new Review("x", texts(1001)).view();
  expect({ files: more.files.length, problems: more.problems }).toEqual({
    files: 1000,
    problems: ["there are more than 1000 changes: the rest is not shown"],
  });
});
