import { defineConfig, mergeConfig } from "vitest/config";
import root from "../../../../vitest.config.js";

// Runs the planted leaks alone: they are no test of the suite.
const { resolve } = root;
export default mergeConfig(
  { resolve },
  defineConfig({
    test: {
      include: ["packages/server/test/at-rest/leaks.ts"],
      setupFiles: ["packages/server/test/at-rest/setup.ts"],
      env: { PARLANCE_PATIENCE: "20" },
    },
  }),
);
