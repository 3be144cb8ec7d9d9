import { connect } from "@parlance/client";
import { enforce } from "@parlance/protocols/helpers/loco-enforce";
import { type LoCoHandlers, loco, type StreamServerMessage, type WorkspacePolicy } from "@parlance/protocols/loco";
import { type Hooks, serve } from "@parlance/server";
import { describe, expect, it } from "vitest";

type Message = StreamServerMessage;

const hello: Message = { type: "server.hello", server_info: { version: "0" } };
const diff = (path: string, other = path) => `--- a/${path}\n+++ b/${other}\n@@ -1 +1 @@\n-a\n+b\n`;
const tool = (
  tool_name: string,
  args: Record<string, unknown>,
  status: "started" | "completed" = "started",
): Message => ({
  type: "tool.execute",
  tool_name,
  args,
  status,
});
const patch = (file_path: string, fields: object = {}): Message => ({
  type: "patch.proposed",
  patch_id: "p",
  file_path,
  diff: diff(file_path),
  rationale: "",
  acceptance_criteria: [],
  requires_approval: true,
  hunks: [],
  ...fields,
});
const command = (line: string, fields: object = {}): Message => ({
  type: "command.request_approval",
  command_id: "c",
  command: line,
  requires_approval: true,
  reason: "",
  ...fields,
});
const asking = (tool_name: string, args: Record<string, unknown>): Message => ({
  type: "tool.request_approval",
  request_id: "r",
  tool_name,
  args,
  risk_level: "low",
});

interface Approval {
  readonly approve: boolean;
  readonly scope: "all" | "file" | "hunk";
  readonly file_path: string;
  /** How often the client answers one request. */
  readonly times: number;
}

/** What an agent's handler sends under a policy: the code of what is refused, or that it was sent. */
async function sends(
  policy: WorkspacePolicy,
  messages: readonly Message[],
  { approve = true, scope = "all", file_path = "a", times = 1 } = {} as Partial<Approval>,
): Promise<string[]> {
  const outcomes: string[] = [];
  const handlers = {
    async stream(_, channel) {
      channel.send(hello);
      for (const message of messages) {
        try {
          if (/request_approval/.test(message.type))
            await channel.ask(message as Message & { type: "tool.request_approval" });
          else channel.send(message);
          outcomes.push("sent");
        } catch (error) {
          outcomes.push((error as { code: string }).code);
        }
      }
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const hooks: Hooks = enforce(() => policy, { root: "/work" });
  const { fetch, webSocket } = serve(loco, handlers, { authenticate: () => "me", hooks });
  const agent = connect(loco, { fetch, webSocket, token: "t" });
  const session = await agent.stream(
    { session_id: "s" },
    { open: { client_info: { name: "", version: "", capabilities: [] } } },
  );
  let received = 0;
  for await (const message of session) {
    if (message.type !== "server.hello") received++;
    const request_id =
      message.type === "tool.request_approval"
        ? message.request_id
        : message.type === "command.request_approval"
          ? message.command_id
          : undefined;
    for (let time = 0; request_id !== undefined && time < times; time++)
      session.send({ type: "client.approval_response", request_id, approved: approve, scope, file_path });
  }
  expect(received).toBe(outcomes.filter((outcome) => outcome === "sent").length);
  return outcomes;
}

const no = "POLICY_VIOLATION";
const runner: WorkspacePolicy = { command_execution_mode: "server_runner", blocked_commands: ["rm -rf"] };
const make = { command: "make" };

describe("A policy is enforced on what the agent sends", () => {
  it.each<[string, WorkspacePolicy, Message[], string[]]>([
    ["a path outside, by any name", {}, [tool("read_file", { path: "../../etc/passwd" })], [no]],
    ["a directory outside", runner, [command("make", { working_directory: "/etc" })], [no]],
    ["a patch of a file outside", {}, [patch("../x")], [no]],
    ["a patch whose diff is for a file outside", {}, [patch("a.ts", { diff: diff("../x") })], [no]],
    ["a patch whose diff is for another file", {}, [patch("a.ts", { diff: diff("b.ts") })], [no]],
    ["a patch that renames its file away", {}, [patch("a.ts", { diff: diff("a.ts", "b.ts") })], [no]],
    ["a patch that cannot be read", {}, [patch("a.ts", { diff: "rm everything" })], [no]],
    ["a patch without approval", {}, [patch("a.ts", { requires_approval: false })], [no]],
    ["a blocked command, though the user would approve it", runner, [command("rm -rf src")], [no]],
    ["approval of a tool for a path outside", {}, [asking("write_file", { file_path: "../x" })], [no]],
    ["a command that runs unasked", runner, [tool("execute_command", make)], [no]],
    ["one that is reported only when it is over", runner, [tool("execute_command", make, "completed")], [no]],
    [
      "a command on the server, where the terminal is the mode",
      {},
      [command("make"), tool("execute_command", make)],
      ["sent", no],
    ],
    [
      "a second run by one approval",
      runner,
      [command("make"), tool("execute_command", make), tool("execute_command", make)],
      ["sent", "sent", no],
    ],
    [
      "another command than the approved one",
      runner,
      [command("make"), tool("execute_command", { command: "make install" })],
      ["sent", no],
    ],
    [
      "another file than the approved one",
      {},
      [asking("write_file", { file_path: "a" }), tool("write_file", { file_path: "b" })],
      ["sent", no],
    ],
  ])("%s is refused, and is not sent", async (_, policy, messages, outcomes) => {
    expect(await sends(policy, messages)).toEqual(outcomes);
  });

  it.each<[string, WorkspacePolicy, Message[]]>([
    [
      "a tool that does not ask",
      {},
      [tool("read_file", { path: "a.ts" }), tool("read_file", { path: "a.ts" }, "completed")],
    ],
    [
      "an approved tool",
      {},
      [asking("write_file", { file_path: "a", reason: "x" }), tool("write_file", { file_path: "a" })],
    ],
    [
      "an approved command, its output and its end",
      runner,
      [
        command("make", { working_directory: "/work/a" }),
        tool("execute_command", make),
        { ...tool("execute_command", make), result: { stdout: "x" } } as Message,
        tool("execute_command", make, "completed"),
      ],
    ],
    ["a patch that asks", {}, [patch("a.ts")]],
    ["a patch whose diff names no file", {}, [patch("a.ts", { diff: "@@ -1 +1 @@\n-one\n+two\n" })]],
    ["a patch that need not ask", { tools_requiring_approval: [] }, [patch("a.ts", { requires_approval: false })]],
  ])("%s is sent", async (_, policy, messages) => {
    expect(await sends(policy, messages)).toEqual(messages.map(() => "sent"));
  });

  it("what the user has approved twice runs once", async () => {
    const messages = [command("make"), tool("execute_command", make), tool("execute_command", make, "completed")];
    expect(await sends(runner, [...messages, tool("execute_command", make)], { times: 2 })).toEqual([
      ...messages.map(() => "sent"),
      no,
    ]);
  });

  it("what the user has refused does not run", async () => {
    expect(await sends(runner, [command("make"), tool("execute_command", make)], { approve: false })).toEqual([
      "sent",
      no,
    ]);
  });

  it.each<[string, WorkspacePolicy, Message[], Partial<Approval>]>([
    [
      "the file of a tool",
      {},
      [asking("write_file", { file_path: "a" }), tool("write_file", { file_path: "a" })],
      { scope: "file" },
    ],
    [
      "its hunk",
      {},
      [asking("write_file", { file_path: "a" }), tool("write_file", { file_path: "a" })],
      { scope: "hunk" },
    ],
    ["a command, whatever the scope", runner, [command("make"), tool("execute_command", make)], { scope: "file" }],
  ])("an approval of %s lets it run, and a refusal does not", async (_, policy, messages, approval) => {
    expect(await sends(policy, messages, approval)).toEqual(["sent", "sent"]);
    expect(await sends(policy, messages, { ...approval, approve: false })).toEqual(["sent", no]);
  });

  it("an approval of another file than the tool's lets nothing run", async () => {
    const sent: string[] = [];
    const app = serve(
      loco,
      {
        async stream(_: unknown, channel: Parameters<LoCoHandlers["stream"]>[1]) {
          channel.send(hello);
          channel.send(asking("write_file", { file_path: "a" }));
          for await (const message of channel) {
            if (message.type !== "client.approval_response") continue;
            try {
              channel.send(tool("write_file", { file_path: "a" }));
              sent.push(message.file_path!);
            } catch (error) {
              sent.push((error as { code: string }).code);
              channel.send({ type: "assistant.token", token: "no" });
            }
          }
        },
      } as Partial<LoCoHandlers> as LoCoHandlers,
      { authenticate: () => "me", hooks: enforce({}) },
    );
    const session = await connect(loco, { fetch: app.fetch, webSocket: app.webSocket, token: "t" }).stream(
      { session_id: "s" },
      { open: { client_info: { name: "", version: "", capabilities: [] } } },
    );
    const approve = (file_path: string) =>
      session.send({ type: "client.approval_response", request_id: "r", approved: true, scope: "file", file_path });
    approve("b");
    for await (const message of session) {
      if (message.type === "assistant.token") approve("a");
      if (message.type === "tool.execute") await session.close();
    }
    expect(sent).toEqual([no, "a"]);
  });
});

it("file changes outside the workspace reach no index, neither on the socket nor over HTTP", async () => {
  const changed: string[] = [];
  const handlers = {
    updateIndex({ changes }) {
      changed.push(...changes.map(({ file_path }) => file_path));
      return { index_status: "complete" };
    },
    async stream(_, channel) {
      channel.send(hello);
      for await (const message of channel)
        if (message.type === "client.file_changes") changed.push(...message.changes.map(({ file_path }) => file_path));
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const { fetch, webSocket } = serve(loco, handlers, { authenticate: () => "me", hooks: enforce({}) });
  const agent = connect(loco, { fetch, webSocket, token: "t" });
  const changes = [{ type: "created" as const, file_path: "../x", content_hash: `sha256:${"0".repeat(64)}` }];
  const refusal = { status: 403, code: no };
  await expect(agent.updateIndex({ workspace_id: "w", changes })).rejects.toMatchObject(refusal);
  await using session = await agent.stream(
    { session_id: "s" },
    { open: { client_info: { name: "", version: "", capabilities: [] } } },
  );
  session.send({ type: "client.file_changes", changes });
  for await (const message of session)
    if (message.type === "server.error") {
      expect(message.error.code).toBe(no);
      break;
    }
  await agent.updateIndex({
    workspace_id: "w",
    changes: [{ type: "created", file_path: "in/x", content_hash: `sha256:${"0".repeat(64)}` }],
  });
  expect(changed).toEqual(["in/x"]);
});
