import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { type App, Refusal, serve } from "@parlance/server";
import type { Workspace } from "../demo/workspace.js";
import { Dialogs, page } from "./dialogs.js";
import { turn } from "./turn.js";

/** The agent in the protocol of AgentSmithy's server 1.13: it changes the files itself; its changes can be approved or reset. */
export function serveAgentsmithy1_13(workspace: Workspace): App {
  const dialogs = new Dialogs(workspace);
  let config: Record<string, unknown> = { workloads: { reasoning: {} }, models: { agent: { workload: "reasoning" } } };
  return serve(agentsmithy1_13, {
    chat: (input) => turn(input, dialogs, workspace),
    async complete(input) {
      let content = "";
      for await (const message of turn(input, dialogs, workspace))
        if (message.type === "chat") content += message.content;
      return { content, done: true, metadata: {} };
    },
    health: () => ({ status: "ok", service: "agentsmithy-server", server_status: "ready", pid: process.pid }),

    listDialogs({ sort = "updated_at", order = "desc", limit = 50, offset = 0 }) {
      const by = sort === "created_at" ? "created_at" : "updated_at";
      const sorted = dialogs.list().sort((a, b) => (a[by] < b[by] ? -1 : 1));
      if (order !== "asc") sorted.reverse();
      return { current_dialog_id: dialogs.current ?? null, dialogs: sorted.slice(offset, offset + limit) };
    },
    createDialog: async ({ title, set_current }) => ({ id: (await dialogs.make(title, set_current)).about.id }),
    currentDialog: () => (dialogs.current ? { id: dialogs.current, meta: dialogs.find(dialogs.current).about } : {}),
    setCurrentDialog({ id }) {
      dialogs.current = dialogs.find(id).about.id;
      return { ok: true };
    },
    getDialog: ({ dialog_id }) => dialogs.find(dialog_id).about,
    changeDialog({ dialog_id, title }) {
      dialogs.find(dialog_id);
      if (title) dialogs.retitle(dialog_id, title);
      return { ok: true };
    },
    deleteDialog({ dialog_id }) {
      dialogs.delete(dialog_id);
      return { ok: true };
    },
    history: ({ dialog_id, limit, before }) => ({ dialog_id, ...page(dialogs.find(dialog_id).events, limit, before) }),

    listCheckpoints: ({ dialog_id }) => ({ dialog_id, checkpoints: dialogs.find(dialog_id).snapshots.list() }),
    async restoreCheckpoint({ dialog_id, checkpoint_id }) {
      const new_checkpoint = await dialogs.find(dialog_id).snapshots.restore(checkpoint_id);
      return { restored_to: checkpoint_id, new_checkpoint };
    },
    async sessionStatus({ dialog_id }) {
      const { snapshots, approvedAt } = dialogs.find(dialog_id);
      const changed_files = await snapshots.changed();
      const session = changed_files.length > 0 ? snapshots.session : null;
      return {
        active_session: session,
        session_ref: session && `refs/heads/${session}`,
        has_unapproved: session !== null,
        last_approved_at: approvedAt,
        changed_files,
      };
    },
    async approveSession({ dialog_id }) {
      const dialog = dialogs.find(dialog_id);
      const { id, approved } = await dialog.snapshots.approve();
      dialog.approvedAt = new Date().toISOString();
      return { approved_commit: id, new_session: dialog.snapshots.session, commits_approved: approved };
    },
    async resetSession({ dialog_id }) {
      const { snapshots } = dialogs.find(dialog_id);
      const { id, before } = await snapshots.reset();
      return { reset_to: id, new_session: snapshots.session, pre_reset_checkpoint: before };
    },

    listToolResults: ({ dialog_id }) =>
      dialogs
        .find(dialog_id)
        .results.map(({ tool_call_id, tool_name, timestamp }) => ({ tool_call_id, tool_name, timestamp })),
    getToolResult({ dialog_id, tool_call_id }) {
      const result = dialogs.find(dialog_id).results.find((one) => one.tool_call_id === tool_call_id);
      if (!result) throw new Refusal(`Tool result not found: ${tool_call_id}`, { status: 404 });
      return result;
    },

    getConfig: () => ({ config }),
    changeConfig(input) {
      config = { ...config, ...input.config };
      return {
        success: true,
        message: `Successfully updated ${Object.keys(input.config).length} configuration key(s)`,
        config,
      };
    },
    renameInConfig({ type, old_name, new_name }) {
      const [named, renamed] = [`"${old_name}"`, `"${new_name}"`];
      const text = JSON.stringify(config);
      if (!text.includes(named)) throw new Refusal(`The ${type} ${old_name} was not found`, { status: 400 });
      if (text.includes(renamed)) throw new Refusal(`${new_name} already exists`, { status: 400 });
      config = JSON.parse(text.replaceAll(named, renamed));
      return { success: true, old_name, new_name, updated_references: [], config };
    },
  });
}
