import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, pack, root, run } from "./pack.js";
import { serveTarballs } from "./registry.js";

const YARN = "1.22.22";
/** 2.1 MB with eight protocols. ACP, with its 168 types, AG-UI, the AI SDK's stream and joining cut streams are the rest. */
const MAX_BYTES = 2_550_000;
const MAX_PACKAGES = 8;

let folder: string;
let registry: Awaited<ReturnType<typeof serveTarballs>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parlance-installs-"));
  registry = await serveTarballs(await pack(folder));
  await mkdir(join(folder, "yarn"));
  await writeFile(join(folder, "yarn/package.json"), '{ "private": true }');
  await install(join(folder, "yarn"), `yarn@${YARN}`);
}, 240_000);

afterAll(async () => {
  registry.close();
  await rm(folder, { recursive: true, force: true });
});

const asked = ["@parlance/client", "@parlance/protocols"];
const managers: Readonly<Record<string, (cwd: string) => Promise<unknown>>> = {
  npm: (cwd) => install(cwd, ...asked),
  pnpm: (cwd) => run(join(root, "node_modules/.bin/pnpm"), ["add", "--ignore-workspace", ...asked], { cwd }),
  yarn: (cwd) => {
    const words = ["add", ...asked, "--non-interactive", "--cache-folder", join(folder, "yarn-cache")];
    return run(process.execPath, [join(folder, "yarn/node_modules/yarn/bin/yarn.js"), ...words], { cwd });
  },
};

/** The folders of what is installed: links, and what npm and pnpm note for themselves, are not counted. */
function installed(path: string): string[] {
  const entries = existsSync(path) ? readdirSync(path, { withFileTypes: true }).filter((one) => one.isDirectory()) : [];
  return entries.flatMap(({ name }) => {
    const at = join(path, name);
    if (name === ".pnpm") return readdirSync(at).flatMap((one) => installed(join(at, one, "node_modules")));
    if (name.startsWith(".")) return [];
    return name.startsWith("@") ? installed(at) : [at, ...installed(join(at, "node_modules"))];
  });
}

const bytesOf = (path: string): number =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

const program = `
  const gateway = connect(foldGateway, { fetch: async () => Response.json([{ id: "1", name: "echo", capabilities: [] }]) });
  gateway.listAgents().then(([agent]) => console.log(agent.name));`;

describe.each(Object.keys(managers))("the packed client and protocols, installed by %s", (manager) => {
  let cwd: string;
  beforeAll(async () => {
    cwd = join(folder, `by-${manager}`);
    await mkdir(cwd);
    await writeFile(join(cwd, "package.json"), '{ "name": "user", "private": true, "license": "MIT" }');
    await writeFile(join(cwd, ".npmrc"), `@parlance:registry=${registry.url}\n`);
    await managers[manager]!(cwd);
  }, 120_000);

  test(`are at most ${MAX_PACKAGES} packages and ${MAX_BYTES / 1e6} MB`, () => {
    const folders = installed(join(cwd, "node_modules"));
    const names = folders.map((path) => JSON.parse(readFileSync(join(path, "package.json"), "utf8")).name).sort();
    const bytes = folders.map(bytesOf);
    expect(names).toEqual(expect.arrayContaining(asked));
    expect(names.length, names.join(", ")).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(MAX_BYTES);
  });

  test.each([
    ["imported", "talk.mjs", (name: string, from: string) => `import { ${name} } from "${from}";`],
    ["required", "talk.cjs", (name: string, from: string) => `const { ${name} } = require("${from}");`],
  ])("are %s and call an operation", async (_, file, load) => {
    const lines = [load("connect", "@parlance/client"), load("foldGateway", "@parlance/protocols/fold-gateway")];
    await writeFile(join(cwd, file), [...lines, program].join("\n"));
    expect((await run(process.execPath, [file], { cwd })).stdout).toBe("echo\n");
  });
});
