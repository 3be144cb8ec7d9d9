import { dirname, join } from "node:path";
import { build } from "esbuild";
import { defineConfig, type Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

const source = join(import.meta.dirname, "src");
const isModule = (path: string) => /^(\.|@parlance\/wire)/.test(path);
/** A module of this package by its file, one of wire by its name. */
const moduleOf = (path: string, from: string) =>
  path.startsWith(".") ? join(dirname(from), path).replace(/\.js$/, ".ts") : path;

/** Lists what a page loads with `connect`, before it calls anything. */
async function listFirst(): Promise<ReadonlySet<string>> {
  const first = new Set([join(source, "connect.ts")]);
  const list: Plugin = {
    name: "list",
    setup: ({ onResolve }) =>
      onResolve({ filter: /./ }, ({ path, importer, kind }) => {
        if (kind === "entry-point") return undefined;
        if (kind !== "dynamic-import") first.add(moduleOf(path, importer));
        return path.startsWith(".") && kind !== "dynamic-import" ? undefined : { path, external: true };
      }),
  };
  await build({ entryPoints: [...first], bundle: true, write: false, plugins: [list] });
  return first;
}

/**
 * Makes one file of what `connect` loads first, from which all others import. On its own, esbuild makes a file for each set of dynamic imports that
 * share modules, and so does the bundler of a page: ten small files, which gzip packs worse.
 */
const together: Plugin = {
  name: "together",
  async setup({ initialOptions, onResolve, onLoad }) {
    // CommonJS is not for pages.
    if (initialOptions.format !== "esm") return;
    const first = await listFirst();
    initialOptions.entryPoints = { ...(initialOptions.entryPoints as Record<string, string>), base: "base" };
    onResolve({ filter: /^base$/ }, () => ({ path: "base", namespace: "base" }));
    onLoad({ filter: /./, namespace: "base" }, () => ({
      contents: [...first].map((module) => `export * from ${JSON.stringify(module)};`).join("\n"),
      resolveDir: source,
    }));
    onResolve({ filter: /^[.@]/ }, ({ path, importer, namespace, kind }) => {
      if (!isModule(path) || kind === "entry-point") return undefined;
      const module = moduleOf(path, importer);
      if (namespace !== "base" && first.has(module) && !first.has(importer))
        return { path: "./base.js", external: true };
      return module.startsWith(source)
        ? { path: module, sideEffects: false }
        : { path, external: true, sideEffects: false };
    });
  },
};

export default defineConfig({
  entry: {
    index: "src/index.ts",
    node: "src/node.ts",
    testing: "src/testing.ts",
    // Shared with node, so that esbuild puts them into a file beside base.js.
    "internal/program": "src/internal/program.ts",
    "internal/socket": "src/internal/socket.ts",
  },
  format: ["esm", "cjs"],
  dts: true,
  clean: true,
  target: "es2022",
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  esbuildPlugins: [together],
});
