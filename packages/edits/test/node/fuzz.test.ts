import { createPatch, type Patch } from "@parlance/edits";
import { applyPlan, planEdits, undo } from "@parlance/edits/node";
import fc from "fast-check";
import { expect, test } from "vitest";
import { seeded } from "../seed.js";
import { makeWorkspace, snapshot } from "./workspace.js";

const numRuns = process.env.PARLANCE_LONG ? 20_000 : 500;
const seed = seeded(20261121);

const files = { a: "one\ntwo\nthree\n", "dir/b": "one\r\ntwo", c: "" };
const orBroken = (value: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: value },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
const path = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("a", "dir/b", "c", "new", "dir/new", "x/y/z") },
  { weight: 1, arbitrary: fc.constantFrom("../a", "A", "dir", "a/b", ".git/config", "nul", "a\0", "") },
);
const line = fc
  .tuple(fc.constantFrom(" ", "+", "-"), fc.constantFrom("one", "two", "three", "", "x", "\ud800"))
  .map((pair) => pair.join(""));
const start = fc.option(fc.integer({ min: 0, max: 5 }));
const hunk = fc.record({
  id: fc.string({ maxLength: 3 }),
  oldStart: start,
  newStart: start,
  lines: fc.array(line, { maxLength: 5 }),
  section: orBroken(fc.constantFrom("one", "two")),
  anchors: orBroken(fc.array(orBroken(fc.constantFrom("one", "two")), { maxLength: 2 })),
  atEnd: orBroken(fc.constant(true)),
  oldNoNewline: orBroken(fc.constant(true)),
  newNoNewline: orBroken(fc.constant(true)),
});
const mode = fc.constantFrom(undefined, undefined, undefined, undefined, "100644", "100755", "120000", "160000");
const base = {
  hunks: fc.array(hunk, { maxLength: 2 }),
  oldMode: mode,
  newMode: mode,
  reason: orBroken(fc.string()),
  oldStamp: orBroken(fc.string()),
  git: orBroken(fc.record({ index: orBroken(fc.constant("e69de29..0")), mode: orBroken(mode) })),
};
const file = fc.oneof(
  fc.record({ ...base, kind: fc.constant("create"), before: fc.constant(null), after: path }),
  fc.record({ ...base, kind: fc.constant("delete"), before: path, after: fc.constant(null) }),
  path.chain((name) =>
    fc.record({ ...base, kind: fc.constant("modify"), before: fc.constant(name), after: fc.constant(name) }),
  ),
  fc.record({
    ...base,
    kind: fc.constantFrom("rename", "copy"),
    before: path,
    after: path,
    git: fc.constantFrom(undefined, {}),
  }),
  fc.record({ ...base, kind: fc.constant("create"), whole: fc.constant(true), before: fc.constant(null), after: path }),
);
const edits = [
  createPatch(files.a, "one\n2\nthree\n", { path: "a" }),
  createPatch(files["dir/b"], "one\r\n2", { path: "dir/b" }),
  createPatch(files["dir/b"], "", { oldPath: "dir/b", newPath: null }),
  createPatch("", "new\n", { oldPath: null, newPath: "x/y/z" }),
];
const sound = fc.constantFrom(...edits.flatMap((edit) => edit.files));
// Patch-shaped, with anything at all in any place.
const broken = fc.record(
  {
    kind: fc.oneof(fc.constantFrom("create", "modify", "delete", "rename", "copy"), fc.jsonValue()),
    before: fc.oneof(path, fc.jsonValue()),
    after: fc.oneof(path, fc.jsonValue()),
    hunks: fc.oneof(fc.array(fc.oneof(hunk, fc.jsonValue()), { maxLength: 2 }), fc.jsonValue()),
    whole: fc.jsonValue(),
    newMode: fc.jsonValue(),
    git: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const patch = fc.record({
  files: fc.array(
    fc.oneof({ weight: 6, arbitrary: sound }, { weight: 6, arbitrary: file }, { weight: 1, arbitrary: broken }),
    { maxLength: 3 },
  ),
});
const input = fc.oneof(
  { weight: 9, arbitrary: fc.array(patch, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
);

test("no value makes planning or applying throw, and what was applied can be undone", async () => {
  const root = makeWorkspace(files);
  const old = snapshot(root);
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(input, async (value) => {
      const plan = await planEdits(value as unknown as Patch[], { root });
      const result = await applyPlan(plan, { root });
      expect(result.ok).toBe(plan.conflicts.length === 0);
      if (result.ok && result.files.length > 0) {
        applied++;
        const back = await planEdits(result.inverse, { root });
        expect(back.conflicts).toEqual([]);
        expect((await undo(result, { root })).ok).toBe(true);
      }
      expect(snapshot(root)).toEqual(old);
    }),
    { numRuns, seed },
  );
  expect(applied).toBeGreaterThan(numRuns / 100);
}, 600_000);
