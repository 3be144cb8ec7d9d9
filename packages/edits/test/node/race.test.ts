import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createPatch, type Patch } from "@parlance/edits";
import { applyPlan, planEdits, recover } from "@parlance/edits/node";
import { expect, test } from "vitest";
import { makeWorkspace, snapshot } from "./workspace.js";

const races = process.env.PARLANCE_LONG ? 50_000 : 300;
const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));

async function start(script: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program(script), ...args], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout!, "data");
  return child;
}

test.skipIf(process.platform !== "linux")(
  `in ${races} races against a process that swaps a directory for a symlink nothing outside is read or written`,
  async () => {
    const root = makeWorkspace({ "dir/file": "inside\n", "dir/gone": "inside\n" });
    // The same names, so that a followed symlink would find what it looks for; another text, so that it would show.
    const outside = makeWorkspace({ file: "OUTSIDE\n", gone: "OUTSIDE\n" });
    const before = snapshot(outside);
    const child = await start("./swap-loop.mjs", [root, outside]);
    const outcomes: Record<string, number> = {};
    let text = "inside\n";
    try {
      for (let i = 0; i < races; i++) {
        const next = `inside ${i}\n`;
        const patches: Patch[] = [
          createPatch(text, next, { path: "dir/file" }),
          createPatch("", next, { oldPath: null, newPath: "dir/new" }),
        ];
        const plan = await planEdits(i % 2 ? patches.slice(0, 1) : patches, { root });
        for (const { before } of plan.files) expect(before?.text ?? "").not.toContain("OUTSIDE");
        const result = await applyPlan(plan, { root });
        if (result.ok) {
          text = next;
          if (result.files.length > 1) await removeNew(root, next);
        }
        const outcome = result.ok ? "written" : result.conflicts[0]!.reason;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
    } finally {
      child.stdin!.end();
      await once(child, "exit");
    }
    expect(snapshot(outside)).toEqual(before);
    // Both sides of the race were seen; otherwise there was none.
    expect(outcomes.written).toBeGreaterThan(races / 100);
    expect(races - (outcomes.written ?? 0)).toBeGreaterThan(races / 100);
    await recover(root);
    const names = Object.keys(snapshot(root));
    expect(names.filter((name) => name.includes("parlance"))).toEqual([]);
    expect(snapshot(root)["dir/file"]).toBe(`644 ${text}`);
  },
  600_000,
);

/** Takes the new file away again, however often the race is lost. */
async function removeNew(root: string, text: string): Promise<void> {
  for (;;) {
    const plan = await planEdits(createPatch(text, "", { oldPath: "dir/new", newPath: null }), { root });
    if ((await applyPlan(plan, { root })).ok) return;
  }
}
