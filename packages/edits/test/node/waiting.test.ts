import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPatch } from "@parlance/edits";
import { applyPlan, planEdits, recover, undo } from "@parlance/edits/node";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Files, OpenFile } from "../../src/node/files.js";
import type { Clock } from "../../src/node/options.js";
import { faultyFiles } from "./faulty-files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

/** A clock that only moves while somebody sleeps, and tells how long each sleep was. */
function fakeClock(onSleep: (sleeps: readonly number[]) => Promise<unknown> | undefined = () => undefined) {
  const sleeps: number[] = [];
  const clock: Clock = {
    now: () => sleeps.reduce((sum, ms) => sum + ms, 0),
    sleep: async (ms) => {
      sleeps.push(ms);
      await onSleep(sleeps);
    },
  };
  return { clock, sleeps };
}

/** Holds the root: the plan's first new file waits until `release` is called. */
function held(): { files: Files; reached: Promise<void>; release: () => void } {
  let release = () => {};
  let arrive = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const link = async (from: string, to: string) => {
    arrive();
    await gate;
    return fs.link(from, to);
  };
  return { files: { ...(fs as unknown as Files), link }, reached, release };
}

/** A handle without its prototype, so that one method can be another. */
function wrap(handle: OpenFile): OpenFile {
  return {
    fd: handle.fd,
    stat: () => handle.stat(),
    readFile: () => handle.readFile(),
    writeFile: (bytes) => handle.writeFile(bytes),
    chown: (uid, gid) => handle.chown(uid, gid),
    chmod: (mode) => handle.chmod(mode),
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

const change = (from: string, to: string, path = "a") => createPatch(from, to, { path });

describe("a root that another call holds", () => {
  test("is busy at once by default, for planning, applying and undoing", async () => {
    const root = makeWorkspace({ a: "a\n", b: "b\n" });
    const earlier = await applyPlan(await planEdits(change("b\n", "B\n", "b"), { root }), { root });
    const [plan, other] = [
      await planEdits(change("a\n", "A\n"), { root }),
      await planEdits(change("a\n", "x\n"), { root }),
    ];
    const { files, reached, release } = held();
    const first = applyPlan(plan, { root, files });
    await reached;
    const busy = { conflicts: [{ reason: "busy" }] };
    expect(await planEdits(change("a\n", "x\n"), { root })).toMatchObject(busy);
    expect(await applyPlan(other, { root })).toMatchObject(busy);
    expect(earlier.ok && (await undo(earlier, { root }))).toMatchObject(busy);
    release();
    expect((await first).ok).toBe(true);
  });

  test("is waited for, and what comes after sees what the other wrote", async () => {
    const root = makeWorkspace({ a: "a\n", b: "b\n" });
    const [plan, far, near] = [
      await planEdits(change("a\n", "A\n"), { root }),
      await planEdits(change("b\n", "B\n", "b"), { root }),
      await planEdits(change("a\n", "x\n"), { root }),
    ];
    const { files, reached, release } = held();
    const first = applyPlan(plan, { root, files });
    await reached;
    const { clock, sleeps } = fakeClock((sleeps) => {
      if (sleeps.length < 3) return undefined;
      release();
      return first;
    });
    const [planned, applied, stale] = await Promise.all([
      planEdits(change("A\n", "AA\n"), { root, wait: 60_000, clock }),
      applyPlan(far, { root, wait: 60_000, clock }),
      applyPlan(near, { root, wait: 60_000, clock }),
    ]);
    expect(sleeps.length).toBeGreaterThanOrEqual(3);
    expect(planned.conflicts).toEqual([]);
    expect(applied.ok).toBe(true);
    expect(stale).toMatchObject({ ok: false, conflicts: [{ reason: "stale" }] });
    expect(snapshot(root)).toEqual({ a: "644 A\n", b: "644 B\n" });
  });

  test.each([1, 100, 5_000])("is busy after exactly %i milliseconds, in growing pauses", async (wait) => {
    const root = makeWorkspace({ a: "a\n" });
    const plan = await planEdits(change("a\n", "A\n"), { root });
    const { files, reached, release } = held();
    const first = applyPlan(plan, { root, files });
    await reached;
    const { clock, sleeps } = fakeClock();
    expect(await applyPlan(plan, { root, wait, clock })).toMatchObject({ conflicts: [{ reason: "busy" }] });
    expect(clock.now()).toBe(wait);
    expect(Math.max(...sleeps)).toBeLessThanOrEqual(250);
    expect([...sleeps.slice(0, -1)].sort((a, b) => a - b)).toEqual(sleeps.slice(0, -1));
    release();
    expect((await first).ok).toBe(true);
  });

  test("any other conflict is reported at once", async () => {
    const root = makeWorkspace({ a: "a\n" });
    const { clock, sleeps } = fakeClock();
    const plan = await planEdits(change("other\n", "A\n"), { root, wait: 60_000, clock });
    expect(plan.conflicts.map(({ reason }) => reason)).toEqual(["hunks"]);
    expect(await applyPlan({ ...plan, conflicts: [], root: "/" }, { root, wait: 60_000, clock })).toMatchObject({
      ok: false,
    });
    expect(sleeps).toEqual([]);
  });

  test("is not taken for a crashed one where it is done while its journal is read", async () => {
    const root = makeWorkspace({ a: "a\n", b: "b\n" });
    const [plan, next] = [
      await planEdits(change("a\n", "A\n"), { root }),
      await planEdits(createPatch("", "new\n", { oldPath: null, newPath: "new" }), { root }),
    ];
    const [first, second] = [held(), held()];
    const done = applyPlan(plan, { root, files: first.files });
    await first.reached;
    let then: ReturnType<typeof applyPlan> | undefined;
    // The first call's journal is read; before anything comes of that, the call ends and another begins.
    const open: Files["open"] = async (path, flags, mode) => {
      const handle = await first.files.open(path, flags, mode);
      if (then || !path.endsWith("pending.json")) return handle;
      const bytes = await handle.readFile();
      first.release();
      expect((await done).ok).toBe(true);
      then = applyPlan(next, { root, files: second.files });
      await second.reached;
      return { ...wrap(handle), readFile: async () => bytes };
    };
    expect((await recover(root, { files: { ...first.files, open } })).conflict?.reason).toBe("busy");
    second.release();
    expect((await then!).ok).toBe(true);
    expect(snapshot(root)).toMatchObject({ a: "644 A\n", b: "644 b\n", new: expect.stringContaining("new") });
  });

  test("ten calls that all wait are carried out one after the other", async () => {
    const root = makeWorkspace(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, "a\n"])));
    const plans = await Promise.all(
      Array.from({ length: 10 }, (_, i) => planEdits(change("a\n", `${i}\n`, `f${i}`), { root })),
    );
    const results = await Promise.all(plans.map((plan) => applyPlan(plan, { root, wait: 60_000 })));
    expect(results.map(({ ok }) => ok)).toEqual(plans.map(() => true));
    expect(Object.values(snapshot(root))).toEqual(plans.map((_, i) => `644 ${i}\n`));
  });
});

describe.skipIf(process.platform === "win32")("another process", () => {
  const directory = mkdtempSync(join(tmpdir(), "parlance-wait-"));
  const program = join(directory, "apply-until.mjs");
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  beforeAll(async () => {
    const alias = { "@parlance/edits/node": here("../../src/node.ts"), "@parlance/edits": here("../../src/index.ts") };
    const entryPoints = [here("./apply-until.ts")];
    await build({
      entryPoints,
      outfile: program,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      alias,
    });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test("that holds the root and dies is waited for, and its plan is taken back first", async () => {
    const root = makeWorkspace({ a: "a\n", b: "b\n" });
    const plan = await planEdits([change("a\n", "A\n"), change("b\n", "B\n", "b")], { root });
    // The first call behind which one of the files is new and the other old.
    let call = 0;
    while (snapshot(root).a !== "644 A\n" || snapshot(root).b !== "644 b\n") {
      await recover(root);
      await applyPlan(plan, { root, files: faultyFiles(++call, "crash-after") });
    }
    await recover(root);
    const child = spawn(process.execPath, [program, String(call)], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      child.stdin.end(JSON.stringify(plan));
      await once(child.stdout, "data");
      expect(snapshot(root)).toMatchObject({ a: "644 A\n", b: "644 b\n" });
      const busy = await planEdits(change("a\n", "x\n"), { root });
      expect(busy.conflicts.map(({ reason }) => reason)).toEqual(["busy"]);
      const { clock, sleeps } = fakeClock(async (sleeps) => {
        if (sleeps.length > 1) return;
        const exit = once(child, "exit");
        child.kill("SIGKILL");
        await exit;
      });
      const next = await planEdits(change("a\n", "x\n"), { root, wait: 60_000, clock });
      expect(sleeps).toHaveLength(1);
      expect(next.conflicts).toEqual([]);
      expect((await applyPlan(next, { root })).ok).toBe(true);
      expect(snapshot(root)).toEqual({ a: "644 x\n", b: "644 b\n" });
    } finally {
      child.kill("SIGKILL");
    }
  });
});
