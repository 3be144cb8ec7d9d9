import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { parsePatch } from "@parlance/edits";
import { decide } from "@parlance/protocols/helpers/loco-policy";
import type {
  PatchProposedMessage,
  StreamClientMessage,
  StreamServerAsks,
  StreamServerMessage,
  WorkspacePolicy,
} from "@parlance/protocols/loco";
import type { Channel } from "@parlance/server";
import type { Edit, Run, Think } from "../demo/agent.js";
import { cleanEnvironment, runCommand } from "../demo/run.js";
import type { Workspace as Folder } from "../demo/workspace.js";

export type Stream = Channel<StreamServerMessage, StreamClientMessage, StreamServerAsks>;

export interface Turn {
  readonly prompt: string;
  readonly folder: Folder;
  readonly policy: WorkspacePolicy;
  readonly channel: Stream;
  /** Aborted by `client.cancel`, which withdraws the open asks too. */
  readonly signal: AbortSignal;
}

/** Handles one message: streams the answer, proposes edits, and asks for the approvals that the policy requires. */
export async function takeTurn(turn: Turn, think: Think): Promise<void> {
  const { channel, folder, prompt, signal } = turn;
  let message = "";
  let files_modified = 0;
  const tools_used = new Set<string>();
  channel.send({ type: "assistant.thinking", phase: "analyzing", message: "Reading the workspace..." });
  for (const step of think(prompt, await folder.files())) {
    signal.throwIfAborted();
    if (step.does === "say") {
      message += step.text;
      channel.send({ type: "assistant.token", token: step.text });
    }
    if (step.does === "search") {
      const event = { type: "tool.execute", tool_name: "search_text", args: { query: step.query } } as const;
      channel.send({ ...event, status: "started" });
      channel.send({ ...event, status: "completed", result: { files: step.found } });
      tools_used.add("search_text");
    }
    if (step.does === "edit" && (await propose(turn, step.edit))) files_modified++;
    if (step.does === "run" && (await execute(turn, step))) tools_used.add("execute_command");
  }
  const metadata = { files_modified, tools_used: [...tools_used], success: true };
  channel.send({ type: "assistant.message_final", message, metadata });
}

/** Whether the client has applied the edit. */
async function propose({ channel, policy, signal }: Turn, { path: file_path, diff, reason }: Edit): Promise<boolean> {
  const args = { file_path, reason };
  if (decide(policy, { tool_name: "write_file", args }).outcome === "ask") {
    const request_id = randomUUID();
    const ask = {
      type: "tool.request_approval",
      request_id,
      tool_name: "write_file",
      args,
      risk_level: "low",
    } as const;
    const { approved } = await channel.ask(ask, { signal });
    if (!approved) return false;
  }
  const proposal: PatchProposedMessage = {
    type: "patch.proposed",
    patch_id: `patch_${randomUUID().slice(0, 8)}`,
    file_path,
    diff,
    rationale: reason,
    acceptance_criteria: ["The old name is gone"],
    requires_approval: true,
    hunks: hunksOf(diff),
  };
  const result = await channel.ask(proposal, { signal });
  return result.type === "client.patch_apply_result" && result.success;
}

/** "Per-hunk line numbers", as every proposal includes them. */
function hunksOf(diff: string): PatchProposedMessage["hunks"] {
  const reading = parsePatch(diff);
  if (!reading.ok) return [];
  return reading.patch.files.flatMap(({ hunks }) =>
    hunks.map(({ oldStart, newStart, lines }) => ({
      old_start: oldStart ?? 1,
      old_lines: lines.filter((line) => line[0] !== "+").length,
      new_start: newStart ?? 1,
      new_lines: lines.filter((line) => line[0] !== "-").length,
      content: lines.join("\n"),
    })),
  );
}

/** Bytes of memory that each process of a command may use on this server. */
const MAX_MEMORY = 2 ** 32;

/** Runs a command as the policy requires: in the client's terminal, or on this server, which streams the output. */
async function execute({ channel, policy, folder, signal }: Turn, step: Run): Promise<boolean> {
  const { command, environment } = step;
  const working_directory = resolve(folder.root, step.directory);
  const request = { tool_name: "execute_command", args: { command, working_directory } };
  const { outcome, reason, run } = decide(policy, request, { root: folder.root });
  const cwd = await folder.folder(working_directory);
  if (outcome === "refused" || run === undefined || cwd === undefined) {
    const message = cwd === undefined ? `${step.directory} is not a folder of the workspace.` : reason;
    const error = { code: "POLICY_VIOLATION", message, details: { command }, recoverable: true };
    channel.send({ type: "server.error", error });
    return false;
  }
  if (outcome === "ask" || run.mode === "local_terminal") {
    const answer = await channel.ask(
      {
        type: "command.request_approval",
        command_id: `cmd_${randomUUID().slice(0, 8)}`,
        command,
        working_directory,
        environment,
        requires_approval: outcome === "ask",
        reason,
      },
      { signal },
    );
    if (answer.type === "client.command_result") return true;
    if (!answer.approved || run.mode === "local_terminal") return false;
  }
  const event = { type: "tool.execute", tool_name: "execute_command", args: { command } } as const;
  channel.send({ ...event, status: "started" });
  const { exitCode, durationMs } = await runCommand(command, {
    cwd,
    // Nothing of the server's own environment, which may hold its secrets.
    env: { ...cleanEnvironment(folder.root), ...environment },
    timeLimit: run.time_limit_ms,
    outputLimit: run.output_limit_bytes,
    memoryLimit: MAX_MEMORY,
    processorLimit: Math.ceil(run.time_limit_ms / 1000),
    signal,
    onOutput: (name, text) => channel.send({ ...event, status: "started", result: { [name]: text } }),
  });
  const result = { exit_code: exitCode, duration_ms: Math.round(durationMs) };
  channel.send({ ...event, status: exitCode === null ? "failed" : "completed", result });
  return true;
}
