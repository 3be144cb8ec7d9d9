import { connect } from "@parlance/client";
import { contentHash } from "@parlance/edits/node";
import { type CommandApprovalRequestMessage, loco } from "@parlance/protocols/loco";
import { runAlone } from "../demo/alone.js";
import { runCommand } from "../demo/run.js";
import type { Story } from "../demo/story.js";
import type { Workspace } from "../demo/workspace.js";
import { serveLoco, TOKEN } from "./server.js";

/** Registers the workspace, opens a session, and applies the patches that are proposed: in loco that is the client's part. */
export async function talkLoco({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  const agent = connect(loco, { baseUrl, token: TOKEN, ...connection });
  const { id: workspace_id } = await agent.registerWorkspace({ path: workspace.root });
  const policy = await agent.getPolicy({ workspace_id });
  const { id: session_id } = await agent.createSession({ workspace_id, title: "demo" });
  const client_info = { name: "demo", version: "0.1.0", capabilities: ["diff_preview"] };
  await using session = await agent.stream({ session_id }, { open: { client_info } });
  for await (const message of session) {
    switch (message.type) {
      case "server.hello":
        session.send({ type: "client.user_message", message: prompt, context: { command: "/refactor" } });
        break;
      case "assistant.token":
        print.text(message.token);
        break;
      case "tool.execute":
        if (message.status === "completed") print.note(`${message.tool_name} ${JSON.stringify(message.result)}`);
        break;
      case "tool.request_approval":
        print.note(`approved ${message.tool_name} of ${message.args.file_path}`);
        session.send({
          type: "client.approval_response",
          request_id: message.request_id,
          approved: true,
          scope: "all",
        });
        break;
      case "patch.proposed": {
        const { patch_id, file_path } = message;
        const applied = await workspace.apply(file_path, message.diff);
        session.send({
          type: "client.patch_apply_result",
          patch_id,
          file_path,
          ...(applied.ok
            ? { success: true, applied_hash: contentHash(applied.text) }
            : { success: false, error: { message: applied.reason, type: "conflict" } }),
        });
        print.note(applied.ok ? `applied ${file_path}: ${message.rationale}` : `refused a patch: ${applied.reason}`);
        break;
      }
      case "command.request_approval": {
        const { command_id, command } = message;
        print.note(`approved ${command}`);
        // In the mode server_runner the server runs approved commands; otherwise the editor's terminal does.
        if (policy.command_execution_mode === "server_runner") {
          session.send({ type: "client.approval_response", request_id: command_id, approved: true, scope: "all" });
          break;
        }
        const { exit_code, stdout, stderr, duration_ms } = await runHere(message, workspace);
        print.note(`ran ${command}: ${exit_code}`);
        session.send({ type: "client.command_result", command_id, command, exit_code, stdout, stderr, duration_ms });
        break;
      }
      case "server.error":
        throw new Error(message.error.message);
      case "assistant.message_final":
        print.note(`final, ${message.metadata?.files_modified} files`);
        await agent.deleteSession({ session_id });
        return;
    }
  }
}

/** Runs a command as in the user's own terminal, where the ask says. A folder outside the workspace is an error of the command. */
async function runHere(
  { command, working_directory, environment }: CommandApprovalRequestMessage,
  workspace: Workspace,
) {
  const cwd = await workspace.folder(working_directory ?? ".");
  if (cwd === undefined)
    return { exit_code: 126, stdout: "", stderr: `${working_directory} is not in the workspace`, duration_ms: 0 };
  const env = { ...process.env, ...environment };
  const ran = await runCommand(command, { cwd, env, timeLimit: 60_000, outputLimit: 1_000_000 });
  return { exit_code: ran.exitCode ?? -1, stdout: ran.stdout, stderr: ran.stderr, duration_ms: ran.durationMs };
}

await runAlone(import.meta.url, serveLoco, talkLoco);
