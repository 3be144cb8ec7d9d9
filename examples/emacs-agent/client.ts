import { connect } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveEmacsAgent } from "./server.js";

/** Prompts in one request, listens in another, and approves the agent's write tools in a third. */
export async function talkEmacsAgent({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const agent = connect(emacsAgent, { baseUrl, ...connection });
  const project_path = workspace.root;
  const { session_id } = await agent.createSession({
    project_path,
    config: { auto_approve_readonly: true, save_transcript: true },
  });
  const events = agent.events({ session_id });
  await events.opened;
  await agent.prompt({ session_id, text: prompt, context: { current_file: "src/cart.ts" } });
  let working = false;
  let failure: string | undefined;
  for await (const message of events) {
    switch (message.type) {
      case "agent.state":
        // The stream begins with idle; idle after work ends the turn.
        if (message.state === "error" || (working && message.state === "idle")) await agent.endSession({ session_id });
        working = message.state !== "idle";
        break;
      case "message.delta":
        print.text(message.content);
        break;
      case "tool.call":
        // A tool call is shown before its approval; here the user always approves.
        print.note(`${message.tool} ${JSON.stringify(message.params)}`);
        if (message.requires_approval) await agent.approve({ session_id, tool_call_id: message.tool_call_id });
        break;
      case "tool.result":
        print.note(`${message.status}: ${(message.result ?? message.message ?? "").split("\n").join(", ")}`);
        break;
      case "file.changed":
        print.note(`changed ${message.path}`);
        break;
      case "error":
        // The stream goes on: the agent's state follows.
        failure = message.message;
    }
  }
  if (failure !== undefined) throw new Error(failure);
  const { transcripts } = await agent.listTranscripts({ project: project_path });
  if (!transcripts.some((one) => one.session_id === session_id)) throw new Error("the transcript was not kept");
  const { tool_calls } = await agent.getTranscript({ session_id });
  print.note(`ended after ${tool_calls.length} tool calls`);
}

await runAlone(import.meta.url, serveEmacsAgent, talkEmacsAgent);
