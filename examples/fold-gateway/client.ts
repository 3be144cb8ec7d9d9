import { connect } from "@parlance/client";
import { parsePatch } from "@parlance/edits";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveFoldGateway } from "./server.js";

/** Finds an agent, prompts it, and applies the diffs in its answer. */
export async function talkFoldGateway({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const gateway = connect(foldGateway, { baseUrl, ...connection });
  print.note(`${await gateway.health()}, ${await gateway.ready()}`);
  const [agent] = await gateway.listAgents();
  let answer = "";
  for await (const message of gateway.send({ content: prompt, sender: "demo", agent_id: agent?.id })) {
    switch (message.type) {
      case "text":
        if (!message.text.includes("```")) print.text(message.text);
        break;
      case "tool_use":
        print.note(`${message.name} ${message.input_json}`);
        break;
      case "done":
        // A busy gateway may drop text events; this is the whole text.
        answer = message.full_response;
        break;
      case "error":
        throw new Error(message.error);
    }
  }
  const read = parsePatch(answer);
  if (!read.ok) throw new Error(`no diff in the answer: ${JSON.stringify(read)}`);
  for (const file of read.patch.files) {
    const path = file.after ?? file.before ?? "";
    const applied = await workspace.apply(path, { files: [file] });
    print.note(applied.ok ? `applied ${path}` : `refused a diff: ${applied.reason}`);
  }
}

await runAlone(import.meta.url, serveFoldGateway, talkFoldGateway);
