/** Hooks that hold a loco server to its workspaces' policies, whatever its agent does. */

import { parsePatch } from "@parlance/edits";
import { type AnyMessage, Refusal } from "@parlance/wire";
import type {
  ApprovalResponseMessage,
  FileChange,
  StreamClientMessage,
  StreamServerMessage,
  WorkspacePolicy,
} from "../src/loco.js";
import { type Decision, decide, leavesWorkspace, type ToolRequest } from "./loco-policy.js";

/** A call as the hooks of `serve` are given it. */
export interface PolicedCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface EnforceOptions {
  /** The workspace's absolute path: absolute paths below it are inside. @default none is */
  readonly root?: string | ((call: PolicedCall) => string | undefined) | undefined;
}

/** The hooks that `enforce` returns, for the `hooks` of `serve`. */
export interface PolicyHooks {
  readonly request: (call: PolicedCall) => void;
  readonly message: (call: PolicedCall, message: AnyMessage, from: "client" | "server") => void;
}

/** What a user has approved on one channel. */
interface Approvals {
  /** Open asks by id: what their approval lets run, and the one file that it is about. */
  readonly asked: Map<string, { readonly key: string; readonly file?: unknown }>;
  /** What may run without asking again, once for each approval. */
  readonly granted: Map<string, number>;
  readonly running: Map<string, number>;
}

/**
 * Makes hooks that enforce a policy: `serve(loco, handlers, { hooks: enforce(policyOf) })`. A message that breaks it is not sent, and the
 * handler's `send` or `ask` throws `Refusal` with the code POLICY_VIOLATION; a client's is refused with it. It is broken by a tool or a command
 * that the policy refuses, by one that runs without the approval that the policy asks for, by a path outside the workspace (also inside a
 * diff), and by a patch whose diff is for another file. One approval lets one run.
 */
export function enforce(
  policy: WorkspacePolicy | ((call: PolicedCall) => WorkspacePolicy),
  { root }: EnforceOptions = {},
): PolicyHooks {
  const approvals = new WeakMap<object, Approvals>();
  const rootOf = (call: PolicedCall) => (typeof root === "function" ? root(call) : root);

  function judge(call: PolicedCall, request: Parameters<typeof decide>[1]): Decision {
    const held = typeof policy === "function" ? policy(call) : policy;
    const decision = decide(held, request, { root: rootOf(call) });
    if (decision.outcome === "refused") throw violation(decision.reason);
    return decision;
  }

  /** Refuses what has to ask and has not. */
  function demand(call: PolicedCall, decision: Decision, key: string): void {
    if (decision.outcome === "ask" && !take(approvalsOf(call).granted, key))
      throw violation(`${decision.reason} Nobody has approved it.`);
  }

  function approvalsOf(call: PolicedCall): Approvals {
    const known = approvals.get(call);
    if (known) return known;
    const made: Approvals = { asked: new Map(), granted: new Map(), running: new Map() };
    approvals.set(call, made);
    return made;
  }

  function sent(call: PolicedCall, message: StreamServerMessage): void {
    const { asked, running } = approvalsOf(call);
    switch (message.type) {
      case "tool.request_approval":
        judge(call, message);
        asked.set(message.request_id, { key: keyOf(message), file: message.args.file_path });
        break;
      case "command.request_approval": {
        const decision = judge(call, message);
        const key = keyOf({ tool_name: "execute_command", args: { command: message.command } });
        if (message.requires_approval === false) demand(call, decision, key);
        asked.set(message.command_id, { key });
        break;
      }
      case "patch.proposed": {
        const args = { file_path: message.file_path, diff: message.diff };
        const decision = judge(call, { tool_name: "write_file", args });
        refuseOtherFiles(message.file_path, message.diff);
        if (message.requires_approval === false) demand(call, decision, keyOf({ tool_name: "write_file", args }));
        break;
      }
      case "tool.execute": {
        const key = keyOf(message);
        if (message.status !== "started" && take(running, key)) break;
        // Output of what runs.
        if (message.status === "started" && message.result && running.has(key)) break;
        const decision = judge(call, message);
        const { command } = message.args;
        // What the server runs itself is a matter of the policy's mode, too.
        if (typeof command === "string") judge(call, { command, mode: "server_runner" });
        demand(call, decision, key);
        if (message.status === "started") put(running, key);
      }
    }
  }

  function received(call: PolicedCall, message: StreamClientMessage): void {
    if (message.type === "client.file_changes") refuseOutside(message.changes, rootOf(call));
    if (message.type === "client.approval_response") settle(approvalsOf(call), message);
  }

  return {
    request(call) {
      if (call.operation === "updateIndex") refuseOutside(call.input.changes as readonly FileChange[], rootOf(call));
    },
    message(call, message, from) {
      if (from === "server") sent(call, message as unknown as StreamServerMessage);
      else received(call, message as unknown as StreamClientMessage);
    },
  };
}

function settle({ asked, granted }: Approvals, answer: ApprovalResponseMessage): void {
  const ask = asked.get(answer.request_id);
  if (!ask) return;
  // An answer about another file leaves the ask open.
  const isPart = answer.scope === "file" || answer.scope === "hunk";
  if (isPart && ask.file !== undefined && ask.file !== answer.file_path) return;
  asked.delete(answer.request_id);
  if (answer.approved) put(granted, ask.key);
}

/** What an approval is for: the tool, and where and what it runs. Other arguments, such as a reason, may differ. */
function keyOf({ tool_name, args = {} }: ToolRequest): string {
  return JSON.stringify([tool_name, args.path ?? args.file_path, args.command, args.working_directory]);
}

function put(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function take(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
  return count > 0;
}

function refuseOtherFiles(file_path: string, diff: string): void {
  const reading = parsePatch(diff, { path: file_path });
  if (!reading.ok) throw violation(`The diff for ${file_path} cannot be read, so nobody can tell what it changes.`);
  const paths = reading.patch.files.flatMap(({ before, after }) => [before, after]);
  const other = paths.find((path) => path !== null && path !== file_path);
  if (other !== undefined) throw violation(`The patch is for ${file_path}, and its diff for ${other}.`);
}

function refuseOutside(changes: readonly FileChange[], root: string | undefined): void {
  const outside = changes.find(({ file_path }) => leavesWorkspace(file_path, root));
  if (outside) throw violation(`"${outside.file_path}" is outside the workspace; a path is relative to its root.`);
}

function violation(message: string): Refusal {
  return new Refusal(message, { code: "POLICY_VIOLATION" });
}
