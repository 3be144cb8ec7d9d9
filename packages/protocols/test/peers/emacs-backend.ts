import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** One event as axum frames it: no space after a colon. */
export const axumEvent = (name: string, data: object): string => `event:${name}\ndata:${JSON.stringify(data)}\n\n`;
/** Axum's keep-alive: a comment without a text. */
export const AXUM_KEEP_ALIVE = ":\n\n";

export interface EmacsBackend {
  readonly url: string;
  /** Cuts the open event streams. */
  readonly cut: () => void;
  /** The requests so far, as `METHOD /path`. */
  readonly asked: readonly string[];
}

/** Emacs-Agent's backend, on axum: its framing, and the words of its other texts beside the document's. */
export async function emacsBackend(): Promise<EmacsBackend> {
  const streams = new Set<ServerResponse>();
  const asked: string[] = [];
  const say = (name: string, body: object) => {
    for (const stream of streams) stream.write(axumEvent(name, { type: name, ...body }));
  };
  const json = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  const refuse = (response: ServerResponse, status: number, code: string, message: string) =>
    json(response, status, { error: { code, message, details: {} } });

  function turn(): void {
    say("agent.state", { state: "thinking" });
    say("message.delta", { content: "é😀", role: "agent" });
    say("tool.progress", { tool_call_id: "tc1", percent: 50 });
    say("lsp.diagnostics", { path: "a.rs", diagnostics: [{ line: 1, col: 0 }] });
    say("tool.call", { tool_call_id: "tc1", tool: "write_file", params: { path: "a.rs" }, requiresApproval: true });
    say("agent.state", { state: "waiting_approval" });
  }

  const routes: Record<string, (response: ServerResponse, body: Record<string, string>) => unknown> = {
    "POST /api/sessions": (response) =>
      json(response, 201, { session_id: "s1", status: "active", created_at: "2025-11-14T10:30:00Z" }),
    "POST /api/sessions/s1/prompt"(response) {
      json(response, 200, { status: "accepted", session_state: "thinking" });
      turn();
    },
    "POST /api/sessions/s1/approve"(response, { tool_call_id }) {
      if (tool_call_id !== "tc1")
        return refuse(response, 404, "INVALID_TOOL_CALL", `Tool call ${tool_call_id} is not waiting for approval`);
      json(response, 200, { status: "approved", tool_call_id });
      say("tool.result", { tool_call_id, status: "success", result: "File written" });
      say("agent.state", { state: "idle" });
    },
    "DELETE /api/sessions/s1"(response) {
      json(response, 200, { status: "closed" });
      for (const stream of streams) stream.end();
    },
    "GET /api/sessions/s1/events"(response) {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.write(AXUM_KEEP_ALIVE);
      streams.add(response);
      response.on("close", () => streams.delete(response));
      say("agent.state", { state: "idle" });
    },
  };
  const server = createServer(async (request: IncomingMessage, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const name = `${request.method} ${request.url}`;
    asked.push(name);
    const route = routes[name];
    if (route) return route(response, text ? JSON.parse(text) : {});
    refuse(response, 404, "SESSION_NOT_FOUND", "Session not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const cut = () => {
    for (const stream of streams) stream.destroy();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, asked };
}
