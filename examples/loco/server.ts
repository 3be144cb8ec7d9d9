import { randomUUID } from "node:crypto";
import { decide } from "@parlance/protocols/helpers/loco";
import {
  loco,
  type StreamClientMessage,
  type StreamServerAsks,
  type StreamServerMessage,
} from "@parlance/protocols/loco";
import { type App, type Channel, Refusal, serve } from "@parlance/server";
import { think } from "../demo/agent.js";
import type { Workspace as Folder } from "../demo/workspace.js";
import { memory } from "./memory.js";

/** The token that this example asks for; a real server makes one for each user. */
export const TOKEN = "demo-token";

/** The agent on a socket a session: it proposes patches, and the client applies those that the user approves. */
export function serveLoco(folder: Folder): App {
  const state = memory();
  return serve(
    loco,
    {
      ...state.handlers,
      async stream({ session_id }, channel) {
        const { workspace_id } = state.session(session_id);
        channel.send({ type: "server.hello", server_info: { version: "0.1.0", capabilities: ["multi_file_edit"] } });
        for await (const message of channel)
          if (message.type === "client.user_message")
            await turn(folder, state.policy(workspace_id), message.message, channel);
      },
    },
    {
      authenticate(request) {
        if (request.headers.get("Authorization") !== `Bearer ${TOKEN}`)
          throw new Refusal("the bearer token is missing or wrong", { status: 401 });
        return "demo";
      },
    },
  );
}

type Stream = Channel<StreamServerMessage, StreamClientMessage, StreamServerAsks>;

async function turn(
  folder: Folder,
  policy: Parameters<typeof decide>[0],
  prompt: string,
  channel: Stream,
): Promise<void> {
  let message = "";
  let files_modified = 0;
  channel.send({ type: "assistant.thinking", phase: "analyzing", message: "Reading the workspace..." });
  for (const step of think(prompt, await folder.files())) {
    if (step.does === "say") {
      message += step.text;
      channel.send({ type: "assistant.token", token: step.text });
    }
    if (step.does === "search") {
      const args = { query: step.query };
      channel.send({ type: "tool.execute", tool_name: "search_text", args, status: "started" });
      channel.send({
        type: "tool.execute",
        tool_name: "search_text",
        args,
        status: "completed",
        result: { files: step.found },
      });
    }
    if (step.does === "edit") {
      const { path: file_path, diff, reason } = step.edit;
      const args = { file_path, reason };
      if (decide(policy, { tool_name: "write_file", args }).outcome === "ask") {
        const { approved } = await channel.ask({
          type: "tool.request_approval",
          request_id: randomUUID(),
          tool_name: "write_file",
          args,
          risk_level: "low",
        });
        if (!approved) continue;
      }
      const patch_id = `patch_${randomUUID().slice(0, 8)}`;
      const acceptance_criteria = ["The old name is gone"];
      const result = await channel.ask({
        type: "patch.proposed",
        patch_id,
        file_path,
        diff,
        rationale: reason,
        acceptance_criteria,
        requires_approval: true,
      });
      if (result.type === "client.patch_apply_result" && result.success) files_modified++;
    }
  }
  channel.send({
    type: "assistant.message_final",
    message,
    metadata: { files_modified, tools_used: ["search_text"], success: true },
  });
}
