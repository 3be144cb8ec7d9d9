import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import type { TestSequencer, TestSpecification } from "vitest/node";

/** Files that take longest. They start first, so that no worker is left with one at the end. */
const LONG_FILES = [
  "store-redis/test/scenarios/schedules.test.ts",
  "resume/cuts.test.ts",
  "inspect/test/page.test.ts",
  "inspect/test/scenarios/asks-page.test.ts",
  "cli/test/conform.test.ts",
  "hostile-agents.test.ts",
  "safety/cuts.test.ts",
  "cli/test/mock.test.ts",
  "edits/test/scenarios/hostile.test.ts",
  "hostile.test.ts",
  "checks.test.ts",
  "soak.test.ts",
  "load.test.ts",
  "stream/stream.test.ts",
  "formats/laws.test.ts",
  "fences.test.ts",
  "init.test.ts",
  "perturb.test.ts",
  "crash.test.ts",
  "faults/table.test.ts",
  "race.test.ts",
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = LONG_FILES.findIndex((end) => moduleId.endsWith(end));
  return at < 0 ? LONG_FILES.length : at;
};

/** The long files first, then those with most text. */
class LongFirst implements TestSequencer {
  async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const size = new Map(files.map((file) => [file, statSync(file.moduleId).size]));
    return [...files].sort((a, b) => rank(a) - rank(b) || size.get(b)! - size.get(a)!);
  }
}

const hasInterop = existsSync(new URL("./interop/node_modules", import.meta.url));
// Vitest reads this file once for each project.
if (!hasInterop && !process.env.PARLANCE_NOTED)
  console.warn("interop/ is left out: `pnpm interop` installs what its tests need.");
process.env.PARLANCE_NOTED = "1";

const packages = fileURLToPath(new URL("./packages", import.meta.url));

/** Test files that count the timers of a false clock, which also gets those of files that their worker ran before. */
const timed = readdirSync(packages)
  .filter((name) => existsSync(`${packages}/${name}/test`))
  .flatMap((name) => readdirSync(`${packages}/${name}/test`, { recursive: true }).map((file) => `${name}/test/${file}`))
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => readFileSync(`${packages}/${file}`, "utf8").includes("vi.getTimerCount("))
  .map((file) => `packages/${file.replaceAll("\\", "/")}`);
const setupFiles = ["packages/server/test/at-rest/setup.ts"];

// Tests run on the sources; what is published is checked by the packaging project, which needs a build.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@parlance\/protocols\/helpers\/(.+)$/, replacement: `${packages}/protocols/helpers/$1.ts` },
      { find: /^@parlance\/([^/]+)\/(.+)$/, replacement: `${packages}/$1/src/$2.ts` },
      { find: /^@parlance\/([^/]+)$/, replacement: `${packages}/$1/src/index.ts` },
    ],
  },
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Many tests wait for timers and other programs: half as many workers again as cores keep the machine at work.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Files of one worker share their modules: most of the time of a small file went into loading them again.
    isolate: false,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          include: [
            "packages/*/test/**/*.test.ts",
            "examples/**/*.test.ts",
            "mutate/test/*.test.ts",
            ...(hasInterop ? ["interop/*.test.ts"] : []),
          ],
          exclude: [...configDefaults.exclude, ...timed],
          setupFiles,
        },
      },
      { extends: true, test: { name: "tests-timed", include: timed, isolate: true, setupFiles } },
      { extends: true, test: { name: "packaging", include: ["packages/*/packaging/*.test.ts"] } },
      { extends: true, test: { name: "site", include: ["docs/.vitepress/*.test.ts"] } },
    ],
  },
});
