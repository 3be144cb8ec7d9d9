import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPatch } from "@parlance/edits";
import { type Plan, planEdits, recover } from "@parlance/edits/node";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeWorkspace, snapshot } from "./workspace.js";

const directory = mkdtempSync(join(tmpdir(), "parlance-kill-"));
const program = join(directory, "apply-until.mjs");
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

beforeAll(async () => {
  await build({
    entryPoints: [here("./apply-until.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    alias: { "@parlance/edits/node": here("../../src/node.ts"), "@parlance/edits": here("../../src/index.ts") },
  });
});
afterAll(() => rmSync(directory, { recursive: true }));

/** From one call that is stopped to the next. The other tests of crashes are of each call, within one process. */
const step = process.env.PARLANCE_LONG ? 7 : 11;

/** A process that stands still behind one call, or has ended because there were fewer. */
async function runUntil(plan: Plan, call: number) {
  const child = spawn(process.execPath, [program, String(call)], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(plan));
  const [said] = await once(child.stdout, "data");
  return { child, done: String(said) === "done\n" };
}

const patches = [
  createPatch("a\n", "A\n", { path: "a" }),
  createPatch("b\n", "", { oldPath: "b", newPath: null }),
  createPatch("", "C\n", { oldPath: null, newPath: "deep/c" }),
];

describe.skipIf(process.platform === "win32")("a process killed by SIGKILL while it applies a plan", () => {
  test("leaves all old files or all new ones to the next caller, and while it lives the root is busy", async () => {
    const seen = new Set<string>();
    for (let call = 8, done = false; !done; call += step) {
      const root = makeWorkspace({ a: "a\n", b: "b\n" });
      const plan = await planEdits(patches, { root });
      const old = snapshot(root);
      const run = await runUntil(plan, call);
      done = run.done;
      const halted = snapshot(root);
      if (".parlance-journal/" in halted) {
        const meanwhile = await planEdits(patches, { root });
        expect(meanwhile.conflicts[0]?.reason).toBe("busy");
        expect((await recover(root)).conflict?.reason).toBe("busy");
        expect(snapshot(root)).toEqual(halted);
      }
      const exit = once(run.child, "exit");
      run.child.kill("SIGKILL");
      await exit;
      const { state } = await recover(root);
      seen.add(state);
      const now = snapshot(root);
      const fresh = { a: "644 A\n", "deep/": "directory", "deep/c": expect.stringContaining("C\n") };
      expect([call, now]).toEqual([call, now.a === "644 A\n" ? fresh : old]);
    }
    expect(seen).toEqual(new Set(["clean", "rolled-back", "completed"]));
  }, 240_000);
});
