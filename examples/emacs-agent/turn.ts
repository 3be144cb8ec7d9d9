import { randomUUID } from "node:crypto";
import type { EmacsAgentSession } from "@parlance/protocols/emacs-agent";
import { requiresApproval } from "@parlance/protocols/helpers/emacs-agent";
import type { Step, Think } from "../demo/agent.js";
import { cleanEnvironment, runCommand } from "../demo/run.js";
import type { Workspace } from "../demo/workspace.js";
import { now, type Session } from "./sessions.js";

/** Carries out a prompt, and sends every step on the session's stream. Never rejects: a failure is an event. */
export async function takeTurn(
  session: Session,
  text: string,
  signal: AbortSignal,
  stream: EmacsAgentSession,
  workspace: Workspace,
  think: Think,
): Promise<void> {
  const { transcript } = session;
  transcript.messages.push({ role: "user", content: text, timestamp: now() });
  let content = "";
  let state: "idle" | "error" = "idle";
  try {
    stream.send({ type: "agent.state", state: "thinking" });
    for (const step of think(text, await workspace.files())) {
      signal.throwIfAborted();
      if (step.does === "say") {
        content += step.text;
        stream.send({ type: "message.delta", content: step.text, role: "assistant" });
      } else await useTool(session, signal, stream, toolOf(step, workspace));
    }
  } catch (error) {
    // An interrupted agent is idle; after a failure of the model, the error is sent before the stop.
    if (!signal.aborted) {
      stream.send({ type: "error", message: (error as Error).message, code: "LLM_API_ERROR" });
      state = "error";
    }
  }
  if (content !== "") transcript.messages.push({ role: "assistant", content, timestamp: now() });
  stream.send({ type: "agent.state", state });
}

/** A tool call, and how it is carried out. */
interface Tool {
  readonly name: string;
  readonly params: Record<string, unknown>;
  /** The file that it writes. */
  readonly writes?: string;
  run(): Promise<string>;
}

function toolOf(step: Exclude<Step, { does: "say" }>, workspace: Workspace): Tool {
  if (step.does === "search")
    return { name: "search_files", params: { query: step.query }, run: async () => step.found.join("\n") };
  if (step.does === "run")
    return {
      name: "shell_exec",
      params: { command: step.command, directory: step.directory, environment: step.environment },
      async run() {
        const cwd = await workspace.folder(step.directory);
        if (cwd === undefined) throw new Error(`${step.directory} is not a folder of the workspace`);
        // The server's own environment may hold its secrets.
        const env = { ...cleanEnvironment(workspace.root), ...step.environment };
        const limits = { cwd, env, timeLimit: 60_000, outputLimit: 1_000_000 };
        const { exitCode, stdout, stderr } = await runCommand(step.command, limits);
        if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
        return stdout;
      },
    };
  const { path, diff, reason } = step.edit;
  return {
    name: "edit_file",
    params: { path, diff },
    writes: path,
    async run() {
      const applied = await workspace.apply(path, diff);
      if (!applied.ok) throw new Error(applied.reason);
      return reason;
    },
  };
}

/** Asks if needed, runs the tool, and sends its result. A failed tool is a result too: the turn continues. */
async function useTool(session: Session, signal: AbortSignal, stream: EmacsAgentSession, tool: Tool): Promise<void> {
  const { transcript, config } = session;
  const { name, params, writes } = tool;
  const tool_call_id = `tc_${randomUUID().slice(0, 8)}`;
  const requires_approval = requiresApproval(name, config);
  const call = { type: "tool.call", tool_call_id, tool: name, params, requires_approval } as const;
  let rejected = false;
  if (requires_approval) {
    const decided = stream.ask(call, { signal });
    stream.send({ type: "agent.state", state: "waiting_approval" });
    rejected = (await decided).type === "reject";
  } else stream.send(call);

  const outcome = rejected ? ({ status: "rejected" } as const) : await execute(stream, tool);
  stream.send({ type: "tool.result", tool_call_id, ...outcome });
  transcript.tool_calls.push({ tool_call_id, tool: name, params, ...outcome, timestamp: now() });
  if (writes !== undefined && outcome.status === "success") {
    const change = { path: writes, operation: "write", timestamp: now() };
    transcript.file_changes.push(change);
    stream.send({ type: "file.changed", ...change });
  }
  stream.send({ type: "agent.state", state: "thinking" });
}

async function execute(stream: EmacsAgentSession, tool: Tool) {
  stream.send({ type: "agent.state", state: "tool_execution", details: tool.name });
  try {
    return { status: "success", result: await tool.run() } as const;
  } catch (error) {
    return { status: "error", message: (error as Error).message } as const;
  }
}
