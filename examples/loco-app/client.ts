import { createHash } from "node:crypto";
import { connect } from "@parlance/client";
import { locoApp } from "@parlance/protocols/loco-app";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveLocoApp, TOKEN } from "./server.js";

/** Registers the workspace, follows its index, opens a session, and applies the patches that are proposed. */
export async function talkLocoApp({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const agent = connect(locoApp, { baseUrl, token: TOKEN, ...connection });
  const { id: workspace_id } = await agent.registerWorkspace({ path: workspace.root });
  for await (const { type } of agent.streamIndex({ workspace_id, auto_start: true })) print.note(type);
  const { id: session_id } = await agent.createSession({ workspace_id });
  await using session = await agent.stream({ session_id });
  session.send({ type: "client.user_message", message: prompt, context: { command: "refactor" } });

  for await (const message of session) {
    switch (message.type) {
      case "assistant.message_delta":
        print.text(message.delta);
        break;
      case "tool.request_approval":
        print.note(`approved: ${message.message}`);
        session.send({ type: "client.approval_response", request_id: message.request_id, approved: true });
        break;
      case "patch.proposed": {
        const { file_path, diff, base_hash, rationale } = message;
        // Applies a diff only to the version it was made for, and only to the file of its message.
        const before = (await workspace.files()).get(file_path) ?? "";
        const changed = base_hash != null && createHash("sha256").update(before).digest("hex") !== base_hash;
        const applied = changed
          ? { ok: false as const, reason: `${file_path} has changed since` }
          : await workspace.apply(file_path, diff);
        print.note(applied.ok ? `applied ${file_path}: ${rationale}` : `refused a patch: ${applied.reason}`);
        break;
      }
      case "server.error":
        throw new Error(message.error.message);
      case "error":
        throw new Error(message.error);
      case "assistant.message_final":
        print.note(`final, in ${message.metadata?.iterations} step`);
        return;
    }
  }
}

await runAlone(import.meta.url, serveLocoApp, talkLocoApp);
