import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const packages = fileURLToPath(new URL("./packages", import.meta.url));

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
    // Many tests wait for timers and other programs: half as many workers again as cores keep the machine at work.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Files of one worker share their modules: most of the time of a small file went into loading them again.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts", "mutate/test/*.test.ts"],
          setupFiles: ["packages/server/test/at-rest/setup.ts"],
        },
      },
      { extends: true, test: { name: "packaging", include: ["packages/*/packaging/*.test.ts"] } },
      { extends: true, test: { name: "site", include: ["docs/.vitepress/*.test.ts"] } },
    ],
  },
});
