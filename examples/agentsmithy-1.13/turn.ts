import { createPatch, formatPatch } from "@parlance/edits";
import type { ChatInput, ChatMessage } from "@parlance/protocols/agentsmithy-1.13";
import { Refusal } from "@parlance/server";
import { type Step, think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";
import type { Dialogs } from "./dialogs.js";

/** One turn of a dialog: the stream's messages, kept for its history. The agent changes the files itself. */
export async function* turn(
  { messages, dialog_id }: Pick<ChatInput, "messages" | "dialog_id">,
  dialogs: Dialogs,
  workspace: Workspace,
): AsyncGenerator<ChatMessage> {
  const prompt = messages.findLast(({ role }) => role === "user")?.content;
  if (!prompt) throw new Refusal("No user message found", { status: 400 });
  const dialog = await dialogs.meant(dialog_id);
  const { snapshots, events } = dialog;
  const of = { dialog_id: dialog.about.id };

  const checkpoint = await snapshots.take(`Before user message: ${prompt}`);
  const user = { type: "user", content: prompt, checkpoint, session: snapshots.session } as const;
  events.push(user);
  yield { ...user, ...of };

  let text = "";
  for (const step of think(prompt, await workspace.files())) {
    if (step.does === "say") {
      if (text === "") yield { type: "chat_start", ...of };
      text += step.text;
      yield { type: "chat", content: step.text, ...of };
      continue;
    }
    if (text !== "") {
      yield { type: "chat_end", ...of };
      events.push({ type: "chat", content: text });
      text = "";
    }
    const called = toolOf(step);
    const id = `call_${dialog.results.length + 1}`;
    events.push({ type: "tool_call", id, ...called });
    yield { type: "tool_call", ...called, ...of };
    const result = await run(step, workspace);
    dialog.results.push({
      tool_call_id: id,
      tool_name: called.name,
      args: called.args,
      result,
      timestamp: new Date().toISOString(),
    });
    if (step.does !== "edit" || result.ok !== true) continue;
    const edit = {
      type: "file_edit",
      file: `${workspace.root}/${step.edit.path}`,
      diff: asDifflib(step.edit.before, step.edit.after, step.edit.path, workspace.root),
      checkpoint,
    } as const;
    events.push(edit);
    yield { ...edit, ...of };
  }
  if (text !== "") {
    events.push({ type: "chat", content: text });
    yield { type: "chat_end", ...of };
  }
  yield { type: "done", done: true, ...of };
}

type ToolStep = Exclude<Step, { readonly does: "say" }>;

function toolOf(step: ToolStep): { name: string; args: Record<string, unknown> } {
  if (step.does === "search") return { name: "search_files", args: { query: step.query } };
  if (step.does === "edit") return { name: "replace_in_file", args: { path: step.edit.path } };
  return { name: "run_command", args: { command: step.command } };
}

async function run(step: ToolStep, workspace: Workspace): Promise<Record<string, unknown>> {
  if (step.does === "search") return { found: step.found };
  // The protocol has no approval of commands, so this agent runs none.
  if (step.does === "run") return { ok: false, reason: "commands are not run" };
  const { path, before, after } = step.edit;
  return { ...(await workspace.apply(path, createPatch(before, after, { path }))) };
}

/** The diff as AgentSmithy's server writes it: absolute paths, and an empty line after every line of a hunk. */
function asDifflib(before: string, after: string, path: string, root: string): string {
  const [from, to, ...lines] = formatPatch(createPatch(before, after, { path: `${root}/${path}` }))
    .trimEnd()
    .split("\n");
  const spread = lines.flatMap((line) => (line.startsWith("@@") ? [line] : [line, ""]));
  return [from, to, ...spread].join("\n");
}
