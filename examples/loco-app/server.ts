import { createHash, randomUUID } from "node:crypto";
import { type LoCoAppHandlers, locoApp } from "@parlance/protocols/loco-app";
import { type App, bearer, Refusal, serve } from "@parlance/server";
import { think } from "../demo/agent.js";
import { refusing } from "../demo/refusing.js";
import type { Workspace } from "../demo/workspace.js";

/** The token that this example asks for; a real server makes one for each user. */
export const TOKEN = "demo-token";

/** The agent as LoCo's extension expects it: deltas, approvals by `request_id`, and patches without an answer. */
export function serveLocoApp(workspace: Workspace): App {
  const created_at = new Date().toISOString();
  const registered = { id: randomUUID(), path: workspace.root, name: "demo", created_at, index_status: "complete" };
  const model = { model_provider: "none", model_name: "rename-agent" };
  const session = { id: randomUUID(), workspace_id: registered.id, ...model, created_at, status: "active" };

  const handlers: LoCoAppHandlers = {
    ...refusing<LoCoAppHandlers>(locoApp),
    health: () => ({ status: "healthy", version: "0.1.0", protocol_version: "1.0.0" }),
    registerWorkspace: () => registered,
    async *streamIndex({ workspace_id }) {
      if (workspace_id !== registered.id) throw new Refusal("Workspace not found", { status: 404 });
      // The files are read anew at each prompt: there is nothing to index.
      yield { type: "index.complete", workspace_id, index_progress: 1 };
    },
    createSession({ workspace_id }) {
      if (workspace_id !== registered.id) throw new Refusal("Workspace not found", { status: 404 });
      return session;
    },
    async stream(_, channel) {
      channel.send({ type: "server.hello", protocol_version: "1.0.0", server_info: { version: "0.1.0" } });
      for await (const message of channel) {
        if (message.type !== "client.user_message") continue;
        channel.send({ type: "assistant.thinking", phase: "reasoning", message: "Thinking... (step 1)" });
        let text = "";
        for (const step of think(message.message, await workspace.files())) {
          if (step.does === "say") {
            text += step.text;
            channel.send({ type: "assistant.message_delta", delta: step.text });
          }
          if (step.does !== "edit") continue;
          const { path: file_path, before, diff, reason } = step.edit;
          const args = { tool: "propose_patch", arguments: { file_path } };
          channel.send({ type: "assistant.tool_use", ...args });
          const asked = { request_id: randomUUID(), ...args, message: `Change ${file_path}?` };
          const { approved } = await channel.ask({ type: "tool.request_approval", ...asked });
          channel.send({ type: "assistant.tool_result", tool: args.tool, result: { success: approved } });
          if (!approved) continue;
          const base_hash = createHash("sha256").update(before).digest("hex");
          channel.send({ type: "patch.proposed", id: randomUUID(), file_path, diff, base_hash, rationale: reason });
        }
        channel.send({ type: "assistant.message_final", message: text, metadata: { iterations: 1, success: true } });
      }
    },
  };
  return serve(locoApp, handlers, { authenticate: bearer({ [TOKEN]: "demo" }) });
}
