import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SHAPES } from "../hostile.js";

vi.setConfig({ testTimeout: 600_000 });

/** The engine ends a process that cannot free enough to stay below this. */
const HEAP = "--max-old-space-size=300";
const names = Object.keys(SHAPES);
const shapes = process.env.PARLANCE_LONG ? names : names.filter((_, i) => i % 20 === 2);

const folder = mkdtempSync(join(tmpdir(), "edits-memory-"));
const script = join(folder, "run.mjs");
beforeAll(async () => {
  const entry = join(import.meta.dirname, "../../bench/hostile-run.ts");
  await build({ entryPoints: [entry], outfile: script, bundle: true, format: "esm", platform: "node" });
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(shapes)("reads 1 MiB of %s in 300 MB with every reader", (shape) => {
  const { status, stderr } = spawnSync(process.execPath, [HEAP, script, shape], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

test("ends where the limit is too low for the text", () => {
  const { status } = spawnSync(process.execPath, ["--max-old-space-size=8", script, shapes[0]!]);
  expect(status).not.toBe(0);
});
