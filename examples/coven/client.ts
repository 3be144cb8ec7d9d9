import { connect } from "@parlance/client";
import { coven } from "@parlance/protocols/coven";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveCoven } from "./server.js";

/** Finds an agent, prompts it, and approves its writes. */
export async function talkCoven({ baseUrl, connection, prompt, print }: Story): Promise<void> {
  const gateway = connect(coven, { baseUrl, ...connection });
  print.note(`${await gateway.health()}, ${await gateway.ready()}`);
  const [agent] = await gateway.listAgents();
  if (!agent) throw new Error("no agent is connected");
  const agent_id = agent.id;
  for await (const message of gateway.send({ content: prompt, sender: "demo", agent_id })) {
    switch (message.type) {
      case "text":
        print.text(message.text);
        break;
      case "tool_approval":
        print.note(`approved ${message.name} ${message.input_json}`);
        await gateway.approveTool({ agent_id, tool_id: message.id, approved: true });
        break;
      case "tool_result":
        if (message.is_error) throw new Error(message.output);
        break;
      case "error":
        throw new Error(message.error);
    }
  }
}

await runAlone(import.meta.url, serveCoven, talkCoven);
