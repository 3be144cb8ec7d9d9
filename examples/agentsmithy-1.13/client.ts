import { connect } from "@parlance/client";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveAgentsmithy1_13 } from "./server.js";

/** Prompts, reviews the agent's changes, and approves them: here the server changes the files. */
export async function talkAgentsmithy1_13({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const agent = connect(agentsmithy1_13, { baseUrl, ...connection });
  const { id: dialog_id } = await agent.createDialog({ title: "Renaming" });
  const current_file = { path: "src/cart.ts", language: "typescript", content: await workspace.read("src/cart.ts") };
  for await (const message of agent.chat({
    messages: [{ role: "user", content: prompt }],
    context: { current_file },
    dialog_id,
  })) {
    switch (message.type) {
      case "chat":
        print.text(message.content);
        break;
      case "tool_call":
        print.note(`${message.name} ${JSON.stringify(message.args)}`);
        break;
      case "file_edit":
        print.note(`changed ${message.file.slice(workspace.root.length + 1)}`);
        break;
      case "error":
        throw new Error(message.error);
      case "done":
        print.note("done");
    }
  }
  const { changed_files } = await agent.sessionStatus({ dialog_id });
  const { new_session } = await agent.approveSession({ dialog_id });
  print.note(`approved ${changed_files.length} files; ${new_session} begins`);
  const { events } = await agent.history({ dialog_id });
  print.note(`the history has ${events.map(({ type }) => type).join(", ")}`);
}

await runAlone(import.meta.url, serveAgentsmithy1_13, talkAgentsmithy1_13);
