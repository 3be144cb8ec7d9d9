/** Every bench, one after the other, on the built packages: `pnpm bench`, or `pnpm bench --quick` for rougher figures. */
import { spawnSync } from "node:child_process";

const programs = [
  "client/bench/receive.ts",
  "client/bench/sockets.ts",
  "server/bench/send.ts",
  "server/bench/fan-out.ts",
  "server/bench/memory.ts",
  "server/bench/resume.ts",
  "server/bench/log.ts",
  "server/bench/asks.ts",
  "server/bench/cancel.ts",
  "server/bench/first-event.ts",
  "edits/bench/speed.ts",
];

for (const program of programs) {
  const command = ["--tsconfig", "tsconfig.base.json", `packages/${program}`, ...process.argv.slice(2)];
  const { status } = spawnSync("tsx", command, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
