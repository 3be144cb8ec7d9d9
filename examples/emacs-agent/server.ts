import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { formatTranscript } from "@parlance/protocols/helpers/emacs-agent-transcript";
import { type App, Refusal, serve } from "@parlance/server";
import { type Think, think } from "../demo/agent.js";
import type { Workspace } from "../demo/workspace.js";
import { Sessions } from "./sessions.js";
import { takeTurn } from "./turn.js";

/** The agent with its own tools: a prompt is accepted at once, and everything else is sent on the session's event stream. */
export function serveEmacsAgent(workspace: Workspace, thinking: Think = think): App {
  const sessions = new Sessions(workspace.kept);

  return serve(emacsAgent, {
    createSession({ project_path, model = "rename-agent", config }) {
      const { session_id, started_at } = sessions.create(project_path, model, config).transcript;
      return { session_id, status: "active", created_at: started_at };
    },
    getSession: ({ session_id }) => sessions.info(session_id),
    async endSession({ session_id }) {
      const transcript_path = await sessions.end(session_id);
      return { status: "closed", ...(transcript_path !== undefined && { transcript_path }) };
    },
    prompt({ session_id, text }, call) {
      const session = sessions.findActive(session_id);
      const stream = call.session(session_id);
      const { signal } = session.interrupt;
      session.turn = session.turn.then(() => takeTurn(session, text, signal, stream, workspace, thinking));
      return { status: "accepted", agent_state: "thinking" };
    },
    async interrupt({ session_id }) {
      const session = sessions.findActive(session_id);
      const { interrupt, turn } = session;
      session.interrupt = new AbortController();
      interrupt.abort();
      // The answer follows the stream's event that the agent is idle.
      await turn;
      return { status: "interrupted", agent_state: "idle" };
    },
    // The runtime settles the open request when these return.
    approve({ session_id, tool_call_id }, call) {
      sessions.find(session_id);
      if (!call.ask) throw unknownCall(tool_call_id);
      return { status: "approved", tool_call_id };
    },
    reject({ session_id, tool_call_id }, call) {
      sessions.find(session_id);
      if (!call.ask) throw unknownCall(tool_call_id);
      return { status: "rejected", tool_call_id };
    },
    getTranscript: ({ session_id }) => sessions.find(session_id).transcript,
    getTranscriptMarkdown: ({ session_id }) => formatTranscript(sessions.find(session_id).transcript, "markdown"),
    getTranscriptOrg: ({ session_id }) => formatTranscript(sessions.find(session_id).transcript, "org"),
    listTranscripts: ({ project }) => ({ transcripts: sessions.list(project) }),
    resume({ session_id }) {
      const { messages } = sessions.resume(session_id).transcript;
      return { status: "resumed", session_id, message_count: messages.length };
    },
    async *events({ session_id }) {
      sessions.findActive(session_id);
      yield { type: "agent.state", state: "idle" };
    },
  });
}

function unknownCall(tool_call_id: string): Refusal {
  return new Refusal(`no tool call ${tool_call_id} waits for approval`, { code: "INVALID_TOOL_CALL" });
}
