import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FilePatch, formatPatch, type Patch, parseEdits, parsePatch } from "@parlance/edits";
import { applyPlan, planEdits, undo } from "@parlance/edits/node";
import { describe, expect, test } from "vitest";
import { gitInEach, inFolder } from "../git.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { fill, makeWorkspace, snapshot } from "./workspace.js";

const NAMES = ["a", "b", "c", "d", "e"];
const cases = process.env.PARLANCE_LONG ? 5000 : 180;

/** Several files of one patch, each name at random, so that they get in each other's way. */
function draw(from: Random): FilePatch[] {
  return Array.from({ length: 1 + from.below(4) }, (_, i): FilePatch => {
    const [before, after] = [from.pick(NAMES), from.pick(NAMES)];
    const kind = from.pick(["rename", "rename", "copy", "create", "delete"] as const);
    if (kind === "delete") return { kind, before, after: null, hunks: [] };
    if (kind !== "create") return { kind, before, after, hunks: [] };
    return parsed(`--- /dev/null\n+++ b/${after}\n@@ -0,0 +1 @@\n+new ${i}\n`).files[0]!;
  });
}

function parsed(text: string): Patch {
  const reading = parsePatch(text);
  return reading.ok ? reading.patch : expect.fail(`${reading.errors[0]!.message}\n${text}`);
}

const texts = (tree: Record<string, string>) =>
  Object.fromEntries(Object.entries(tree).map(([path, what]) => [path, what.replace(/^\d+ /, "")]));

/** Plans and applies; null where it was refused. Undoing gives back what there was, and the inverse is a plan as well. */
async function carryOut(root: string, patch: Patch): Promise<Record<string, string> | null> {
  const old = snapshot(root);
  const plan = await planEdits(patch, { root });
  if (plan.conflicts.length > 0) {
    for (const { reason } of plan.conflicts) expect(["exists", "missing", "already-applied"]).toContain(reason);
    return null;
  }
  const written = await applyPlan(plan, { root });
  if (!written.ok) return expect.fail(written.conflicts[0]!.message);
  const after = snapshot(root);
  const back = await planEdits(written.inverse, { root });
  expect(back.conflicts).toEqual([]);
  expect(back.files.map(({ after }) => after?.text)).toEqual(plan.files.map(({ before }) => before?.text));
  const undone = await undo(written, { root });
  expect(undone.ok && snapshot(root)).toEqual(old);
  return texts(after);
}

const seed = seeded(20_260_722);

test("files of one patch in each other's way are written as git apply does, or refused; no text is lost that is not deleted", async () => {
  const from = random(seed);
  const asked: { diff: string; files: Record<string, string>; result: Record<string, string>; told: string }[] = [];
  for (let i = 0; i < cases; i++) {
    const files = Object.fromEntries(NAMES.filter(() => from.chance(0.6)).map((name) => [name, `text of ${name}\n`]));
    const patch = { files: draw(from) };
    const diff = formatPatch(patch);
    const root = makeWorkspace(files);
    const told = `seed ${seed}, case ${i}, ${JSON.stringify(files)}\n${diff}`;
    const result = await carryOut(root, patch);
    // The same of the diff as git writes it.
    expect(await carryOut(root, parsed(diff)), told).toEqual(result);
    if (result === null) continue;
    asked.push({ diff, files, result, told });
    const kept = Object.values(result);
    const deleted = patch.files.flatMap(({ kind, before }) => (kind === "delete" ? [files[before!]] : []));
    const made = patch.files.flatMap(({ kind, hunks }) =>
      kind === "create" ? [`${hunks[0]!.lines[0]!.slice(1)}\n`] : [],
    );
    for (const text of [...Object.values(files), ...made])
      if (!deleted.includes(text)) expect(kept, told).toContain(text);
  }
  let asGit = 0;
  inFolder((outer) => {
    const folders = asked.map((_, i) => join(outer, `${i}`));
    asked.forEach(({ diff, files }, i) => {
      mkdirSync(folders[i]!);
      fill(folders[i]!, files);
      writeFileSync(`${folders[i]}.in`, diff);
    });
    gitInEach(folders, "apply", "-").forEach(({ ok }, i) => {
      if (!ok) return;
      asGit++;
      expect(asked[i]!.result, asked[i]!.told).toEqual(texts(snapshot(folders[i]!)));
    });
  });
  expect(asked.length).toBeGreaterThan(cases / 20);
  expect(asGit).toBeGreaterThan(cases / 20);
});

test("a file that is copied onto its own name and then moved is at both names", async () => {
  const diff = `diff --git a/e b/e\ncopy from e\ncopy to e\ndiff --git a/e b/d\nrename from e\nrename to d\n`;
  const root = makeWorkspace({ e: "text\n" });
  expect(await carryOut(root, parsed(diff))).toEqual({ d: "text\n", e: "text\n" });
});

test("a new file does not take the name of one that is moved to its own name", async () => {
  const diff = `--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+new\ndiff --git a/e b/e\nrename from e\nrename to e\n`;
  const root = makeWorkspace({ e: "text\n" });
  const { conflicts } = await planEdits(parsed(diff), { root });
  expect(conflicts).toMatchObject([{ path: "e", reason: "exists" }]);
});

describe("in the format *** Begin Patch", () => {
  const move = (from: string, to: string, hunk = "") => `*** Update File: ${from}\n*** Move to: ${to}\n${hunk}`;
  const add = (path: string) => `*** Add File: ${path}\n+new\n`;
  const remove = (path: string) => `*** Delete File: ${path}\n`;
  const cases: [what: string, sections: string, result: Record<string, string> | string][] = [
    ["moves in a row", move("a.js", "b.js") + move("b.js", "c.js"), { "b.js": "A\n", "c.js": "B\n" }],
    ["two moves that swap", move("a.js", "b.js") + move("b.js", "a.js"), { "a.js": "B\n", "b.js": "A\n" }],
    [
      "changed ones that swap",
      move("a.js", "b.js", "@@\n-A\n+1\n") + move("b.js", "a.js", "@@\n-B\n+2\n"),
      { "a.js": "2\n", "b.js": "1\n" },
    ],
    ["a move onto a file deleted behind it", move("a.js", "b.js") + remove("b.js"), { "b.js": "A\n" }],
    ["a file added before the old one is deleted", add("a.js") + remove("a.js"), { "a.js": "new\n", "b.js": "B\n" }],
    ["a file deleted and added again", remove("a.js") + add("a.js"), { "a.js": "new\n", "b.js": "B\n" }],
    ["a new file moved on", add("n.js") + move("n.js", "m.js"), { "a.js": "A\n", "b.js": "B\n", "m.js": "new\n" }],
    [
      "a file changed behind the move that made its name free",
      `*** Update File: b.js\n@@\n-B\n+2\n${move("b.js", "c.js")}${move("a.js", "b.js")}*** Update File: b.js\n@@\n-A\n+1\n`,
      { "b.js": "1\n", "c.js": "2\n" },
    ],
    ["a new file deleted again", add("n.js") + remove("n.js"), "exists"],
    ["a file moved twice", move("a.js", "c.js") + move("a.js", "d.js"), "missing"],
    ["two files moved to one", move("a.js", "c.js") + move("b.js", "c.js"), "exists"],
    [
      "a file changed between another that takes its name and its own move",
      `${move("a.js", "b.js")}*** Update File: b.js\n@@\n-B\n+2\n${move("b.js", "c.js")}`,
      "exists",
    ],
  ];
  test.each(cases)("%s", async (_what, sections, expected) => {
    const root = makeWorkspace({ "a.js": "A\n", "b.js": "B\n" });
    const reading = parseEdits(`*** Begin Patch\n${sections}*** End Patch\n`);
    if (!reading.ok) return expect.fail(reading.errors[0]!.message);
    if (typeof expected !== "string") return expect(await carryOut(root, reading.patch)).toEqual(expected);
    const { conflicts } = await planEdits(reading.patch, { root });
    expect(conflicts.map(({ reason }) => reason)).toContain(expected);
  });
});
