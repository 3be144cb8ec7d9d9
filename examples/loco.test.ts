import { symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect } from "@parlance/client";
import { type Play, play } from "@parlance/client/testing";
import { loco, type StreamServerMessage, type WorkspacePolicy, type Workspaces } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Think, think } from "./demo/agent.js";
import { cleanEnvironment, runCommand } from "./demo/run.js";
import { copyWorkspace } from "./demo/workspace.js";
import { talkLoco } from "./loco/client.js";
import { memory } from "./loco/memory.js";
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

type Session = Awaited<ReturnType<typeof serving>>["session"];

/** What the server sends after a prompt, up to its end. */
async function tell(session: Session, message: string, editor: Play<StreamServerMessage> = play(session)) {
  const before = editor.heard.length;
  session.send({ type: "client.user_message", message });
  const last = await editor.until("assistant.message_final", "server.error", "session.state");
  return editor.heard.slice(before, editor.heard.indexOf(last) + 1);
}

const runs = (heard: readonly StreamServerMessage[]) =>
  heard.flatMap((one) => (one.type === "tool.execute" && one.tool_name === "execute_command" ? [one] : []));

describe("loco's example, as its document has it", () => {
  test("a cancel stops the turn, and the approval it waited for is withdrawn", async () => {
    const { session } = await serving();
    const editor = play(session, {
      "tool.request_approval": () => session.send({ type: "client.cancel", reason: "user" }),
    });
    const heard = await tell(session, "rename calcTotal to sumCart", editor);
    expect(heard.at(-1)).toMatchObject({
      type: "session.state",
      state: { pending_approvals: [], pending_patches: [] },
    });
    expect(heard.map(({ type }) => type)).not.toContain("assistant.message_final");
    // A late approval changes nothing, and the next message is worked off.
    const asked = heard.find((one) => one.type === "tool.request_approval")!;
    const { request_id } = asked as StreamServerMessage & { type: "tool.request_approval" };
    session.send({ type: "client.approval_response", request_id, approved: true, scope: "all" });
    const next = await tell(session, "rename nothingLikeThis to x", editor);
    expect(next.at(-1)).toMatchObject({ type: "assistant.message_final" });
    expect(next.map(({ type }) => type)).not.toContain("patch.proposed");
    await session.close();
  });

  test("an unknown session is SESSION_NOT_FOUND at the socket", async () => {
    const { agent, session } = await serving();
    await session.close();
    const refused = agent.stream({ session_id: "unknown" }, { open });
    await expect(refused).rejects.toMatchObject({ status: 404, code: "SESSION_NOT_FOUND" });
  });

  test("the server runner streams a command's output while it runs", async () => {
    const policy = unasked;
    const { session, workspace } = await serving({ policy });
    // The file is made only after the first line was heard: the output has not waited for the end.
    const command = "echo one; until test -e go; do sleep 0.01; done; echo two >&2";
    let written: Promise<unknown> | undefined;
    const editor = play(session, {
      "tool.execute"({ result }) {
        if (result?.stdout === "one\n") written ??= workspace.write("go", "");
      },
    });
    const heard = await tell(session, `run \`${command}\``, editor);
    // The file is there before the write has cleaned up after itself.
    await written;
    const started = { args: { command }, status: "started" };
    expect(runs(heard)).toMatchObject([
      started,
      { ...started, result: { stdout: "one\n" } },
      { ...started, result: { stderr: "two\n" } },
      { args: { command }, status: "completed", result: { exit_code: 0 } },
    ]);
    await session.close();
  });

  test("the server runner kills what is over the policy's limits", async () => {
    const policy = unasked;
    const [slow, loud] = [
      await serving({ policy: { ...policy, time_limit_ms: 50 } }),
      await serving({ policy: { ...policy, output_limit_bytes: 10 } }),
    ];
    expect(runs(await tell(slow.session, "run `sleep 60`")).at(-1)).toMatchObject({ status: "failed" });
    const output = runs(await tell(loud.session, "run `yes`"));
    expect(output.map(({ result }) => result?.stdout ?? "").join("")).toBe("y\ny\ny\ny\ny\n");
    for (const { session } of [slow, loud]) await session.close();
  });

  test("the server runner uses the approval's environment and folder, and nothing of the server's environment", async () => {
    process.env.PARLANCE_TEST_SECRET = "s3cret";
    onTestFinished(() => void delete process.env.PARLANCE_TEST_SECRET);
    const { session, workspace } = await serving({ policy: { command_execution_mode: "server_runner" } });
    const asked: object[] = [];
    const editor = play(session, {
      "command.request_approval"({ command_id, ...ask }) {
        asked.push(ask);
        session.send({ type: "client.approval_response", request_id: command_id, approved: true, scope: "all" });
      },
    });
    const heard = await tell(session, "run `pwd; env; echo $HOME` in src with MODE=test CI=1", editor);
    const working_directory = join(workspace.root, "src");
    expect(asked).toMatchObject([{ working_directory, environment: { MODE: "test", CI: "1" } }]);
    const output = runs(heard)
      .map(({ result }) => result?.stdout ?? "")
      .join("")
      .trim()
      .split("\n");
    const names = output.map((line) => line.split("=")[0]).filter((name) => !/^(?:_|SHLVL|OLDPWD)$/.test(name!));
    expect(output).toEqual(expect.arrayContaining(["MODE=test", "CI=1", `HOME=${workspace.root}`]));
    expect(names.sort()).toEqual(
      ["CI", "HOME", "LANG", "MODE", "PATH", "PWD", working_directory, workspace.root].sort(),
    );
    await session.close();
  });

  test.each(["..", "../outside", "/", "out"])("the server runner does not run a command in %s", async (directory) => {
    const { session, workspace } = await serving({ policy: { command_execution_mode: "server_runner" } });
    await symlink(dirname(workspace.root), join(workspace.root, "out"));
    const heard = await tell(session, `run \`touch ran\` in ${directory}`);
    expect(heard.at(-1)).toMatchObject({ type: "server.error", error: { code: "POLICY_VIOLATION" } });
    expect(heard.map(({ type }) => type)).not.toContain("command.request_approval");
    await session.close();
  });

  test("a command is killed at its limit of memory and of processor time", async () => {
    const within = { cwd: tmpdir(), env: cleanEnvironment(tmpdir()), timeLimit: 60_000, outputLimit: 1000 };
    const large = await runCommand("head -c 500000000 /dev/zero | tail", { ...within, memoryLimit: 2 ** 26 });
    expect([large.exitCode, large.stderr]).toEqual([1, expect.stringMatching(/memory/)]);
    expect(await runCommand("while :; do :; done", { ...within, processorLimit: 1 })).toMatchObject({ exitCode: null });
  });

  test.each([
    ["runs a command where the ask says, with its environment", "src", { exit_code: 0, stdout: "src test\n" }],
    ["runs no command outside the workspace", "..", { exit_code: 126, stdout: "" }],
  ])("the client %s", async (_, directory, result) => {
    const workspace = await copyWorkspace();
    onTestFinished(workspace.remove);
    const results: unknown[] = [];
    const app = serve(
      loco,
      {
        ...memory().handlers,
        async stream(_: unknown, channel) {
          channel.send({ type: "server.hello", server_info: { version: "1" } });
          const command = 'echo "$(basename "$PWD") $MODE"';
          const working_directory = join(workspace.root, directory);
          const rest = { working_directory, environment: { MODE: "test" }, requires_approval: true, reason: "" };
          results.push(await channel.ask({ type: "command.request_approval", command_id: "c", command, ...rest }));
          channel.send({ type: "assistant.message_final", message: "", metadata: {} });
        },
      },
      { allowAnonymous: true },
    );
    const connection = { fetch: app.fetch, webSocket: app.webSocket };
    const notes: string[] = [];
    const print = { text() {}, note: (what: string) => void notes.push(what) };
    await talkLoco({ baseUrl: "http://localhost", connection, workspace, prompt: "test", print });
    expect(results).toMatchObject([{ type: "client.command_result", command_id: "c", ...result }]);
    expect(notes).toContainEqual(expect.stringMatching(`^ran .*: ${result.exit_code}$`));
  });

  test("the index takes the changes of the socket and of the incremental operation, without a rebuild", async () => {
    const { agent, session, workspace } = await serving();
    const [{ id: workspace_id }] = (await agent.listWorkspaces()) as unknown as [Workspaces[number]];
    const { size } = await workspace.files();
    const count = (total_files: number) => ({ index_status: "complete", total_files, indexed_files: total_files });
    expect(await agent.rebuildIndex({ workspace_id })).toEqual(count(size));
    for (const changes of [{}, "a", null] as unknown as never[])
      await expect(agent.updateIndex({ workspace_id, changes })).rejects.toMatchObject({ status: 400 });
    const content_hash = `sha256:${"0".repeat(64)}`;
    const created = (file_path: string) => ({ type: "created" as const, file_path, content_hash });
    expect(await agent.updateIndex({ workspace_id, changes: [created("a"), created("b")] })).toEqual(count(size + 2));
    session.send({ type: "client.file_changes", changes: [{ type: "deleted", file_path: "a" }, created("c")] });
    session.send({ type: "client.file_changes", changes: [{ type: "deleted", file_path: "b" }] });
    await tell(session, "hello");
    expect(await agent.getIndexStatus({ workspace_id })).toEqual(count(size + 1));
    // What is not on the disk is gone after a rebuild.
    expect(await agent.refreshIndex({ workspace_id })).toEqual(count(size));
    await session.close();
  });

  test("a patch is minimal: three lines around a change, and no more", async () => {
    const { session, workspace } = await serving({ policy: { tools_requiring_approval: [] } });
    await workspace.write("long.ts", `${"x\n".repeat(50)}calcTotal\n${"x\n".repeat(50)}`);
    const patches: { diff: string; hunks: readonly object[] }[] = [];
    const editor = play(session, {
      "patch.proposed"(patch) {
        if (patch.file_path === "long.ts") patches.push(patch);
        session.send({ type: "client.approval_response", request_id: patch.patch_id, approved: false, scope: "all" });
      },
    });
    await tell(session, "rename calcTotal to sumCart", editor);
    expect(patches).toMatchObject([{ hunks: [{ old_start: 48, old_lines: 7, new_start: 48, new_lines: 7 }] }]);
    expect(patches[0]!.diff.trimEnd().split("\n")).toHaveLength(2 + 1 + 8);
    await session.close();
  });

  test("a command that asks runs on the server once it is approved, and not where it is refused", async () => {
    for (const approved of [true, false]) {
      const { session } = await serving({ policy: { command_execution_mode: "server_runner" } });
      const editor = play(session, {
        "command.request_approval": ({ command_id: request_id }) =>
          session.send({ type: "client.approval_response", request_id, approved, scope: "all" }),
      });
      expect(runs(await tell(session, "run `echo hi`", editor)).length > 0).toBe(approved);
      await session.close();
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
    const { session } = await serving({ policy, thinking });
    const heard = await tell(session, prompt);
    expect(heard.at(-1)).toMatchObject({ type: "server.error", error: { code: "POLICY_VIOLATION" } });
    for (const type of ["patch.proposed", "command.request_approval"])
      expect(heard.map((one) => one.type)).not.toContain(type);
    await session.close();
  });
});
