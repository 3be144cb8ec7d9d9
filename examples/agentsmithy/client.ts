import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveAgentsmithy } from "./server.js";

/** Prompts, and applies the diffs as they come: in agentsmithy that is the client's part. */
export async function talkAgentsmithy({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const agent = connect(agentsmithy, { baseUrl, ...connection });
  const current_file = { path: "src/cart.ts", language: "typescript", content: await workspace.read("src/cart.ts") };
  for await (const message of agent.chat({
    messages: [{ role: "user", content: prompt }],
    context: { current_file },
  })) {
    switch (message.type) {
      case "classification":
        print.note(`a ${message.task_type}`);
        break;
      case "content":
        print.text(message.content);
        break;
      case "diff":
        await workspace.apply(message.diff);
        print.note(`applied ${message.file} ${message.line_start}-${message.line_end}: ${message.reason}`);
        break;
      case "error":
        throw new Error(message.error);
      case "done":
        print.note("done");
    }
  }
}

await runAlone(import.meta.url, serveAgentsmithy, talkAgentsmithy);
