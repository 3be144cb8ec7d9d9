import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createPatch } from "@parlance/edits";
import { applyPlan, contentHash, planEdits, recover } from "@parlance/edits/node";
import { describe, expect, test } from "vitest";
import { faultyFiles } from "./faulty-files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

const id = "0123456789ab";
// No process has this id: Linux' largest is 4,194,304.
const owner = { host: hostname(), pid: 2 ** 30, started: 1, thread: 0 };
const entry = { path: "a", before: null, after: contentHash("a\n"), mode: null };
const sound = { version: 1, id, owner, files: [entry], directories: [] };

describe("a journal that came with the files is read as a stranger's word", () => {
  const cases: [string, unknown][] = [
    ["that is no JSON", "{"],
    ["of a newer version", { ...sound, version: 2 }],
    ["without an owner", { ...sound, owner: undefined }],
    ["with an id that is a path", { ...sound, id: "../../../etc" }],
    ["about a file outside", { ...sound, files: [{ ...entry, path: "../secret" }] }],
    ["about git's own files", { ...sound, files: [{ ...entry, path: ".git/config" }] }],
    ["about a directory outside", { ...sound, directories: ["../x"] }],
    ["with a hash that is none", { ...sound, files: [{ ...entry, after: 7 }] }],
  ];
  test.each(cases)("one %s is refused, and nothing is touched", async (_what, journal) => {
    const text = typeof journal === "string" ? journal : JSON.stringify(journal);
    const outer = makeWorkspace({ secret: "a\n", "root/a": "a\n", "root/.parlance-journal/pending.json": text });
    const before = snapshot(outer);
    const root = join(outer, "root");
    expect((await recover(root)).conflict?.reason).toBe("journal");
    const plan = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root });
    expect(plan.conflicts.map(({ reason }) => reason)).toEqual(["journal"]);
    expect((await applyPlan({ ...plan, conflicts: [] }, { root })).ok).toBe(false);
    expect(snapshot(outer)).toEqual(before);
  });

  test("one that is a symlink to elsewhere is not followed", async () => {
    const outer = makeWorkspace({ "root/a": "a\n", "trap/pending.json": JSON.stringify(sound) });
    symlinkSync("../trap", join(outer, "root/.parlance-journal"));
    const before = snapshot(outer);
    expect((await recover(join(outer, "root"))).conflict?.reason).toBe("symlink");
    expect(snapshot(outer)).toEqual(before);
  });

  test("one of another host may be at work, so the root is busy", async () => {
    const journal = JSON.stringify({ ...sound, owner: { ...owner, host: "elsewhere" } });
    const root = makeWorkspace({ a: "a\n", ".parlance-journal/pending.json": journal });
    expect((await recover(root)).conflict).toMatchObject({
      reason: "busy",
      message: expect.stringContaining("elsewhere"),
    });
  });
});

test("what somebody wrote after the crash stays, and the old text is beside it", async () => {
  const root = makeWorkspace({ a: "a\n", b: "b\n" });
  const patches = [createPatch("a\n", "A\n", { path: "a" }), createPatch("b\n", "B\n", { path: "b" })];
  const plan = await planEdits(patches, { root });
  // The first call behind which the one file is new and the other still old.
  for (let at = 1; snapshot(root).a !== "644 A\n" || snapshot(root).b !== "644 b\n"; at++) {
    await recover(root);
    await applyPlan({ ...plan, root }, { root, files: faultyFiles(at, "crash-after") });
  }
  writeFileSync(join(root, "mine"), "mine\n");
  renameSync(join(root, "mine"), join(root, "a"));
  const recovery = await recover(root);
  expect(recovery).toMatchObject({ state: "rolled-back", kept: [{ path: "a" }] });
  expect(snapshot(root)).toEqual({ a: "644 mine\n", b: "644 b\n", [recovery.kept[0]!.old]: "644 a\n" });
});

test("two plans carried out at once in one process: one is done, the other is refused because the root is busy or has changed", async () => {
  const root = makeWorkspace({ a: "a\n" });
  const plans = await Promise.all(
    ["b\n", "c\n", "d\n"].map((text) => planEdits(createPatch("a\n", text, { path: "a" }), { root })),
  );
  const results = await Promise.all(plans.map((plan) => applyPlan(plan, { root })));
  const written = results.findIndex((result) => result.ok);
  expect(results.filter((result) => result.ok)).toHaveLength(1);
  for (const result of results) if (!result.ok) expect(["busy", "stale"]).toContain(result.conflicts[0]!.reason);
  expect(snapshot(root)).toEqual({ a: `644 ${["b\n", "c\n", "d\n"][written]}` });
});
