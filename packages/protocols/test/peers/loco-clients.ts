import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

/** What LoCo's extension has shown. */
export interface Shown {
  readonly text: string;
  readonly questions: readonly string[];
  readonly patches: readonly string[];
  readonly final: string;
  readonly types: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: the extension takes what comes
type Message = Record<string, any>;

/** LoCo's extension: it registers, opens a session, prompts, answers each approval by its `request_id`, and applies nothing. */
export async function locoExtension(url: string, token: string, prompt: string): Promise<Shown> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  const registration = { path: "/p", name: "p", module_id: "vscode", auto_index: false, auto_watch: false };
  const { id: workspace_id } = await post("/v1/workspaces/register", { ...registration, use_polling: false });
  const { id } = await post("/v1/sessions", { workspace_id });
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/sessions/${id}/stream`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  socket.on("open", () => {
    const capabilities = ["diff_preview", "terminal_exec", "git_integration"];
    const client_info = { name: "vscode-extension", version: "0.1.0", capabilities };
    socket.send(JSON.stringify({ type: "client.hello", protocol_version: "1.0.0", client_info }));
    const context = { command: "fix", diagnostics: [], mentions: [{ type: "unknown", name: "x" }] };
    socket.send(JSON.stringify({ type: "client.user_message", message: prompt, context }));
  });
  return shown(socket);
}

/** LoCo's browser UI: a socket that carries no header but its origin, with the token in the query, and no hello. */
export function locoBrowser(url: string, token: string, prompt: string): Promise<Shown> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/sessions/s1/stream?token=${token}`, {
    origin: "http://localhost:5173",
  });
  socket.on("open", () => socket.send(JSON.stringify({ type: "client.user_message", message: prompt })));
  return shown(socket);
}

/** What is shown of a turn. Rejects where the socket is refused, or closes before the turn is over. */
function shown(socket: WebSocket): Promise<Shown> {
  onTestFinished(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (_, response) => reject(new Error(`refused with ${response.statusCode}`)));
    socket.on("error", reject);
    socket.on("close", (code) => reject(new Error(`closed with ${code}`)));
    let text = "";
    const questions: string[] = [];
    const patches: string[] = [];
    const types: string[] = [];
    socket.on("message", (data) => {
      const message: Message = JSON.parse(String(data));
      types.push(message.type);
      if (message.type === "assistant.message_delta") text += message.delta;
      if (message.type === "patch.proposed") patches.push(message.id || message.patch_id);
      if (/^(tool|command)\.request_approval$/.test(message.type)) {
        if (!message.request_id) return;
        const what = `Approve ${message.tool || message.tool_name} with ${JSON.stringify(message.arguments || message.args)}`;
        questions.push(message.message || what);
        const { request_id } = message;
        socket.send(JSON.stringify({ type: "client.approval_response", request_id, approved: true }));
      }
      if (message.type !== "assistant.message_final") return;
      resolve({ text, questions, patches, final: message.message, types });
      socket.close();
    });
  });
}
