import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Python's `json.dumps(ensure_ascii=False)`: a space after each colon and comma that stands outside of strings. */
const dumps = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(dumps).join(", ")}]`
    : typeof value === "object" && value !== null
      ? `{${Object.entries(value)
          .map(([key, inner]) => `${JSON.stringify(key)}: ${dumps(inner)}`)
          .join(", ")}}`
      : JSON.stringify(value);

export const before = "def calc(x, y):\n    return x + y\n\n\nprint(calc(1, 2))\n";
export const after = "def add(x, y):\n    return x + y\n\n\nprint(add(1, 2))\n";
/** `difflib.unified_diff` over lines that keep their ends, joined with a line feed more. */
const diff = [
  "--- a//home/me/utils.py",
  "+++ b//home/me/utils.py",
  "@@ -1,5 +1,5 @@",
  "-def calc(x, y):\n",
  "+def add(x, y):\n",
  "     return x + y\n",
  " \n",
  " \n",
  "-print(calc(1, 2))\n",
  "+print(add(1, 2))\n",
].join("\n");

/** AgentSmithy's server as it frames and orders what it sends. A prompt of `fail` fails, one of `vanish` is cut. */
export async function agentSmithysServer(): Promise<string> {
  const answer = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(dumps(body));
  const server = createServer(async (request: IncomingMessage, response) => {
    const target = new URL(request.url!, "http://localhost");
    if (request.method === "GET" && target.pathname === "/health")
      return answer(response, 200, {
        status: "ok",
        service: "agentsmithy-server",
        server_status: "ready",
        port: 8765,
        pid: 1,
        server_error: null,
      });
    if (request.method === "GET" && target.pathname === "/api/dialogs/current") return answer(response, 200, {});
    if (target.pathname === "/api/chat" && request.method !== "POST")
      return answer(response, 405, { detail: "Method Not Allowed" });
    if (target.pathname !== "/api/chat") return answer(response, 404, { detail: "Not Found" });
    let text = "";
    for await (const chunk of request) text += chunk;
    const { messages, context, stream = true } = JSON.parse(text);
    if (context === null)
      return answer(response, 422, {
        detail: [
          { type: "dict_type", loc: ["body", "context"], msg: "Input should be a valid dictionary", input: null },
        ],
      });
    const asked = messages.findLast(({ role }: { role: string }) => role === "user")?.content;
    if (!asked) return answer(response, 400, { detail: "No user message found" });
    if (!stream) return answer(response, 200, { content: "Renamed.", done: true, metadata: { model: "m" } });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    const say = (event: object) => response.write(`data: ${dumps({ dialog_id: "01JD", ...event })}\r\n\r\n`);
    say({ type: "user", content: asked, checkpoint: "c", session: "session_1" });
    response.write(": ping - 2025-12-01 10:30:00.000000+00:00\r\n\r\n");
    if (asked === "vanish") return response.destroy();
    if (asked === "fail") say({ type: "error", error: "model overloaded" });
    else {
      say({ type: "reasoning_start" });
      say({ type: "reasoning", content: "one\u2028two" });
      say({ type: "reasoning_end" });
      say({ type: "file_edit", file: "/home/me/utils.py", diff });
      say({ type: "chat_start" });
      say({ type: "chat", content: "Renamed." });
      say({ type: "chat_end" });
    }
    say({ type: "done", done: true });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
