import { randomUUID } from "node:crypto";
import { contentHash } from "@parlance/edits/node";
import type {
  FileChange,
  LoCoHandlers,
  ModelConfiguration,
  SessionInfo,
  Workspace,
  WorkspacePolicy,
} from "@parlance/protocols/loco";
import { Refusal } from "@parlance/server";

/** All of loco except its stream, kept in memory. `files` are those that an index is built of. */
export function memory(files: () => Promise<ReadonlyMap<string, string>> = async () => new Map()): {
  handlers: Omit<LoCoHandlers, "stream">;
  session(id: string): SessionInfo;
  policy(workspaceId: string): WorkspacePolicy;
  /** Takes file changes into the index of a workspace, without building it anew. */
  change(workspaceId: string, changes: readonly FileChange[]): Promise<void>;
} {
  const workspaces = new Map<string, Workspace>();
  const policies = new Map<string, WorkspacePolicy>();
  const sessions = new Map<string, SessionInfo>();
  let model: ModelConfiguration = { provider: "none", model_name: "rename-agent" };

  function known<T>(map: ReadonlyMap<string, T>, id: string, what: "workspace" | "session"): T {
    const value = map.get(id);
    if (value !== undefined) return value;
    throw new Refusal(`${what} ${id} does not exist`, { code: `${what.toUpperCase()}_NOT_FOUND` });
  }
  const workspace = (id: string): Workspace => known(workspaces, id, "workspace");
  const session = (id: string): SessionInfo => known(sessions, id, "session");
  const policy = (id: string): WorkspacePolicy => policies.get(workspace(id).id) ?? {};
  /** The hash of each file, by workspace. */
  const indexes = new Map<string, Map<string, string>>();

  async function build(id: string): Promise<Map<string, string>> {
    const hashes = [...(await files())].map(([path, text]) => [path, contentHash(text)] as const);
    const index = new Map(hashes);
    indexes.set(workspace(id).id, index);
    return index;
  }
  async function change(id: string, changes: readonly FileChange[]): Promise<void> {
    const index = indexes.get(workspace(id).id) ?? (await build(id));
    for (const { type, file_path, content_hash = "" } of changes)
      if (type === "deleted") index.delete(file_path);
      else index.set(file_path, content_hash);
  }
  async function status({ workspace_id }: { workspace_id: string }) {
    const { size } = indexes.get(workspace(workspace_id).id) ?? (await build(workspace_id));
    return { index_status: "complete" as const, total_files: size, indexed_files: size };
  }
  const rebuild = async ({ workspace_id }: { workspace_id: string }) => {
    workspace(workspace_id);
    await build(workspace_id);
    return status({ workspace_id });
  };

  const handlers: Omit<LoCoHandlers, "stream"> = {
    health: () => ({ status: "healthy", version: "0.1.0" }),
    listWorkspaces: () => [...workspaces.values()],
    registerWorkspace({ path, name = path }) {
      const existing = [...workspaces.values()].find((one) => one.path === path);
      const registered = existing ?? { id: randomUUID(), path, name, created_at: new Date().toISOString() };
      workspaces.set(registered.id, registered);
      return registered;
    },
    getWorkspace: ({ workspace_id }) => workspace(workspace_id),
    getPolicy: ({ workspace_id }) => policy(workspace_id),
    setPolicy({ workspace_id, ...set }) {
      policies.set(workspace(workspace_id).id, set);
      return set;
    },
    rebuildIndex: rebuild,
    refreshIndex: rebuild,
    async updateIndex({ workspace_id, changes }) {
      await change(workspace_id, changes);
      return status({ workspace_id });
    },
    getIndexStatus: status,
    createSession({ workspace_id, title }) {
      const created: SessionInfo = {
        id: randomUUID(),
        workspace_id: workspace(workspace_id).id,
        title,
        created_at: new Date().toISOString(),
        status: "active",
      };
      sessions.set(created.id, created);
      return created;
    },
    listSessions: ({ workspace_id }) =>
      [...sessions.values()].filter((one) => workspace_id === undefined || one.workspace_id === workspace_id),
    getSession: ({ session_id }) => session(session_id),
    deleteSession({ session_id }) {
      session(session_id);
      sessions.delete(session_id);
      return { success: true };
    },
    listModels: () => [{ provider: "none", model_name: "rename-agent", capabilities: ["refactor"] }],
    getCurrentModel: () => model,
    setCurrentModel: (configuration) => {
      model = configuration;
      return model;
    },
  };
  return { handlers, session, policy, change };
}
