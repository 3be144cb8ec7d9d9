import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/*.ts", "!src/*.accepts.ts", "!src/*.examples.ts", "!src/*.validators.ts", "helpers/*.ts"],
  format: ["esm", "cjs"],
  dts: true,
  clean: true,
  target: "es2022",
  splitting: true,
  minifyWhitespace: true,
  onSuccess: "node schemas.mjs",
});
