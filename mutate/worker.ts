import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest, type TestModule, type TestSpecification } from "vitest/node";
import type { Answer, Order } from "./runner.js";

// One vitest for many runs, in a process of its own, which is killed where a mutant never ends. Its folder is a copy of the checkout.

const root = process.cwd();
const recording = process.env.PARLANCE_REACH !== undefined;
const vitest = await createVitest("test", {
  root,
  watch: false,
  project: ["tests*"],
  reporters: [{ onTestModuleEnd: () => reply("alive") }],
  bail: recording ? 0 : 1,
  sequence: { sequencer: InOrder as never },
});
for (const { config } of vitest.projects) {
  config.isolate = recording;
  // One process for all files: its start, and loading what they share, take longer than most of them.
  config.maxWorkers = recording ? 2 : 1;
  if (recording) config.setupFiles.unshift(fileURLToPath(new URL("record.ts", import.meta.url)));
}
const every = await vitest.globTestSpecifications();

process.on("message", (order: Order) => {
  if (order === "list") return reply({ files: every.map(({ moduleId }) => moduleId.slice(root.length + 1)) });
  run(order).then(reply, (error: unknown) => reply({ failed: String(error), passed: {}, count: 0 }));
});
// Nothing of it outlives what started it.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
reply("ready");

async function run({ files, changed, titles }: Exclude<Order, "list">): Promise<Answer> {
  if (titles === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(titles));
  for (const file of changed) vitest.invalidateFile(join(root, file));
  const chosen = files.map((file) => every.find(({ moduleId }) => moduleId === join(root, file))!);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(chosen);
  const ran = testModules.filter(({ moduleId }) => chosen.some((specification) => specification.moduleId === moduleId));
  const failed = ran.find((module) => module.state() === "failed");
  const passed: Record<string, number> = {};
  for (const module of ran) {
    const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
    const all = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
    if (module.state() !== "failed") passed[module.moduleId.slice(root.length + 1)] = Math.round(all);
  }
  const [error] = unhandledErrors;
  const unhandled = error === undefined ? undefined : `an unhandled error: ${(error as Error).message}`;
  const tests = ran.flatMap(({ children }) => [...children.allTests()]);
  const count = tests.filter((test) => test.result().state !== "skipped").length;
  return { failed: failed ? nameOf(failed) : unhandled, passed, count };
}

function nameOf(module: TestModule): string {
  const file = module.moduleId.slice(root.length + 1);
  for (const test of module.children.allTests("failed")) return `${file} › ${test.fullName}`;
  return file;
}

function reply(answer: Answer): void {
  process.send!(answer);
}

/** Vitest would put the files that took long, or failed last, first. */
function InOrder() {
  const same = (files: TestSpecification[]) => files;
  return { sort: same, shard: same };
}
