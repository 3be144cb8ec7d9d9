import { foldGateway } from "@parlance/protocols/fold-gateway";
import { roundRobin } from "@parlance/protocols/helpers/fold-gateway";
import { type App, Refusal, serve } from "@parlance/server";
import { think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";

/** The agent behind a gateway: edits have no message of their own, so they are fenced in the text. */
export function serveFoldGateway(workspace: Workspace): App {
  const agents = [
    { id: "1", name: "rename-agent", capabilities: ["chat", "code"] },
    { id: "2", name: "rename-agent-2", capabilities: ["chat", "code"] },
  ];
  const next = roundRobin<(typeof agents)[number]>();
  return serve(foldGateway, {
    health: () => "OK",
    ready: () => `ready (${agents.length} agents)`,
    listAgents: () => agents,
    async *send({ content, agent_id }) {
      const agent = agent_id === undefined ? next(agents) : agents.find(({ id }) => id === agent_id);
      if (!agent) throw new Refusal(`agent ${agent_id} not found`, { status: 404 });
      yield { type: "thinking", text: "thinking..." };
      let full_response = "";
      for (const step of think(content, await workspace.files())) {
        if (step.does === "search") {
          yield {
            type: "tool_use",
            id: "tool_1",
            name: "search_files",
            input_json: JSON.stringify({ query: step.query }),
          };
          yield { type: "tool_result", id: "tool_1", output: step.found.join("\n"), is_error: false };
          continue;
        }
        const text = step.does === "say" ? step.text : `\n\`\`\`diff\n${step.edit.diff}\`\`\`\n`;
        full_response += text;
        yield { type: "text", text };
      }
      yield { type: "done", full_response };
    },
  });
}
