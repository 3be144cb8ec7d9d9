import { basename, join, relative } from "node:path";
import { defineConfig, type Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

const modulesOf = (names: readonly string[]) => names.map((name) => `client/src/${name}`);

/**
 * The modules that a page always loads together, by file of the ESM build. On its own, esbuild makes a file for each set of dynamic imports
 * that share modules: a page would load ten small files, which gzip packs worse than five.
 */
const files = {
  base: modulesOf(["connect", "disconnected", "lazy", "lifetime", "options", "request", "token", "why"]),
  conversation: modulesOf(["cancel", "read", "rejoin"]),
};
const packages = join(import.meta.dirname, "..");
const fileOf = new Map(Object.entries(files).flatMap(([file, modules]) => modules.map((module) => [module, file])));
const moduleAt = (path: string) => relative(packages, path).replace(/\.[jt]s$/, "");
const pathOf = (module: string) => join(packages, `${module}.ts`);

const joined: Plugin = {
  name: "joined",
  setup({ initialOptions, onResolve, onLoad }) {
    // CommonJS is not for pages.
    if (initialOptions.format !== "esm") return;
    const entries = initialOptions.entryPoints as string[];
    initialOptions.entryPoints = [
      ...entries.map((path) => ({ in: path, out: basename(path, ".ts") })),
      ...Object.keys(files).map((file) => ({ in: `joined:${file}`, out: file })),
    ];
    onResolve({ filter: /^joined:/ }, ({ path }) => ({ path: path.slice("joined:".length), namespace: "joined" }));
    onLoad({ filter: /./, namespace: "joined" }, ({ path }) => ({
      contents: files[path as keyof typeof files]
        .map((module) => `export * from ${JSON.stringify(pathOf(module))};`)
        .join("\n"),
      resolveDir: packages,
    }));
    onResolve({ filter: /^(\.|\/)/ }, ({ path, kind, importer, namespace, resolveDir }) => {
      if (kind === "entry-point") return undefined;
      if (namespace === "joined") return { path, sideEffects: false };
      const module = moduleAt(join(resolveDir, path));
      const file = fileOf.get(module);
      if (file !== undefined && file !== fileOf.get(moduleAt(importer)))
        return { path: `./${file}.js`, external: true };
      return { path: pathOf(module), sideEffects: false };
    });
  },
};

export default defineConfig({
  entry: ["src/index.ts", "src/node.ts", "src/testing.ts"],
  format: ["esm", "cjs"],
  dts: true,
  clean: true,
  target: "es2022",
  minifyWhitespace: true,
  sourcemap: true,
  esbuildPlugins: [joined],
});
