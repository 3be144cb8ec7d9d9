import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAllFences } from "../test/fences.js";
import { install, pack, root, run } from "./pack.js";

const VERSIONS = {
  next: "16.4.6",
  react: "19.3.1",
  "react-dom": "19.3.1",
  // Next installs these by itself where they are missing, in whatever version is the newest.
  typescript: "5.9.3",
  "@types/node": "20.19.43",
  "@types/react": "19.3.0",
};

/** The agent behind the documented route. One of its operations returns a log of its handlers. */
const agent = `
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";

let aborted = 0;
let goOn = () => {};
const rest = new Promise<void>((resolve) => {
  goOn = resolve;
});
export const app = serve(foldGateway, {
  health: () => "OK",
  ready: () => {
    goOn();
    return "OK";
  },
  listAgents: () => [{ id: String(aborted), name: "aborted", capabilities: [] }],
  async *send({ content }, { signal }) {
    yield { type: "text", text: content };
    if (content === "rest") await rest;
    if (content === "hold") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted++;
      return;
    }
    yield { type: "done", full_response: content };
  },
});
`;

let folder: string;
let next: ChildProcess | undefined;
let baseUrl: string;
let printed = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parlance-next-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const packed = (await pack(folder)).filter((path) => /-(contract|wire|protocols|server)-\d/.test(path));
  await install(folder, ...packed, ...Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`));
  await writeFile(join(folder, "agent.ts"), agent);
  const route = await documentedRoute();
  await mkdir(join(folder, dirname(route.file)), { recursive: true });
  await writeFile(join(folder, route.file), route.text);
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const };
  const command = join(folder, "node_modules/.bin/next");
  await run(command, ["build"], { cwd: folder, env });
  baseUrl = `http://127.0.0.1:${await freePort()}/agent`;
  next = spawn(command, ["start", "--hostname", "127.0.0.1", "--port", new URL(baseUrl).port], { cwd: folder, env });
  next.stderr!.on("data", (chunk) => {
    printed += chunk;
  });
  for await (const line of createInterface(next.stdout!)) if (line.includes("Ready")) break;
}, 240_000);

afterAll(async () => {
  if (next !== undefined && next.exitCode === null) {
    const gone = once(next, "exit");
    // On a polite signal Next waits for its open connections, which these tests leave.
    next.kill("SIGKILL");
    await gone;
  }
  await rm(folder, { recursive: true, force: true });
});

async function documentedRoute() {
  const page = await readFile(join(root, "docs/frameworks.md"), "utf8");
  const [fence] = readAllFences(page).filter(({ heading, language }) => /Next\.js/.test(heading) && language === "ts");
  const [first, ...lines] = fence!.text.split("\n");
  return { file: first!.replace("// ", ""), text: fence!.text, lines: lines.filter((line) => line !== "") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What held in the tests below. */
const held = new Set<string>();

describe("In an app of Next.js, built from the packed packages with the documented route,", () => {
  test("the route has at most five lines", async () => {
    expect((await documentedRoute()).lines.length).toBeLessThanOrEqual(5);
  });

  test("operations are answered, and what the contract lacks is not found", async () => {
    expect(await connect(foldGateway, { baseUrl }).listAgents()).toMatchObject([{ name: "aborted" }]);
    expect((await fetch(`${baseUrl}/nothing`)).status).toBe(404);
    expect((await fetch(new URL("/nothing", baseUrl))).status).toBe(404);
    held.add("operations");
  });

  test("a stream's message arrives before the next one is there", async () => {
    const gateway = connect(foldGateway, { baseUrl });
    const read: unknown[] = [];
    for await (const message of gateway.send({ content: "rest" })) {
      read.push(message.type);
      if (message.type === "text") await gateway.ready();
    }
    expect(read).toEqual(["text", "done"]);
    held.add("SSE");
  });

  test("a cancel reaches the handler", async () => {
    const gateway = connect(foldGateway, { baseUrl });
    for await (const message of gateway.send({ content: "hold" })) if (message.type === "text") break;
    await expect.poll(async () => (await gateway.listAgents())[0]!.id, { timeout: 10_000 }).toBe("1");
  });

  test("a stream that is cut goes on", async () => {
    let cuts = 0;
    const cutting: typeof fetch = async (...request) => {
      const answer = await fetch(...request);
      if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream") || cuts++ > 0) return answer;
      const reader = answer.body!.getReader();
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue((await reader.read()).value!.subarray(0, 12));
          await reader.cancel();
          controller.error(new TypeError("terminated"));
        },
      });
      return new Response(body, answer);
    };
    expect(await connect(foldGateway, { baseUrl, fetch: cutting }).send({ content: "cut" }).text()).toBe("cut");
    expect(cuts).toBeGreaterThan(1);
    held.add("resume");
  });

  test("a route gets no WebSocket, and the client's error says so", async () => {
    const opening = Promise.resolve(connect(based, { baseUrl, webSocket, resume: false }).session());
    const outcome = await opening.then(
      () => held.add("WebSocket"),
      (error: Error) => error,
    );
    expect(outcome).toMatchObject({ name: "Disconnected" });
  });

  test("docs/frameworks.md has the row of what these tests found", async () => {
    const kinds = ["operations", "SSE", "WebSocket", "resume"].map((kind) => (held.has(kind) ? "yes" : "no"));
    const row = ["A route handler of Next.js", ...kinds, `next ${VERSIONS.next}`];
    expect(await readFile(join(root, "docs/frameworks.md"), "utf8")).toContain(`\n| ${row.join(" | ")} |\n`);
    expect(printed).toBe("");
  });
});
