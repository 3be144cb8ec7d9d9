import { agentsmithy, type ChatInput, type ContentMessage, type DiffMessage } from "@parlance/protocols/agentsmithy";
import { hasEditIntent } from "@parlance/protocols/helpers/agentsmithy";
import { type App, serve } from "@parlance/server";
import { type Edit, type Think, think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";

/** The agent in agentsmithy's protocol: everything is sent in the answer to one POST. */
export function serveAgentsmithy(workspace: Workspace, thinking: Think = think): App {
  return serve(agentsmithy, {
    async *chat(input) {
      if (hasEditIntent(input)) yield { type: "classification", task_type: "refactor" };
      yield* answer(input, workspace, thinking);
      yield { type: "done" };
    },
    async complete(input) {
      let content = "";
      const diffs: DiffMessage[] = [];
      for await (const message of answer(input, workspace, thinking))
        if (message.type === "content") content += message.content;
        else diffs.push(message);
      return { content, diffs, done: true };
    },
  });
}

/** The text of an answer, with the diffs where the user asks for an edit of code that the request shows. */
async function* answer(
  input: Pick<ChatInput, "messages" | "context">,
  workspace: Workspace,
  thinking: Think,
): AsyncGenerator<ContentMessage | DiffMessage> {
  const edits = hasEditIntent(input);
  for (const step of thinking(input.messages.at(-1)!.content, await workspace.files())) {
    if (step.does === "say") yield { type: "content", content: step.text };
    if (step.does === "edit" && edits) yield diff(step.edit);
  }
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
