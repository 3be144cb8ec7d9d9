import { randomUUID } from "node:crypto";
import { type EmacsAgentSession, emacsAgent, type Transcript } from "@parlance/protocols/emacs-agent";
import { requiresApproval } from "@parlance/protocols/helpers/emacs-agent";
import { formatTranscript } from "@parlance/protocols/helpers/emacs-agent-transcript";
import { type App, Refusal, serve } from "@parlance/server";
import { think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";

/** The agent with its own tools: a prompt is accepted at once, and everything else is said on the session's event stream. */
export function serveEmacsAgent(workspace: Workspace): App {
  const sessions = new Map<string, Transcript>();
  const running = new Map<string, AbortController>();
  const find = (session_id: string): Transcript => {
    const session = sessions.get(session_id);
    if (!session) throw new Refusal(`Session ${session_id} does not exist`, { code: "SESSION_NOT_FOUND" });
    return session;
  };

  return serve(emacsAgent, {
    createSession({ project_path, model = "rename-agent" }) {
      const session_id = randomUUID();
      const started_at = now();
      sessions.set(session_id, {
        session_id,
        project_path,
        model,
        started_at,
        messages: [],
        tool_calls: [],
        file_changes: [],
      });
      return { session_id, status: "active", created_at: started_at };
    },
    getSession({ session_id }) {
      const { project_path, model, started_at, messages, ended_at } = find(session_id);
      return {
        session_id,
        status: ended_at ? "closed" : "active",
        project_path,
        model,
        message_count: messages.length,
        started_at,
      };
    },
    endSession({ session_id }) {
      find(session_id).ended_at = now();
      return { status: "closed", transcript_path: `${session_id}.org` };
    },
    prompt({ session_id, text }, call) {
      const transcript = find(session_id);
      transcript.messages.push({ role: "user", content: text, timestamp: now() });
      const interrupt = new AbortController();
      running.set(session_id, interrupt);
      work(workspace, transcript, text, call.session(session_id), interrupt.signal).catch((error: Error) => {
        if (interrupt.signal.aborted) return;
        call.session(session_id).send({ type: "error", message: error.message, code: "MCP_SERVER_ERROR" });
      });
      return { status: "accepted", agent_state: "thinking" };
    },
    interrupt({ session_id }) {
      find(session_id);
      running.get(session_id)?.abort();
      return { status: "interrupted", agent_state: "idle" };
    },
    // The open ask is settled by the runtime when these return.
    approve: ({ tool_call_id }, call) => {
      if (!call.ask)
        throw new Refusal(`no tool call ${tool_call_id} waits for approval`, { code: "INVALID_TOOL_CALL" });
      return { status: "approved", tool_call_id };
    },
    reject: ({ tool_call_id }, call) => {
      if (!call.ask)
        throw new Refusal(`no tool call ${tool_call_id} waits for approval`, { code: "INVALID_TOOL_CALL" });
      return { status: "rejected", tool_call_id };
    },
    getTranscript: ({ session_id }) => find(session_id),
    getTranscriptMarkdown: ({ session_id }) => formatTranscript(find(session_id), "markdown"),
    getTranscriptOrg: ({ session_id }) => formatTranscript(find(session_id), "org"),
    listTranscripts({ project }) {
      const chosen = [...sessions.values()].filter(
        ({ project_path }) => project === undefined || project_path === project,
      );
      const transcripts = chosen.map(({ session_id, project_path, started_at, messages, file_changes }) => {
        const files_changed = file_changes.map(({ path }) => path);
        return { session_id, project_path, started_at, message_count: messages.length, files_changed };
      });
      return { transcripts };
    },
    resume({ session_id }) {
      return { status: "resumed", session_id, message_count: find(session_id).messages.length };
    },
    async *events({ session_id }) {
      find(session_id);
      yield { type: "agent.state", state: "idle" };
    },
  });
}

const now = (): string => new Date().toISOString();

async function work(
  workspace: Workspace,
  transcript: Transcript,
  text: string,
  session: EmacsAgentSession,
  signal: AbortSignal,
): Promise<void> {
  session.send({ type: "agent.state", state: "thinking" });
  let said = "";
  for (const step of think(text, await workspace.files())) {
    signal.throwIfAborted();
    if (step.does === "say") {
      said += step.text;
      session.send({ type: "message.delta", content: step.text, role: "assistant" });
    }
    if (step.does === "search") await useTool("search_files", { query: step.query }, async () => step.found.join("\n"));
    if (step.does === "edit")
      await useTool("edit_file", { path: step.edit.path, diff: step.edit.diff }, async () => {
        const applied = await workspace.apply(step.edit.path, step.edit.diff);
        if (!applied.ok) throw new Error(applied.reason);
        transcript.file_changes.push({ path: step.edit.path, operation: "write", timestamp: now() });
        return step.edit.reason;
      });
  }
  transcript.messages.push({ role: "assistant", content: said, timestamp: now() });
  session.send({ type: "agent.state", state: "idle" });

  async function useTool(tool: string, params: Record<string, unknown>, run: () => Promise<string>): Promise<void> {
    const tool_call_id = `tc_${randomUUID().slice(0, 8)}`;
    const requires_approval = requiresApproval(tool, { auto_approve_readonly: true });
    const call = { type: "tool.call", tool_call_id, tool, params, requires_approval } as const;
    let status: "success" | "rejected" = "success";
    if (requires_approval) {
      session.send({ type: "agent.state", state: "waiting_approval" });
      const decision = await session.ask(call, { signal });
      if (decision.type === "reject") status = "rejected";
    } else session.send(call);
    const result = status === "success" ? await run() : undefined;
    session.send({ type: "tool.result", tool_call_id, status, result });
    transcript.tool_calls.push({ tool_call_id, tool, params, status, result, timestamp: now() });
    if (tool === "edit_file" && status === "success")
      session.send({ type: "file.changed", path: String(params.path), operation: "write", timestamp: now() });
  }
}
