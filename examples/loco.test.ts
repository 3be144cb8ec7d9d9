import { connect } from "@parlance/client";
import { loco, type StreamServerMessage, type WorkspacePolicy } from "@parlance/protocols/loco";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Think, think } from "./demo/agent.js";
import { copyWorkspace } from "./demo/workspace.js";
import { serveLoco, TOKEN } from "./loco/server.js";

const unasked: WorkspacePolicy = {
  command_execution_mode: "server_runner",
  command_approval: "never",
  tools_requiring_approval: [],
};
const open = { client_info: { name: "test", version: "0", capabilities: [] } };

async function serving({ policy = {}, thinking = think }: { policy?: WorkspacePolicy; thinking?: Think } = {}) {
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const { fetch, webSocket } = serveLoco(workspace, thinking);
  const agent = connect(loco, { fetch, webSocket, token: TOKEN });
  const { id: workspace_id } = await agent.registerWorkspace({ path: workspace.root });
  await agent.setPolicy({ workspace_id, ...policy });
  const { id: session_id } = await agent.createSession({ workspace_id });
  return { agent, workspace, session: await agent.stream({ session_id }, { open }) };
}

type Serving = Awaited<ReturnType<typeof serving>>;

/** What the server sends after a prompt, up to its end. */
async function tell({ session }: Serving, message: string, act: (message: StreamServerMessage) => void = () => {}) {
  const heard: StreamServerMessage[] = [];
  session.send({ type: "client.user_message", message });
  for await (const one of session) {
    heard.push(one);
    act(one);
    if (/final|error|session.state/.test(one.type)) break;
  }
  return heard;
}

const runs = (heard: readonly StreamServerMessage[]) =>
  heard.flatMap((one) => (one.type === "tool.execute" && one.tool_name === "execute_command" ? [one] : []));

describe("loco's example, as its document has it", () => {
  test("a cancel stops the turn, and the approval it waited for is withdrawn", async () => {
    const server = await serving();
    const heard = await tell(server, "rename calcTotal to sumCart", (message) => {
      if (message.type === "tool.request_approval") server.session.send({ type: "client.cancel", reason: "user" });
    });
    expect(heard.at(-1)).toMatchObject({
      type: "session.state",
      state: { pending_approvals: [], pending_patches: [] },
    });
    expect(heard.map(({ type }) => type)).not.toContain("assistant.message_final");
    // A late approval changes nothing, and the next message is worked off.
    const asked = heard.find((one) => one.type === "tool.request_approval")!;
    const { request_id } = asked as StreamServerMessage & { type: "tool.request_approval" };
    server.session.send({ type: "client.approval_response", request_id, approved: true, scope: "all" });
    const next = await tell(server, "rename nothingLikeThis to x");
    expect(next.at(-1)).toMatchObject({ type: "assistant.message_final" });
    expect(next.map(({ type }) => type)).not.toContain("patch.proposed");
    await server.session.close();
  });

  test("an unknown session is SESSION_NOT_FOUND at the socket", async () => {
    const { agent, session } = await serving();
    await session.close();
    const refused = agent.stream({ session_id: "unknown" }, { open });
    await expect(refused).rejects.toMatchObject({ status: 404, code: "SESSION_NOT_FOUND" });
  });

  test("the server runner streams a command's output while it runs", async () => {
    const policy = unasked;
    const server = await serving({ policy });
    // The file is made only after the first line was heard: the output has not waited for the end.
    const command = "echo one; until test -e go; do sleep 0.01; done; echo two >&2";
    let written: Promise<unknown> | undefined;
    const heard = await tell(server, `run \`${command}\``, (message) => {
      if (message.type === "tool.execute" && message.result?.stdout === "one\n")
        written ??= server.workspace.write("go", "");
    });
    // The file is there before the write has cleaned up after itself.
    await written;
    const started = { args: { command }, status: "started" };
    expect(runs(heard)).toMatchObject([
      started,
      { ...started, result: { stdout: "one\n" } },
      { ...started, result: { stderr: "two\n" } },
      { args: { command }, status: "completed", result: { exit_code: 0 } },
    ]);
    await server.session.close();
  });

  test("the server runner kills what is over the policy's limits", async () => {
    const policy = unasked;
    const [slow, loud] = [
      await serving({ policy: { ...policy, time_limit_ms: 50 } }),
      await serving({ policy: { ...policy, output_limit_bytes: 10 } }),
    ];
    expect(runs(await tell(slow, "run `sleep 60`")).at(-1)).toMatchObject({ status: "failed" });
    const output = runs(await tell(loud, "run `yes`"));
    expect(output.map(({ result }) => result?.stdout ?? "").join("")).toBe("y\ny\ny\ny\ny\n");
    for (const { session } of [slow, loud]) await session.close();
  });

  test("a command that asks runs on the server once it is approved, and not where it is refused", async () => {
    for (const approved of [true, false]) {
      const server = await serving({ policy: { command_execution_mode: "server_runner" } });
      const heard = await tell(server, "run `echo hi`", (message) => {
        if (message.type !== "command.request_approval") return;
        server.session.send({
          type: "client.approval_response",
          request_id: message.command_id,
          approved,
          scope: "all",
        });
      });
      expect(runs(heard).length > 0).toBe(approved);
      await server.session.close();
    }
  });

  test.each<[string, WorkspacePolicy, Think, string]>([
    [
      "a file outside",
      { tools_requiring_approval: [] },
      function* (prompt, files) {
        for (const step of think(prompt, files))
          yield step.does === "edit" ? { ...step, edit: { ...step.edit, path: "../outside.ts" } } : step;
      },
      "rename calcTotal to sumCart",
    ],
    ["a command that it blocks", { blocked_commands: ["rm -rf"] }, think, "run `rm -rf src`"],
  ])("the policy refuses %s, whatever the agent does", async (_, policy, thinking, prompt) => {
    const server = await serving({ policy, thinking });
    const heard = await tell(server, prompt);
    expect(heard.at(-1)).toMatchObject({ type: "server.error", error: { code: "POLICY_VIOLATION" } });
    for (const type of ["patch.proposed", "command.request_approval"])
      expect(heard.map((one) => one.type)).not.toContain(type);
    await server.session.close();
  });
});
