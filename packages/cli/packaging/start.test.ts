import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveModel } from "./model.js";
import { pack, root } from "./pack.js";
import { follow } from "./page.js";
import { serveTarballs } from "./registry.js";

let folder: string;
let registry: Awaited<ReturnType<typeof serveTarballs>>;
let model: Awaited<ReturnType<typeof serveModel>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parlance-start-"));
  registry = await serveTarballs(await pack(folder));
  model = await serveModel();
}, 240_000);

afterAll(async () => {
  registry.close();
  model.close();
  await rm(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test.each([
  ["editor-plugin", "cat greet.py"],
  ["agent-backend", "node --import tsx --test agent.test.ts"],
  ["whole-agent", "cat greet.py"],
  ["model-agent", "node --import tsx --test agent.test.ts"],
  ["protocol-team", "npx parlance docs --out docs"],
])(
  "a new user follows docs/start/%s.md word for word, from the packed packages, to its end",
  async (page, last) => {
    const cwd = join(folder, page);
    await mkdir(cwd);
    // All that differs from a user's machine: where the packages come from, the model, and the port, because many tests share this one.
    await writeFile(join(cwd, ".npmrc"), `@parlance:registry=${registry.url}\naudit=false\nfund=false\n`);
    const port = String(await freePort());
    const done = await follow(join(root, "docs/start", `${page}.md`), cwd, (text) =>
      text.replaceAll(/\b(8080|8765)\b/g, port).replaceAll("http://localhost:11434", model.url),
    );
    expect(done).toContain(last);
  },
  300_000,
);
