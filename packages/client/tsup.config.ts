import { basename, join, relative } from "node:path";
import { defineConfig, type Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

/**
 * The modules that a page always loads together, by file of the build. On its own, esbuild makes a file for each set of dynamic imports
 * that share modules: a page would load ten small files, which gzip packs worse than four.
 */
const files = {
  base: [
    ...["connect", "disconnected", "lazy", "lifetime", "options", "request", "token", "why"],
    ...["@parlance/wire/bind", "@parlance/wire/errors", "@parlance/wire/resume"],
  ],
  conversation: [
    ...["cancel", "read", "rejoin"],
    ...["@parlance/wire/fault", "@parlance/wire/json", "@parlance/wire/message-decoder", "@parlance/wire/notify"],
  ],
};
const source = join(import.meta.dirname, "src");
const fileOf = new Map(Object.entries(files).flatMap(([file, modules]) => modules.map((module) => [module, file])));
const isOurs = (path: string) => path.startsWith("@");
const moduleAt = (path: string) => relative(source, path).replace(/\.[jt]s$/, "");

const joined: Plugin = {
  name: "joined",
  setup({ initialOptions, onResolve, onLoad }) {
    const splits = initialOptions.format === "esm";
    if (splits) {
      const entries = initialOptions.entryPoints as string[];
      initialOptions.entryPoints = [
        ...entries.map((path) => ({ in: path, out: basename(path, ".ts") })),
        ...Object.keys(files).map((file) => ({ in: `joined:${file}`, out: file })),
      ];
    }
    onResolve({ filter: /^joined:/ }, ({ path }) => ({ path: path.slice("joined:".length), namespace: "joined" }));
    onLoad({ filter: /./, namespace: "joined" }, ({ path }) => ({
      contents: files[path as keyof typeof files]
        .map((module) => `export * from "${isOurs(module) ? module : `./${module}.ts`}";`)
        .join("\n"),
      resolveDir: source,
    }));
    onResolve({ filter: /^(\.|@parlance\/wire)/ }, ({ path, kind, importer, namespace, resolveDir }) => {
      if (kind === "entry-point") return undefined;
      const file = fileOf.get(isOurs(path) ? path : moduleAt(join(resolveDir, path)));
      const from = namespace === "joined" ? importer : fileOf.get(moduleAt(importer));
      if (splits && file !== undefined && file !== from) return { path: `./${file}.js`, external: true };
      return isOurs(path) ? { path, external: true } : undefined;
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
  // The plugin decides where these are imported from.
  noExternal: [/^@parlance\/wire/],
  esbuildPlugins: [joined],
});
