// Builds the page as one script and one style sheet: node bundle.mjs [FOLDER]
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** @param {string} [outdir] */
export async function bundlePage(outdir = here("./dist/page")) {
  await build({
    entryPoints: { page: here("./src/page/main.tsx") },
    outdir,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    tsconfig: here("../../tsconfig.json"),
    banner: {
      js: "/*! Preact, copyright 2015-present Jason Miller, MIT licence: https://github.com/preactjs/preact/blob/main/LICENSE */",
    },
    logLevel: "warning",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePage(process.argv[2]);
