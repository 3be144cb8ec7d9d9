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
  /** The agent and the last prompt of each conversation: a real gateway also forgets them after a while. */
  const threads = new Map<string, { agent: string; prompt: string }>();
  return serve(foldGateway, {
    health: () => "OK",
    ready: () => `ready (${agents.length} agents)`,
    listAgents: () => agents,
    async *send({ content, agent_id, thread_id }) {
      const thread = thread_id === undefined ? undefined : threads.get(thread_id);
      // A conversation stays with its agent, which has its messages.
      const wanted = agent_id ?? thread?.agent;
      const agent = wanted === undefined ? next(agents) : agents.find(({ id }) => id === wanted);
      if (!agent) throw new Refusal(`agent ${wanted} not found`, { status: 404 });
      const prompt = thread && /^\s*again\b/i.test(content) ? thread.prompt : content;
      if (thread_id !== undefined) threads.set(thread_id, { agent: agent.id, prompt });
      yield { type: "thinking", text: `${agent.name} is thinking...` };
      let full_response = "";
      for (const step of think(prompt, await workspace.files())) {
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
        // This agent only answers: a command is for the user to run.
        if (step.does === "run") continue;
        const text = step.does === "say" ? step.text : `\n\`\`\`diff\n${step.edit.diff}\`\`\`\n`;
        full_response += text;
        yield { type: "text", text };
      }
      yield { type: "done", full_response };
    },
  });
}
