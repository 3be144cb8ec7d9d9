import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { readDiffMessage } from "@parlance/protocols/helpers/agentsmithy-diff";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveAgentsmithy } from "./server.js";

/** Prompts, and applies the diffs as they come, which is the client's part in agentsmithy. A diff that does not apply is shown. */
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
      case "diff": {
        const read = readDiffMessage(message);
        const applied = read.ok ? await workspace.apply(message.file, read.patch, read.at) : read;
        const { file, line_start, line_end, reason } = message;
        if (applied.ok) print.note(`applied ${file} ${line_start}-${line_end}: ${reason}`);
        else print.note(`refused a diff: ${applied.reason}`);
        break;
      }
      case "error":
        throw new Error(message.error);
      case "done":
        print.note("done");
    }
  }
}

await runAlone(import.meta.url, serveAgentsmithy, talkAgentsmithy);
