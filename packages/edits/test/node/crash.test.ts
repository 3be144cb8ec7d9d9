import { chmodSync } from "node:fs";
import { join } from "node:path";
import { createPatch, type Patch } from "@parlance/edits";
import { applyPlan, type Plan, planEdits, recover } from "@parlance/edits/node";
import { describe, expect, test, vi } from "vitest";
import type { Files } from "../../src/node/files.js";
import type { Access } from "../../src/node/root.js";
import { type Effect, type Fault, faultyFiles, withoutLinks } from "./faulty-files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

// Some thousand plans are carried out here; which is slow on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const texts = { "a.txt": "one\ntwo\n", "b/c.txt": "see\n", "b/d.txt": "gone\n", run: "#!/bin/sh\n", move: "moved\n" };

/** One of everything: a change, a delete, a delete that empties a directory, new directories, a mode, a move. */
const patches: Patch[] = [
  createPatch(texts["a.txt"], "one\n2\n", { path: "a.txt" }),
  createPatch(texts["b/c.txt"], "", { oldPath: "b/c.txt", newPath: null }),
  createPatch(texts["b/d.txt"], "", { oldPath: "b/d.txt", newPath: null }),
  createPatch("", "new\n", { oldPath: null, newPath: "x/y/new.txt" }),
  { files: [{ kind: "modify", before: "run", after: "run", oldMode: "100644", newMode: "100755", hunks: [] }] },
  { files: [{ kind: "rename", before: "move", after: "x/moved", hunks: [] }] },
];

interface Fixture {
  readonly root: string;
  readonly plan: Plan;
  readonly old: Record<string, string>;
}

let planned: Plan | undefined;

/** A plan is data: it is made once and carried out in one fresh root after another. */
async function setUp(): Promise<Fixture> {
  const root = makeWorkspace(texts);
  chmodSync(join(root, "a.txt"), 0o600);
  planned ??= await planEdits(patches, { root });
  expect(planned.conflicts).toEqual([]);
  return { root, plan: { ...planned, root }, old: snapshot(root) };
}

async function finished(access: Access): Promise<{ tree: Record<string, string>; calls: readonly Effect[] }> {
  const { root, plan } = await setUp();
  const files = faultyFiles(0, "crash-before");
  expect((await applyPlan(plan, { root, files, access })).ok).toBe(true);
  return { tree: snapshot(root), calls: files.calls };
}

const native: Access = process.platform === "linux" ? "handles" : "paths";
const faults: [Fault, Access][] = [
  ["crash-before", native],
  ["crash-after", native],
  ["crash-within", native],
  ["error-before", native],
  ["error-after", native],
  ["crash-after", "paths"],
  ["error-after", "paths"],
];

/**
 * The calls at which a fault is tried, counted from 1: those at which it leaves something else than another fault. A crash at a call that only
 * reads leaves what the call before it left, and so does a crash before any other call: of those each sixth is tried, and the first.
 * Bytes are written in part by writes alone, and an error after a call that only reads is one before it: of those that read, each
 * third fails. With PARLANCE_LONG all calls.
 */
function placesOf(fault: Fault, calls: readonly Effect[]): number[] {
  const isTold = (effect: Effect, i: number): boolean =>
    process.env.PARLANCE_LONG !== undefined ||
    (fault === "error-before" && (effect !== "reads" || i % 3 === 0)) ||
    effect === "writes" ||
    (effect === "changes" && fault !== "crash-within");
  const first = calls.findIndex((effect) => effect !== "reads");
  if (fault === "crash-before" && !process.env.PARLANCE_LONG)
    return calls.flatMap((effect, i) => (i === first || (effect !== "reads" && i % 6 === 0) ? [i + 1] : []));
  return calls.flatMap((effect, i) => (isTold(effect, i) ? [i + 1] : []));
}

describe("all or none", () => {
  test.each(faults)(
    "a fault (%s) at any call of applyPlan by %s leaves all old files or all new ones, and no litter",
    async (fault, access) => {
      const { tree: fresh, calls } = await finished(access);
      expect(calls.length).toBeGreaterThan(100);
      const outcomes = { old: 0, new: 0 };
      // By paths the steps are the same as by handles, which are tried at every place.
      const every = access === native || process.env.PARLANCE_LONG ? 1 : 3;
      for (const at of placesOf(fault, calls).filter((_, i) => i % every === 0)) {
        const { root, plan, old } = await setUp();
        const result = await applyPlan(plan, { root, files: faultyFiles(at, fault), access });
        const recovery = await recover(root, { access });
        const now = snapshot(root);
        const isNew = now["a.txt"] === fresh["a.txt"];
        outcomes[isNew ? "new" : "old"]++;
        expect([at, recovery.kept, now]).toEqual([at, [], isNew ? fresh : old]);
        // A reported success can be relied on; after one failed call, so can the reported failure.
        if (result.ok) expect([at, isNew]).toEqual([at, true]);
        else if (fault.startsWith("error")) expect([at, isNew]).toEqual([at, false]);
      }
      expect(outcomes.old).toBeGreaterThan(0);
      // The last bytes are written before the commit.
      if (fault !== "crash-within") expect(outcomes.new).toBeGreaterThan(0);
    },
  );
});

test("what the system refuses is reported in its words", async () => {
  const { root, plan } = await setUp();
  const result = await applyPlan(plan, { root, files: faultyFiles(1, "error-before") });
  expect(result).toMatchObject({
    ok: false,
    conflicts: [{ reason: "io", message: expect.stringContaining("EIO: i/o error") }],
  });
});

test("without hard links the same holds", async () => {
  const { tree: fresh, calls } = await finished(native);
  for (let at = 1; at <= calls.length + 40; at += process.env.PARLANCE_LONG === undefined ? 7 : 1) {
    const { root, plan, old } = await setUp();
    await applyPlan(plan, { root, files: withoutLinks(faultyFiles(at, at % 2 ? "crash-before" : "crash-within")) });
    await recover(root, { files: withoutLinks(faultyFiles(0, "crash-before")) });
    const now = snapshot(root);
    expect([at, now]).toEqual([at, now["a.txt"] === fresh["a.txt"] ? fresh : old]);
  }
});

test("recovery itself may be killed at any call, again and again", async () => {
  const { tree: fresh, calls } = await finished(native);
  // Deep in the swap, and right behind the commit: the longest way back and the longest way on.
  for (const share of [0.6, 0.75, 0.9]) {
    const { root, plan, old } = await setUp();
    await applyPlan(plan, { root, files: faultyFiles(Math.round(calls.length * share), "crash-after") });
    for (let at = 1; ; at++) {
      const files = faultyFiles(at, at % 2 ? "crash-before" : "crash-after");
      await recover(root, { files });
      if (files.count() < at) break;
    }
    const now = snapshot(root);
    expect(now).toEqual(now["a.txt"] === fresh["a.txt"] ? fresh : old);
  }
});

test("planning again after a crash sees the old files or the new ones, never a mixture", async () => {
  const { tree: fresh, calls } = await finished(native);
  for (let at = 40; at <= calls.length; at += process.env.PARLANCE_LONG === undefined ? 11 : 7) {
    const { root, plan, old } = await setUp();
    await applyPlan(plan, { root, files: faultyFiles(at, "crash-after") });
    const next = await planEdits(patches, { root });
    const now = snapshot(root);
    const isNew = now["a.txt"] === fresh["a.txt"];
    expect(now).toEqual(isNew ? fresh : old);
    expect(next.conflicts.length > 0).toBe(isNew);
  }
});

test("the order of things on disk: nothing is replaced before the journal is durable, nothing removed before the commit", async () => {
  const { root, plan } = await setUp();
  const log: string[] = [];
  const files = faultyFiles(0, "crash-before");
  const named = (path: string) =>
    path
      .slice(path.lastIndexOf("/") + 1)
      .replace(/[0-9a-f]{12}/, "ID")
      .replace(/^ID[0-9a-f]{4}-[\d.]+-[0-9a-f]{12}\.json/, "record");
  const logged: Files = {
    ...files,
    rename: (from, to) => {
      log.push(`${named(from)} > ${named(to)}`);
      return files.rename(from, to);
    },
    link: (from, to) => {
      log.push(`${named(from)} = ${named(to)}`);
      return files.link(from, to);
    },
    unlink: (path) => {
      log.push(`- ${named(path)}`);
      return files.unlink(path);
    },
  };
  await applyPlan(plan, { root, files: logged });
  expect(log).toMatchInlineSnapshot(`
    [
      ".parlance-draft-ID > .parlance-journal",
      "a.txt = .parlance-ID-0.old",
      "c.txt = .parlance-ID-1.old",
      "d.txt = .parlance-ID-2.old",
      "move = .parlance-ID-3.old",
      "run = .parlance-ID-4.old",
      ".parlance-ID-0.new > a.txt",
      "- c.txt",
      "- d.txt",
      "- move",
      ".parlance-ID-4.new > run",
      ".parlance-ID-5.new = moved",
      ".parlance-ID-6.new = new.txt",
      "pending.json > committed.json",
      "- .parlance-ID-0.new",
      "- .parlance-ID-0.old",
      "- .parlance-ID-1.new",
      "- .parlance-ID-1.old",
      "- .parlance-ID-2.new",
      "- .parlance-ID-2.old",
      "- .parlance-ID-3.new",
      "- .parlance-ID-3.old",
      "- .parlance-ID-4.new",
      "- .parlance-ID-4.old",
      "- .parlance-ID-5.new",
      "- .parlance-ID-5.old",
      "- .parlance-ID-6.new",
      "- .parlance-ID-6.old",
      ".parlance-journal > .parlance-draft-ID",
      "- pending.json",
      "- committed.json",
      "- record",
    ]
  `);
});
