import { join, relative } from "node:path";
import { defineConfig, type Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];

/**
 * The modules that a page always loads together, by file of the ESM build. On its own, esbuild makes a file for each set of dynamic imports
 * that share modules, and so does the bundler of a page with the modules of wire: ten small files, which gzip packs worse than four.
 */
const files: Readonly<Record<string, readonly string[]>> = {
  base: [
    ...["./client", "./lazy", "./lifetime", "./options", "./request", "./token", "./failures"],
    ...[
      "@parlance/wire/bind",
      "@parlance/wire/errors",
      "@parlance/wire/internal/http",
      "@parlance/wire/reading",
      "@parlance/wire/resume-key",
    ],
  ],
  conversation: ["./read", ...["@parlance/wire/json", "@parlance/wire/message-decoder", "@parlance/wire/notify"]],
  // Some entries contain these, others load them.
  operation: ["./operation"],
  "open-stream": ["./stream/open-stream"],
  channel: ["./channel/channel"],
};
/** Entries with the exports and the types of `index`. CommonJS has one file for the three. */
const forPages = { streams: "src/streams.ts", channels: "src/channels.ts" };
const source = join(import.meta.dirname, "src");
const fileOf = new Map(Object.entries(files).flatMap(([file, modules]) => modules.map((module) => [module, file])));
const moduleAt = (path: string) => `./${relative(source, path)}`.replace(/\.[jt]s$/, "");

const joined: Plugin = {
  name: "joined",
  setup({ initialOptions, onResolve, onLoad }) {
    // CommonJS is not for pages.
    if (initialOptions.format !== "esm")
      return onResolve({ filter: /^@parlance\/wire/ }, ({ path }) => ({ path, external: true }));
    const joins = Object.keys(files).map((file) => [file, `joined:${file}`] as const);
    initialOptions.entryPoints = {
      ...(initialOptions.entryPoints as Record<string, string>),
      ...forPages,
      ...Object.fromEntries(joins),
    };
    onResolve({ filter: /^joined:/ }, ({ path }) => ({ path: path.slice("joined:".length), namespace: "joined" }));
    onLoad({ filter: /./, namespace: "joined" }, ({ path }) => ({
      contents: files[path]!.map((module) => `export * from "${module}${module.startsWith(".") ? ".ts" : ""}";`).join(
        "\n",
      ),
      resolveDir: source,
    }));
    onResolve({ filter: /^(\.|@parlance\/wire)/ }, ({ path, importer, namespace, resolveDir, kind }) => {
      if (kind === "entry-point") return undefined;
      const isOurs = path.startsWith(".");
      const module = isOurs ? moduleAt(join(resolveDir, path)) : path;
      const file = fileOf.get(module);
      const isInside = namespace === "joined" || file === fileOf.get(moduleAt(importer));
      if (file !== undefined && !isInside) return { path: `./${file}.js`, external: true };
      return isOurs
        ? { path: join(source, `${module}.ts`), sideEffects: false }
        : { path, external: true, sideEffects: false };
    });
  },
};

export default defineConfig({
  entry: { index: "src/index.ts", node: "src/node.ts", testing: "src/testing.ts" },
  format: ["esm", "cjs"],
  dts: true,
  clean: true,
  target: "es2022",
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  // Resolved by the plugin.
  noExternal: [/^@parlance\/wire/],
  esbuildPlugins: [joined],
});
