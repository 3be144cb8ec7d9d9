import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { locoApp } from "@parlance/protocols/loco-app";
import { test } from "vitest";
import { serveAgentsmithy } from "./agentsmithy/server.js";
import { serveAgentsmithy1_13 } from "./agentsmithy-1.13/server.js";
import { type Attack, attack, COUNT } from "./attack.js";
import { serveBased } from "./based/server.js";
import { serveCoven } from "./coven/server.js";
import { serveEmacsAgent } from "./emacs-agent/server.js";
import { serveFoldGateway } from "./fold-gateway/server.js";
import { serveLoco, TOKEN } from "./loco/server.js";
import { TOKEN as APP_TOKEN, serveLocoApp } from "./loco-app/server.js";

// The agent of each example is put to hundreds of hostile requests: nothing outside its folder may change.

const agents: Record<string, Attack> = {
  async agentsmithy({ workspace, changes }, reached) {
    const agent = connect(agentsmithy, { fetch: serveAgentsmithy(workspace).fetch });
    for (const hostile of changes) {
      await agent.complete({
        messages: [{ role: "user", content: `rename total to ${hostile.file}` }],
        context: { current_file: { path: hostile.file, content: hostile.diff } },
      });
      reached.count++;
    }
  },
  async "fold-gateway"({ workspace, changes }, reached) {
    const gateway = connect(foldGateway, { fetch: serveFoldGateway(workspace).fetch });
    for (const { file, diff } of changes) {
      await gateway.send({ content: diff, sender: file, thread_id: file }).text();
      reached.count++;
    }
  },
  async based({ changes }, reached) {
    const { fetch, webSocket } = serveBased();
    await using session = await connect(based, { fetch, webSocket }).session();
    for (const { file: filename, diff } of changes) {
      await session.ask({ type: "upload_file", filename, content: diff });
      await session.ask({ type: "prompt", prompt: `create ${filename}`, activeFile: filename });
      await session.ask({ type: "apply_diff", filename, diff });
      reached.count++;
    }
  },
  async "emacs-agent"({ workspace, changes }, reached) {
    const agent = connect(emacsAgent, { fetch: serveEmacsAgent(workspace).fetch });
    for (const { file } of changes) {
      reached.count++;
      const made = await agent.createSession({ project_path: `/${file}`, model: file }).catch((refusal) => refusal);
      if (made.code === "INVALID_REQUEST") continue;
      await agent.endSession({ session_id: made.session_id });
      // A lone surrogate cannot stand in a URL: the client does not send it.
      await agent.listTranscripts({ project: file }).catch(() => {});
    }
  },
  async "agentsmithy-1.13"({ workspace, changes }, reached) {
    const agent = connect(agentsmithy1_13, { fetch: serveAgentsmithy1_13(workspace).fetch });
    const { id: dialog_id } = await agent.createDialog({ title: "Hostile" });
    for (const { file, diff } of changes) {
      const context = { current_file: { path: file, content: diff } };
      const messages = [{ role: "user", content: `rename total to ${file}` }];
      // Ids and paths that lead nowhere are refused; what matters is that nothing outside changes.
      await Promise.allSettled([
        agent.complete({ messages, context, dialog_id: file }),
        agent.restoreCheckpoint({ dialog_id, checkpoint_id: file }),
        agent.getToolResult({ dialog_id, tool_call_id: file }),
        agent.changeDialog({ dialog_id, title: file }),
        agent.renameInConfig({ type: "workload", old_name: "reasoning", new_name: file }),
      ]);
      reached.count++;
    }
    await agent.resetSession({ dialog_id });
  },
  async coven({ workspace, changes }, reached) {
    const gateway = connect(coven, { fetch: serveCoven(workspace).fetch });
    for (const { file, diff } of changes) {
      await gateway.send({ content: diff, sender: file, agent_id: "1", thread_id: file }).text();
      await gateway.approveTool({ agent_id: "1", tool_id: file, approved: true }).catch(() => {});
      reached.count++;
    }
  },
  async "loco-app"({ workspace, changes }, reached) {
    const { fetch, webSocket } = serveLocoApp(workspace);
    const agent = connect(locoApp, { fetch, webSocket, token: APP_TOKEN });
    const { id: workspace_id } = await agent.registerWorkspace({ path: "/p" });
    const { id: session_id } = await agent.createSession({ workspace_id });
    await using session = await agent.stream({ session_id });
    for (const { file, diff } of changes) {
      await agent.registerWorkspace({ path: file });
      session.send({ type: "client.approval_response", request_id: file, approved: true });
      session.send({ type: "client.user_message", message: diff });
      reached.count++;
    }
    let answered = 0;
    for await (const { type } of session) if (type === "assistant.message_final" && ++answered === COUNT) break;
  },
  async loco({ workspace, changes }, reached) {
    const { fetch, webSocket } = serveLoco(workspace);
    const agent = connect(loco, { fetch, webSocket, token: TOKEN });
    const { id: workspace_id } = await agent.registerWorkspace({ path: "/p" });
    const { id: session_id } = await agent.createSession({ workspace_id });
    const client_info = { name: "hostile", version: "0", capabilities: [] };
    await using session = await agent.stream({ session_id }, { open: { client_info } });
    for (const { file: file_path } of changes) {
      await agent.registerWorkspace({ path: file_path });
      session.send({ type: "client.file_changes", changes: [{ type: "deleted", file_path }] });
      const applied_hash = `sha256:${"0".repeat(64)}`;
      session.send({ type: "client.patch_apply_result", patch_id: "p", file_path, success: true, applied_hash });
      reached.count++;
    }
  },
};

test.each(Object.keys(agents))("%s's agent touches nothing outside its folder", (name) => attack(agents[name]!));
