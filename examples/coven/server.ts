import { randomUUID } from "node:crypto";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { type App, Refusal, serve } from "@parlance/server";
import { think } from "../demo/agent.js";
import { refusing } from "../demo/refusing.js";
import type { Workspace } from "../demo/workspace.js";

/** The agent behind today's gateway: it edits the files itself, and asks before it writes each of them. */
export function serveCoven(workspace: Workspace): App {
  const agent = { id: "1", instance_id: "demo", name: "rename-agent", capabilities: ["chat", "code"] };

  return serve(coven, {
    ...refusing<CovenHandlers>(coven),
    health: () => "OK",
    ready: () => "ready (1 agents)",
    listAgents: () => [{ ...agent, working_dir: workspace.root }],
    async *send({ content, agent_id, thread_id = randomUUID() }, call): AsyncGenerator<SendMessage> {
      if (agent_id === undefined) throw new Refusal("must specify agent_id or frontend+channel_id", { status: 400 });
      if (agent_id !== agent.id) throw new Refusal("agent unavailable", { status: 503 });
      yield { type: "started", thread_id };
      let full_response = "";
      for (const step of think(content, await workspace.files())) {
        if (step.does === "say") {
          full_response += step.text;
          yield { type: "text", text: step.text };
        }
        if (step.does !== "edit") continue;
        const { path, after } = step.edit;
        const id = randomUUID();
        const tool = { id, name: "write_file", input_json: JSON.stringify({ path }) };
        yield { type: "tool_use", ...tool };
        const { approved } = await call.ask({ type: "tool_approval", ...tool, request_id: thread_id });
        yield { type: "tool_state", id, state: approved ? "running" : "denied", detail: "" };
        if (approved) await workspace.write(path, after);
        yield { type: "tool_result", id, output: approved ? `wrote ${path}` : "denied", is_error: !approved };
      }
      yield { type: "done", full_response };
    },
    approveTool({ agent_id, approved }) {
      if (agent_id !== agent.id) throw new Refusal("agent not found", { status: 404 });
      return { success: true, approved };
    },
  });
}
