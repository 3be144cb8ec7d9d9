/**
 * Loads TypeScript as plain JavaScript: `node --import ./bench/loader.js FILE.ts`. What runs TypeScript as it is names every function when it
 * is made, which falls on the figures.
 */
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transform } from "esbuild";

// The hooks below run in a thread of their own, which loads this module too.
if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  const isOurs = /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.endsWith(".ts");
  return next(isOurs ? specifier.replace(/js$/, "ts") : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const { code } = await transform(await readFile(fileURLToPath(url), "utf8"), { loader: "ts", format: "esm" });
  return { format: "module", source: code, shortCircuit: true };
}
