import { agentsmithy, type DiffMessage } from "@parlance/protocols/agentsmithy";
import { type App, serve } from "@parlance/server";
import { type Edit, think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";

/** The agent in agentsmithy's words: everything is said in the answer to one POST. */
export function serveAgentsmithy(workspace: Workspace): App {
  return serve(agentsmithy, {
    async *chat({ messages }) {
      yield { type: "classification", task_type: "refactor" };
      for (const step of think(messages.at(-1)?.content ?? "", await workspace.files())) {
        if (step.does === "say") yield { type: "content", content: step.text };
        if (step.does === "edit") yield diff(step.edit);
      }
      yield { type: "done" };
    },
    async complete({ messages }) {
      const steps = [...think(messages.at(-1)?.content ?? "", await workspace.files())];
      return {
        content: steps.map((step) => (step.does === "say" ? step.text : "")).join(""),
        diffs: steps.flatMap((step) => (step.does === "edit" ? [diff(step.edit)] : [])),
        done: true,
      };
    },
  });
}

function diff(edit: Edit): DiffMessage {
  return {
    type: "diff",
    file: edit.path,
    diff: edit.diff,
    line_start: edit.lines.first,
    line_end: edit.lines.last,
    reason: edit.reason,
  };
}
