import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { AXUM_KEEP_ALIVE, axumEvent } from "./emacs-backend.js";

/** Go's `encoding/json`: `<`, `>`, `&` and the line ends of JavaScript are escaped, and a body ends with a line feed. */
const marshal = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "Content-Type": "application/json" }).end(`${marshal(body)}\n`);
const refuse = (response: ServerResponse, status: number, error: string) => json(response, status, { error });

/** How an event stands on the wire. */
type Frame = (event: string, data: object) => string;
/** As the gateway frames it: no comments, no ids. */
const framed: Frame = (event, data) => `event: ${event}\ndata: ${marshal(data)}\n\n`;
/** As axum frames it, after a keep-alive. */
export const framedByAxum: Frame = (event, data) => AXUM_KEEP_ALIVE + axumEvent(event, data);

/** A stream without a charset. */
function stream(response: ServerResponse, frame = framed): (event: string, data: object) => void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  return (event, data) => response.write(frame(event, data));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, string> | undefined> {
  let text = "";
  for await (const chunk of request) text += chunk;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Routes = Readonly<
  Record<string, (response: ServerResponse, query: URLSearchParams, request: IncomingMessage) => unknown>
>;

/** Serves `METHOD /path` routes; another method of a known path is 405 with an empty body. */
async function serving(routes: Routes): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    const route = routes[`${request.method} ${pathname}`];
    if (route) return route(response, searchParams, request);
    request.resume();
    const known = Object.keys(routes).some((one) => one.endsWith(` ${pathname}`));
    response.writeHead(known ? 405 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const health: Routes = {
  "GET /health": (response) => response.writeHead(200, { "Content-Type": "text/plain" }).end("OK"),
  "GET /health/ready": (response) => response.writeHead(200, { "Content-Type": "text/plain" }).end("ready (1 agents)"),
};

/** The gateway as its document has it. What is sent decides how the stream ends. */
export const documentedGateway = (frame?: Frame): Promise<string> =>
  serving({
    ...health,
    "GET /api/agents": (response) => json(response, 200, [{ id: "1", name: "echo", capabilities: null }]),
    async "POST /api/send"(response, _, request) {
      const body = await bodyOf(request);
      if (!body) return refuse(response, 400, "invalid JSON");
      if (!body.content) return refuse(response, 400, "missing content");
      if (body.agent_id !== undefined && body.agent_id !== "1") return refuse(response, 404, "agent not found");
      const say = stream(response, frame);
      say("thinking", { text: "thinking..." });
      say("text", { text: "1 < 2 & " });
      if (body.content === "vanish") return response.end();
      if (body.content === "fail") {
        say("error", { error: "Agent disconnected during processing" });
        return response.end();
      }
      say("tool_use", { id: "t1", input_json: "", name: "ls" });
      say("tool_result", { id: "t1", is_error: false, output: "a\u2028b" });
      say("text", { text: "é😀" });
      say("done", { full_response: body.content === "empty" ? "" : "1 < 2 & é😀" });
      response.end();
    },
  });

/** The gateway of today: it stores its messages, asks for approvals, and binds channels to agents. */
export function gatewayOfToday(token?: string): Promise<string> {
  const decisions = new Map<string, (approved: unknown) => void>();
  const bound = new Map<string, string>();
  const key = (source: URLSearchParams | Record<string, string>) => {
    const { frontend, channel_id } = source instanceof URLSearchParams ? Object.fromEntries(source) : source;
    return frontend && channel_id ? `${frontend} ${channel_id}` : undefined;
  };
  const usage = { input_tokens: 12, output_tokens: 3, cache_read_tokens: 0, cache_write_tokens: 0, thinking_tokens: 0 };

  async function converse(response: ServerResponse, content: string, thread_id: string): Promise<unknown> {
    const say = stream(response);
    say("started", { thread_id });
    say("session_init", { session_id: "b1" });
    say("text", { text: "<b>" });
    if (content === "cancel") say("canceled", { reason: "by the user" });
    if (content === "cancel" || content === "vanish") return response.end();
    say("tool_approval", { id: "t1", input_json: "{}", name: "rm", request_id: "r1" });
    const approved = await new Promise((resolve) => decisions.set("t1", resolve));
    say("tool_state", { detail: "", id: "t1", state: approved ? "running" : "denied" });
    say("error", { error: "malformed tool_use event" });
    say("thinking", { text: "" });
    say("unknown", { text: "" });
    say("usage", usage);
    say("text", { text: "bold" });
    say("done", { full_response: "" });
    return response.end();
  }

  const totals = { total_input: 12, total_output: 3, total_cache_read: 0, total_cache_write: 0, total_thinking: 0 };
  const routes: Routes = {
    "GET /api/agents": (response, query) =>
      json(
        response,
        200,
        query.get("workspace") === "none"
          ? []
          : [{ id: "1", instance_id: "i1", name: "echo", capabilities: null, working_dir: "/p" }],
      ),
    async "POST /api/send"(response, _, request) {
      const body = await bodyOf(request);
      if (!body) return refuse(response, 400, "invalid JSON body");
      if (!body.content) return refuse(response, 400, "content is required");
      if (!body.sender) return refuse(response, 400, "sender is required");
      const channel = key(body);
      if (!body.agent_id && !channel) return refuse(response, 400, "must specify agent_id or frontend+channel_id");
      if (!body.agent_id && !bound.has(channel!)) return refuse(response, 400, "channel not bound to agent");
      if (body.agent_id && body.agent_id !== "1") return refuse(response, 503, "agent unavailable");
      return converse(response, body.content, body.thread_id ?? "th1");
    },
    async "POST /api/agents/1/send"(response, _, request) {
      return converse(response, (await bodyOf(request))!.message!, "th2");
    },
    async "POST /api/tools/approve"(response, _, request) {
      const { tool_id, approved } = (await bodyOf(request))!;
      decisions.get(tool_id!)?.(approved);
      json(response, 200, { approved, success: true });
    },
    async "POST /api/bindings"(response, _, request) {
      const body = (await bodyOf(request))!;
      if (body.instance_id !== "i1")
        return refuse(response, 404, `no agent online with instance_id '${body.instance_id}'`);
      const again = bound.has(key(body)!);
      bound.set(key(body)!, "1");
      return json(response, again ? 200 : 201, {
        binding_id: "b1",
        agent_name: "echo",
        working_dir: "/p",
        rebound_from: null,
      });
    },
    "GET /api/bindings"(response, query) {
      if (key(query) === undefined) return json(response, 200, { bindings: [] });
      if (!bound.has(key(query)!)) return refuse(response, 404, "no binding for this channel");
      return json(response, 200, { binding_id: "b1", agent_name: "echo", working_dir: "/p", online: true });
    },
    "DELETE /api/bindings": (response, query) =>
      bound.delete(key(query)!) ? response.writeHead(204).end() : refuse(response, 404, "binding not found"),
    "GET /api/stats/usage": (response) => json(response, 200, { ...totals, total_tokens: 15, request_count: 1 }),
  };
  const guarded = Object.entries(routes).map(([name, route]): [string, Routes[string]] => [
    name,
    (response, query, request) =>
      token === undefined || request.headers.authorization === `Bearer ${token}`
        ? route(response, query, request)
        : refuse(response, 401, "missing authorization header"),
  ]);
  return serving({ ...health, ...Object.fromEntries(guarded) });
}
