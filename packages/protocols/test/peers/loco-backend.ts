import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";

export const diff = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-one\n+two\n";

/** Python's `json.dumps` with its defaults: a space after each colon and comma outside of strings, and ASCII only. */
const dumps = (value: unknown): string =>
  JSON.stringify(value, null, 1)
    .replace(/\n */g, " ")
    .replace(/([[{]) | ([\]}])/g, "$1$2")
    .replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

const workspace = {
  id: "w1",
  path: "/p",
  name: "p",
  created_at: "2026-01-10T09:00:00+00:00",
  last_indexed_at: null,
  index_status: "pending",
  index_progress: 0,
  total_files: 0,
  indexed_files: 0,
  total_chunks: 0,
};
const session = {
  id: "s1",
  workspace_id: "w1",
  folder_id: null,
  agent_id: null,
  title: null,
  model_provider: "ollama",
  model_name: "m",
  model_url: "http://localhost:11434",
  context_window: 8192,
  temperature: 0.7,
  created_at: "2026-01-10T09:00:01+00:00",
  status: "active",
};
const model = { provider: "ollama", model_name: "m", url: "http://localhost:11434" };
const answers: Readonly<Record<string, unknown>> = {
  "GET /v1/health": { status: "healthy", version: "0.1.0", protocol_version: "1.0.0" },
  "GET /v1/workspaces": [workspace],
  "POST /v1/workspaces/register": workspace,
  "POST /v1/sessions": session,
  "GET /v1/sessions": [session],
  "GET /v1/sessions/s1/messages": [
    { role: "user", content: "go", created_at: "2026-01-10T09:00:02+00:00", metadata: null },
  ],
  "PATCH /v1/sessions/s1": { ...session, title: "t" },
  "GET /v1/models": { models: [{ id: "m", provider: "ollama", url: model.url, display_name: null }] },
  "GET /v1/models/status": { is_loaded: false, current_model: null },
  "POST /v1/workspaces/w1/watch/start": { success: true, running: true },
  "GET /v1/workspaces/w1/watch/status": { running: true, module_id: "vscode" },
};

/** LoCo's backend as it frames and orders what it sends, with a token at the socket where it is given one. */
export async function locoBackend(token?: string): Promise<string> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const { pathname } = new URL(request.url!, "http://localhost");
    if (request.method === "GET" && pathname === "/v1/workspaces/w1/index/stream") return index(response);
    const answer = answers[`${request.method} ${pathname}`];
    const missing = pathname.startsWith("/v1/workspaces/") ? "Workspace not found" : "Not Found";
    response
      .writeHead(answer ? 200 : 404, { "content-type": "application/json" })
      .end(JSON.stringify(answer ?? { detail: missing }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    const given = request.headers.authorization?.replace("Bearer ", "") ?? searchParams.get("token");
    if (token !== undefined && given !== token)
      return void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (opened) => converse(opened, pathname.split("/")[3]!));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function index(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const at = (index_status: string, index_progress: number) => {
    const counts = { total_files: 2, indexed_files: 2 * index_progress, total_chunks: 9, last_indexed_at: null };
    response.write(`data: ${dumps({ workspace_id: "w1", index_status, index_progress, ...counts })}\n\n`);
  };
  at("indexing", 0.5);
  at("complete", 1);
  response.end();
}

/** One socket: it greets at once, ignores what it does not know, and a cancel drops it with no close frame. */
function converse(socket: WebSocket, session_id: string): void {
  const say = (message: object) => socket.send(JSON.stringify(message));
  const waiting = new Map<string, (approved: boolean) => void>();
  const ask = (type: string, request_id: string, tool: string, args: object, message: string | null) => {
    const answered = new Promise<boolean>((resolve) => waiting.set(request_id, resolve));
    say({ type, request_id, tool, arguments: args, message });
    return answered;
  };
  say({
    type: "server.hello",
    protocol_version: "1.0.0",
    server_info: {
      version: "0.1.0",
      model: { provider: "ollama", model_name: "m", capabilities: ["chat"] },
      capabilities: ["agentic_rag", "ace", "multi_file_edit"],
    },
  });

  async function turn(): Promise<void> {
    if (session_id !== "s1")
      return say({ type: "server.error", error: { code: "session_not_found", message: "Session not found" } });
    say({ type: "assistant.thinking", phase: "reasoning", message: "Thinking... (step 1)" });
    for (const delta of ["On", "e é😀"]) say({ type: "assistant.message_delta", delta });
    say({ type: "assistant.tool_use", tool: "run_command", arguments: { command: "make" } });
    const ran = ask("command.request_approval", "c1", "run_command", { command: "make" }, "Run command: make");
    const wrote = ask("tool.request_approval", "t1", "http_get", { url: "http://x" }, null);
    say({ type: "assistant.tool_result", tool: "run_command", result: { success: await ran } });
    say({ type: "assistant.tool_result", tool: "http_get", result: { success: await wrote } });
    say({ type: "agent.plan", steps: ["Read", "Fix"], rationale: null });
    say({ type: "patch.proposed", id: "p1", file_path: "a.ts", diff, base_hash: null, rationale: null });
    say({ type: "error", error: "No model loaded. Please load a model first." });
    say({
      type: "assistant.message_final",
      message: "Fixed.",
      metadata: { iterations: 1, success: true, test_attempts: 0 },
    });
  }

  socket.on("message", (data) => {
    let message: { type: string; request_id: string; approved: unknown };
    try {
      message = JSON.parse(String(data));
    } catch {
      return socket.close(1011, "Internal server error");
    }
    if (message.type === "client.ping") say({ type: "server.pong", timestamp: "2026-01-10T09:00:03+00:00" });
    if (message.type === "client.user_message") void turn();
    if (message.type === "client.approval_response") waiting.get(message.request_id)?.(Boolean(message.approved));
    if (message.type === "client.cancel") socket.terminate();
  });
}
