import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, sep } from "node:path";
import { build, type PluginBuild } from "esbuild";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { below, filesIn, root, sources } from "./house.js";

/** Entry points that run anywhere: in a browser, a worker, Node. */
const anywhere = [
  "language/src/schema.ts",
  "language/src/compat.ts",
  ...["index", "link", "scope", "bytes", "bind", "errors", "fault", "header", "json", "message", "resume", "sse"].map(
    (entry) => `wire/src/${entry}.ts`,
  ),
  ...["index", "testing"].map((entry) => `client/src/${entry}.ts`),
  "server/src/index.ts",
  "server/src/testing.ts",
  "server/src/resume.ts",
  "server/src/cluster.ts",
  "store-redis/src/index.ts",
  "react/src/index.ts",
  "conformance/src/index.ts",
  "recordings/src/index.ts",
  "edits/src/index.ts",
  "edits/src/editor.ts",
  ...filesIn("packages/protocols/src")
    .filter((file) => !/\.(accepts|examples|validators)\.ts$/.test(file))
    .map((file) => file.replace("packages/", "")),
  ...filesIn("packages/protocols/helpers").map((file) => file.replace("packages/", "")),
];

function importsOf(file: string): string[] {
  return ts.preProcessFile(readFileSync(join(root, file), "utf8"), true).importedFiles.map(({ fileName }) => fileName);
}

test("the diagram names every package", () => {
  const folders = readdirSync(join(root, "packages")).filter((name) =>
    existsSync(join(root, "packages", name, "package.json")),
  );
  expect(folders.sort()).toEqual(Object.keys(below).sort());
});

describe.each(Object.keys(below))("%s", (name) => {
  test("imports only what is below it", () => {
    const upwards = sources(name).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith("@parlance/"))
        .filter((specifier) => ![name, ...below[name]!].includes(specifier.split("/")[1]!))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(upwards).toEqual([]);
  });

  test("reaches no other package's files by a path", () => {
    const home = `packages/${name}/`;
    const strays = sources(name).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => join(file, "..", specifier).split(sep).join("/"))
        .filter((target) => !target.startsWith(home) && !/^schemas\/(contract|dialect)\.schema\.json$/.test(target))
        .map((target) => `${file} imports ${target}`),
    );
    expect(strays).toEqual([]);
  });

  test("has a tsconfig.json that includes all its code, so that `tsc -p` checks it", () => {
    const { include } = JSON.parse(readFileSync(join(root, `packages/${name}/tsconfig.json`), "utf8"));
    const folders = ["src", "helpers", "test", "bench", "packaging"];
    expect(include).toEqual(folders.filter((folder) => existsSync(join(root, `packages/${name}/${folder}`))));
  });

  test("has a README whose programs are tested", () => {
    expect(existsSync(join(root, `packages/${name}/README.md`))).toBe(true);
    expect(readFileSync(join(root, `packages/${name}/test/scenarios/readme.test.ts`), "utf8")).toMatch(
      /testFences|compiles/,
    );
  });
});

test("serve and what it is made of import nothing of the cluster, which is given to it", () => {
  const strays = filesIn("packages/server/src").filter(
    (file) =>
      !/\/cluster(\.ts|\/)/.test(file) && importsOf(file).some((specifier) => /\/cluster(\.js|\/)/.test(specifier)),
  );
  expect(strays).toEqual([]);
});

test("a protocol itself imports types alone; its helpers may need more", () => {
  const strays = filesIn("packages/protocols/src").filter((file) =>
    /^(import|export) (?!type )[^;]*"@parlance\//m.test(readFileSync(join(root, file), "utf8")),
  );
  expect(strays).toEqual([]);
});

/** What a program installs to run a protocol. */
const atRunTime = ["wire", "client", "server", "protocols", "edits", "store-redis"];

test("what runs a protocol installs ws, and nothing else of others", () => {
  const needed = atRunTime.flatMap((name) => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), "utf8"));
    return Object.keys(dependencies).filter((one) => !atRunTime.some((ours) => one === `@parlance/${ours}`));
  });
  expect([...new Set(needed)]).toEqual(["ws"]);
});

test.each(anywhere)("%s reaches no module of Node", async (entry) => {
  const builtins = builtinModules.flatMap((name) => [name, `node:${name}`]);
  const { metafile } = await build({
    absWorkingDir: root,
    tsconfig: join(root, "tsconfig.json"),
    entryPoints: [`packages/${entry}`],
    bundle: true,
    format: "esm",
    metafile: true,
    write: false,
    external: builtins,
    logLevel: "silent",
  });
  const reached = Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
    imports.filter(({ path, external }) => external && builtins.includes(path)).map(({ path }) => `${file}: ${path}`),
  );
  expect(reached).toEqual([]);
});

test.each(["index", "editor"])(
  "a bundle that uses nothing of edits/src/%s.ts contains no function of it",
  async (entry) => {
    // A published entry is one file, so a call that runs when it is loaded would keep what it reaches in every bundle.
    const { outputFiles } = await build({
      absWorkingDir: root,
      stdin: { contents: `import "./packages/edits/src/${entry}.ts"`, resolveDir: root },
      bundle: true,
      format: "esm",
      minify: true,
      write: false,
      logLevel: "silent",
      plugins: [{ name: "effects", setup: keepEffects }],
    });
    expect(outputFiles[0]!.text).not.toMatch(/function|class|=>|\{/);
  },
);

/** Bundles every module for its effects, whatever its package.json promises. */
function keepEffects({ onResolve, resolve }: PluginBuild): void {
  onResolve({ filter: /^\./ }, async ({ path, pluginData, ...from }) =>
    pluginData === "resolved"
      ? undefined
      : { path: (await resolve(path, { ...from, pluginData: "resolved" })).path, sideEffects: true },
  );
}

test("no test file replaces a module, because the files of a worker share those that are loaded", () => {
  const files = Object.keys(below).flatMap((name) => filesIn(`packages/${name}/test`));
  const replacing = files.filter(
    (file) => /\.test\.ts$/.test(file) && /\bvi\.mock\(/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(replacing).toEqual([]);
});

test.each(Object.keys(below))("%s has no import circle, types included", (name) => {
  const files = sources(name);
  const known = new Set(files);
  const targets = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => join(file, "..", specifier).split(sep).join("/").replace(/\.js$/, ""))
        .flatMap((target) => [`${target}.ts`, `${target}.tsx`].filter((one) => known.has(one))),
    ]),
  );
  expect(circles(targets)).toEqual([]);
});

/** Each circle once, as the path that closes it. */
function circles(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  function visit(file: string, path: readonly string[]): void {
    if (path.includes(file)) return void found.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  }
  for (const file of targets.keys()) visit(file, []);
  return found;
}

test("a circle is found where there is one", () => {
  const targets = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["a"]],
    ["d", []],
  ]);
  expect(circles(targets)).toEqual(["a -> b -> c -> a"]);
});

test("no file or folder is a drawer", () => {
  const drawers = /(^|\/)(utils?|shared|common|helpers|core|misc)(\.ts|\/)/;
  const files = Object.keys(below).flatMap((name) => filesIn(`packages/${name}/src`));
  expect([...files, ...filesIn("examples")].filter((file) => drawers.test(file))).toEqual([]);
});

// `vitest run packages/cli/test/house.test.ts -u` rewrites the list; a change of it is a change of what users may import.
test("every entry point exports what exports.txt lists", async () => {
  const entries = Object.keys(below).flatMap((name) => entryPoints(name));
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  // Names need no library.
  const program = ts.createProgram(
    entries.map(({ file }) => join(root, file)),
    { ...options, noLib: true, types: [] },
  );
  const checker = program.getTypeChecker();
  const lines = entries.map(({ specifier, file }) => {
    const symbol = checker.getSymbolAtLocation(program.getSourceFile(join(root, file))!)!;
    const names = checker.getExportsOfModule(symbol).map((found) => {
      const target = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
      return target.flags & ts.SymbolFlags.Value ? found.name : `type ${found.name}`;
    });
    return [specifier, ...names.sort().map((name) => `  ${name}`)].join("\n");
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./exports.txt");
}, 60_000);

/** A package's entry points of code, with the source file behind each. `./*` of protocols stands for every file. */
function entryPoints(name: string): { specifier: string; file: string }[] {
  const { exports = {} } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), "utf8"));
  return Object.keys(exports).flatMap((entry) => {
    if (typeof exports[entry] === "string") return [];
    const specifier = `@parlance/${name}${entry.slice(1)}`;
    if (!entry.includes("*")) {
      const file = entry === "." ? "index" : entry.slice(2);
      return [{ specifier, file: `packages/${name}/src/${file}.ts` }];
    }
    const folder = { "./*": "src", "./internal/*": "src/internal" }[entry] ?? "helpers";
    return filesIn(`packages/${name}/${folder}`)
      .filter((file) => !/\.(accepts|examples|validators)\.ts$/.test(file))
      .map((file) => ({ specifier: specifier.replace("*", file.replace(/^.*\/|\.ts$/g, "")), file }));
  });
}

test.each(Object.keys(below))("the README of %s installs everything that its programs import", (name) => {
  const readme = readFileSync(join(root, `packages/${name}/README.md`), "utf8");
  const installed = [...readme.matchAll(/^npm install (.*)$/gm)].flatMap(([, names]) => names!.split(" "));
  const imported = [...readme.matchAll(/^```ts.*\n([\s\S]*?)^```$/gm)].flatMap(([, code]) =>
    ts
      .preProcessFile(code!, true)
      .importedFiles.map(({ fileName }) => /^(?:@[^/]+\/)?[^/]+/.exec(fileName)![0])
      .filter((file) => !/^(?:\.|node:)/.test(file)),
  );
  // An editor gives its extensions this one.
  expect(imported.filter((one) => one !== "vscode" && !installed.includes(one))).toEqual([]);
});

test("the server hands `within` a promise that exists already, so that its rejection is handled in each case", () => {
  const hidden = sources("server").filter((file) =>
    /\bwithin\([^()]*\(\) => \w+[,)]/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(hidden).toEqual([]);
});
