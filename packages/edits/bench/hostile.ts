/**
 * Times each reader and `applyPatch` on 1 MiB of each hostile shape, each in a process of its own: processor time from a cold start, and
 * how far the process's memory grew at its peak. `tsx packages/edits/bench/hostile.ts [part of a shape's name]`; it fails above 2 s or 300 MiB.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { READERS, SHAPES } from "../test/hostile.js";

const SECONDS = 2;
const MEBIBYTES = 300;

const folder = mkdtempSync(join(tmpdir(), "edits-hostile-"));
try {
  // Bundled, so that the processes do not compile the sources once more.
  const outfile = join(folder, "run.mjs");
  const entry = fileURLToPath(new URL("hostile-run.ts", import.meta.url));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
  });
  const readers = Object.keys(READERS);
  console.log(
    `milliseconds / MiB\n${"".padEnd(46)}${readers.map((reader) => reader.slice(0, 17).padStart(19)).join("")}`,
  );
  let over = 0;
  for (const shape of Object.keys(SHAPES).filter((name) => name.includes(process.argv[2] ?? ""))) {
    const cells = readers.map((reader) => {
      const run = spawnSync(process.execPath, [outfile, shape, reader], { encoding: "utf8" });
      if (run.status !== 0) throw new Error(`${shape}, ${reader}: ${run.stderr}`);
      const [time, grown] = JSON.parse(run.stdout) as [number, number];
      const isOver = time > 1000 * SECONDS || grown > MEBIBYTES;
      if (isOver) over++;
      return `${isOver ? "!" : ""}${time} / ${grown}`.padStart(19);
    });
    console.log(shape.padEnd(46) + cells.join(""));
  }
  if (over > 0) throw new Error(`${over} take more than ${SECONDS} s or ${MEBIBYTES} MiB.`);
} finally {
  rmSync(folder, { recursive: true });
}
