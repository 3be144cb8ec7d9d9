/**
 * JSON operations beside bare `node:http`, Fastify and Hono, which check the same input and answer the same: `tsx
 * interop/bench/operations.ts`. Each server has a process of its own; the figure is its processor time for a request, as a ratio.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { serve as serveHono } from "@hono/node-server";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { Ajv } from "ajv";
import fastify from "fastify";
import { Hono } from "hono";
import { interleave, median, quick } from "../../packages/server/bench/measure.js";
import { row } from "../../packages/server/bench/row.js";

const REQUESTS = quick ? 4_000 : 16_000;
const ROUNDS = quick ? 5 : 11;
const CONNECTIONS = 32;
const SIDES = ["bare", "parlance", "fastify", "hono"] as const;
type Side = (typeof SIDES)[number];

const ID = "550e8400-e29b-41d4-a716-446655440000";
const SESSION = {
  session_id: ID,
  status: "active",
  project_path: "/path/to/project",
  model: "claude-sonnet-4.5",
  message_count: 15,
  started_at: "2025-11-14T10:30:00Z",
} as const;
const ACCEPTED = { status: "accepted", agent_state: "thinking" } as const;
const TRANSCRIPTS = {
  transcripts: Array.from({ length: 8 }, (_, i) => ({
    session_id: `${ID}-${i}`,
    project_path: "/path/to/project",
    started_at: "2025-11-14T10:30:00Z",
    message_count: 15,
    files_changed: ["src/auth.rs", "src/main.rs"],
  })),
};
const PROMPT = JSON.stringify({
  text: "Implement user authentication",
  context: { current_file: "src/main.rs", cursor_position: { line: 45, column: 12 } },
});
const BODY = {
  type: "object",
  required: ["text"],
  properties: {
    text: { type: "string", minLength: 1 },
    context: {
      type: "object",
      properties: {
        current_file: { type: "string" },
        cursor_position: {
          type: "object",
          required: ["line", "column"],
          properties: { line: { type: "integer" }, column: { type: "integer" } },
        },
      },
    },
  },
} as const;

/** What browsers and SDKs send at least. */
const HEADERS = "Host: localhost\r\nAccept: application/json\r\nUser-Agent: bench\r\nConnection: keep-alive\r\n";
const REQUESTED = {
  "GET of a list": `GET /api/transcripts HTTP/1.1\r\n${HEADERS}\r\n`,
  "GET by a key": `GET /api/sessions/${ID} HTTP/1.1\r\n${HEADERS}\r\n`,
  "POST of a body": `POST /api/sessions/${ID}/prompt HTTP/1.1\r\n${HEADERS}Content-Type: application/json\r\nContent-Length: ${PROMPT.length}\r\n\r\n${PROMPT}`,
};

const servers: Record<Side, () => Promise<number>> = {
  async bare() {
    const answer = (response: ServerResponse, value: unknown): void => {
      const text = JSON.stringify(value);
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
      response.end(text);
    };
    const server = createServer((request: IncomingMessage, response) => {
      const { pathname } = new URL(request.url!, "http://localhost");
      if (request.method === "GET") return answer(response, pathname === "/api/transcripts" ? TRANSCRIPTS : SESSION);
      let text = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => {
        text += chunk;
      });
      request.on("end", () => {
        JSON.parse(text);
        answer(response, ACCEPTED);
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  },
  async parlance() {
    const handlers: Partial<EmacsAgentHandlers> = {
      listTranscripts: () => TRANSCRIPTS,
      getSession: () => SESSION,
      prompt: () => ACCEPTED,
    };
    return (await listen(serve(emacsAgent, handlers, { partial: true }), { port: 0 })).port;
  },
  async fastify() {
    const app = fastify();
    const strings = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const item = {
      type: "object",
      properties: {
        ...strings(["session_id", "project_path", "started_at"]),
        message_count: { type: "integer" },
        files_changed: { type: "array", items: { type: "string" } },
      },
    };
    const list = { type: "object", properties: { transcripts: { type: "array", items: item } } };
    const session = {
      type: "object",
      properties: {
        ...strings(["session_id", "status", "project_path", "model", "started_at"]),
        message_count: { type: "integer" },
      },
    };
    const accepted = { type: "object", properties: strings(["status", "agent_state"]) };
    const params = { type: "object", properties: { id: { type: "string", minLength: 1 } } };
    app.get("/api/transcripts", { schema: { response: { 200: list } } }, async () => TRANSCRIPTS);
    app.get("/api/sessions/:id", { schema: { params, response: { 200: session } } }, async () => SESSION);
    app.post(
      "/api/sessions/:id/prompt",
      { schema: { params, body: BODY, response: { 200: accepted } } },
      async () => ACCEPTED,
    );
    await app.listen({ port: 0, host: "127.0.0.1" });
    return (app.server.address() as AddressInfo).port;
  },
  async hono() {
    const check = new Ajv().compile(BODY);
    const app = new Hono();
    app.get("/api/transcripts", (context) => context.json(TRANSCRIPTS));
    app.get("/api/sessions/:id", (context) => context.json(SESSION));
    app.post("/api/sessions/:id/prompt", async (context) => {
      if (!check(await context.req.json())) return context.json({ error: "bad" }, 400);
      return context.json(ACCEPTED);
    });
    return new Promise((resolve) => {
      serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
    });
  },
};

if (process.argv[2] === "server") await beServer(process.argv[3] as Side);
else await measure();

async function beServer(side: Side): Promise<void> {
  process.on("disconnect", () => process.exit());
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!(user + system);
  });
  process.send!(await servers[side]());
}

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
}

async function measure(): Promise<void> {
  console.log(`JSON operations, ${CONNECTIONS} connections: requests by processor time, as a share of bare node:http`);
  const running = {} as Record<Side, Server>;
  for (const side of SIDES) {
    const child = fork(fileURLToPath(import.meta.url), ["server", side]);
    const [port] = await once(child, "message");
    running[side] = { child, port };
  }
  for (const [name, request] of Object.entries(REQUESTED)) {
    const figures = await interleave(SIDES, ROUNDS, (side) => round(running[side], request));
    const bare = median(figures.bare);
    for (const side of SIDES.slice(1)) {
      const value = bare / median(figures[side]);
      row({
        topic: "JSON operations beside node:http",
        name: `${name}, ${side}`,
        value,
        ...(side === "parlance" && { aim: 0.6 }),
      });
    }
    const value = median(figures.fastify) / median(figures.parlance);
    row({ topic: "JSON operations beside Fastify", name, value, aim: 0.9 });
    const ratios = SIDES.slice(1).map((side) => `${side} ${(bare / median(figures[side])).toFixed(2)}`);
    console.log(`  ${name}: ${ratios.join("   ")}   (bare ${bare.toFixed(1)} µs)`);
  }
  for (const { child } of Object.values(running)) child.disconnect();
}

/** Microseconds of the server's processor time for a request. */
async function round({ child, port }: Server, request: string): Promise<number> {
  const cpu = async (): Promise<number> => {
    child.send("cpu");
    return (await once(child, "message"))[0];
  };
  const before = await cpu();
  await Promise.all(Array.from({ length: CONNECTIONS }, () => converse(port, request, REQUESTS / CONNECTIONS)));
  return ((await cpu()) - before) / REQUESTS;
}

/** Sends a request again and again over one connection. All answers to it have the same length, which the first one tells. */
function converse(port: number, request: string, times: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let head = "";
    let length = 0;
    let bytes = 0;
    let answers = 0;
    socket.on("connect", () => socket.write(request));
    socket.on("error", reject);
    socket.on("close", () => (answers === times ? resolve() : reject(new Error(`closed after ${answers} answers`))));
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (length === 0) {
        head += chunk.toString("latin1");
        if (!isWhole(head)) return;
        if (!head.startsWith("HTTP/1.1 200 ")) return reject(new Error(head));
        length = bytes;
      }
      if (bytes < length) return;
      if (bytes > length) return reject(new Error(`an answer has ${bytes} bytes, the first had ${length}`));
      bytes = 0;
      if (++answers < times) socket.write(request);
      else socket.end();
    });
  });
}

function isWhole(answer: string): boolean {
  const at = answer.indexOf("\r\n\r\n");
  if (at < 0) return false;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? [];
  return length === undefined ? answer.endsWith("\r\n0\r\n\r\n") : answer.length === at + 4 + Number(length);
}
