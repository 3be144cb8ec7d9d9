import {
  type LoCoAppHandlers,
  locoApp,
  type StreamClientMessage,
  type StreamIndexMessage,
  type StreamServerMessage,
} from "@parlance/protocols/loco-app";
import { Refusal } from "@parlance/server";
import { expect, it } from "vitest";
import { all, type Carrier, deferred, hold, overEachCarrier } from "./carriers.js";

const at = "2026-01-10T09:00:00Z";
const workspace = { id: "w", path: "/p", name: "p", created_at: at, index_status: "pending" as const };
const session = {
  id: "s",
  workspace_id: "w",
  model_provider: "ollama",
  model_name: "m",
  created_at: at,
  status: "active",
};
const hello: StreamServerMessage = { type: "server.hello", protocol_version: "1.0.0", server_info: { version: "1" } };
const input = { session_id: "s" };
const refuse = () => {
  throw new Refusal("not here", { status: 404 });
};
const beside = Object.fromEntries(
  Object.keys({ ...locoApp.operations, ...locoApp.channels }).map((name) => [name, refuse]),
) as unknown as LoCoAppHandlers;
const held = (carrier: Carrier, handlers: Partial<LoCoAppHandlers>) =>
  hold(carrier, locoApp, { ...beside, ...handlers });

overEachCarrier("loco-app", (carrier) => {
  it("every operation", async () => {
    const policy = {
      allowed_read_globs: [],
      allowed_write_globs: [],
      blocked_globs: [],
      command_approval: "always" as const,
      allowed_commands: [],
      blocked_commands: [],
      network_enabled: false,
      auto_approve_simple_changes: false,
      auto_approve_tests: false,
      auto_approve_tools: [],
    };
    const loaded = {
      provider: "ollama",
      model_name: "m",
      url: "u",
      context_window: 1,
      temperature: 0,
      display_name: "m",
    };
    const { client } = await held(carrier, {
      health: () => ({ status: "healthy" }),
      listWorkspaces: () => [workspace],
      registerWorkspace: ({ path }) => ({ ...workspace, path }),
      getWorkspace: ({ workspace_id }) => ({ ...workspace, id: workspace_id }),
      getPolicy: () => policy,
      setPolicy: ({ workspace_id: _, ...changed }) => ({ ...policy, ...changed }),
      indexWorkspace: ({ workspace_id }) => ({ success: true, workspace_id, module_id: "vscode", stats: { files: 1 } }),
      startWatch: () => ({ success: true, running: true }),
      stopWatch: () => ({ success: true, running: false, stopped: true }),
      getWatchStatus: () => ({ running: false, module_id: null }),
      createSession: ({ workspace_id }) => ({ ...session, workspace_id }),
      listSessions: ({ workspace_id = "w" }) => [{ ...session, workspace_id }],
      getSession: ({ session_id }) => ({ ...session, id: session_id }),
      updateSession: ({ title = null }) => ({ ...session, title }),
      deleteSession: () => ({ success: true }),
      getSessionMessages: () => [{ role: "user", content: "go", created_at: at }],
      listModels: ({ provider = "ollama" }) => ({ models: [{ id: "m", provider, url: "u" }] }),
      getModelStatus: () => ({ is_loaded: true, current_model: loaded }),
      getCurrentModel: () => loaded,
      switchModel: ({ model_name }) => ({ success: true, new_model: model_name, message: "done" }),
      unloadModel: () => ({ success: true, message: "done", model: "m" }),
    });
    const workspace_id = "w/1";
    expect(await client.health()).toEqual({ status: "healthy" });
    expect(await client.listWorkspaces()).toEqual([workspace]);
    expect(await client.registerWorkspace({ path: "/q", auto_watch: true })).toMatchObject({ path: "/q" });
    expect(await client.getWorkspace({ workspace_id })).toMatchObject({ id: workspace_id });
    expect(await client.getPolicy({ workspace_id })).toEqual(policy);
    expect(await client.setPolicy({ workspace_id, auto_approve_tests: true })).toMatchObject({
      auto_approve_tests: true,
    });
    expect(await client.indexWorkspace({ workspace_id })).toMatchObject({ workspace_id, stats: { files: 1 } });
    expect(await client.startWatch({ workspace_id })).toMatchObject({ running: true });
    expect(await client.stopWatch({ workspace_id })).toMatchObject({ stopped: true });
    expect(await client.getWatchStatus({ workspace_id })).toEqual({ running: false, module_id: null });
    expect(await client.createSession({ workspace_id })).toMatchObject({ workspace_id });
    expect(await client.listSessions()).toMatchObject([{ workspace_id: "w" }]);
    expect(await client.getSession(input)).toMatchObject({ id: "s" });
    expect(await client.updateSession({ ...input, title: "t" })).toMatchObject({ title: "t" });
    expect(await client.deleteSession(input)).toEqual({ success: true });
    expect(await client.getSessionMessages(input)).toMatchObject([{ content: "go" }]);
    expect(await client.listModels({ provider: "vllm" })).toMatchObject({ models: [{ provider: "vllm" }] });
    expect(await client.getModelStatus()).toMatchObject({ is_loaded: true });
    expect(await client.getCurrentModel()).toEqual(loaded);
    expect(await client.switchModel({ provider: "p", model_name: "n", url: "u" })).toMatchObject({ new_model: "n" });
    expect(await client.unloadModel()).toMatchObject({ model: "m" });
  });

  const counts = { workspace_id: "w", index_progress: 0.5 };
  it.each<StreamIndexMessage>([
    { type: "index.complete", ...counts },
    { type: "index.partial", ...counts },
    { type: "index.failed", ...counts },
    { type: "index.error", error: "workspace_not_found" },
  ])("an index is followed until $type", async (last) => {
    const flow: StreamIndexMessage[] = [{ type: "index.progress", index_status: "indexing", ...counts }, last];
    const { client, seen } = await held(carrier, {
      async *streamIndex() {
        yield* flow;
      },
    });
    expect(await all(client.streamIndex({ workspace_id: "w", auto_start: true }))).toEqual(flow);
    expect(seen.at(-1)).toBe("close streamIndex done");
  });

  it("an index that cannot be built fails in its own words, before the stream and within it", async () => {
    let begun = false;
    const { client } = await held(carrier, {
      async *streamIndex() {
        if (begun) yield { type: "index.progress", index_status: "indexing", ...counts };
        throw new Refusal("Workspace not found", { status: 404 });
      },
    });
    await expect(client.streamIndex({ workspace_id: "w" }).opened).rejects.toMatchObject({ status: 404 });
    begun = true;
    expect((await all(client.streamIndex({ workspace_id: "w" }))).at(-1)).toEqual({
      type: "index.error",
      error: "Workspace not found",
    });
  });

  it("approvals of both kinds are answered by their `request_id`, in any order", async () => {
    const results = deferred<unknown[]>();
    const { client } = await held(carrier, {
      async stream(_, channel) {
        channel.send(hello);
        const tool = (request_id: string) => ({ request_id, tool: "x", arguments: {} });
        const asks = [
          channel.ask({ type: "tool.request_approval", ...tool("1") }),
          channel.ask({ type: "command.request_approval", ...tool("2") }),
          channel.ask({ type: "tool.request_approval", ...tool("3") }),
        ];
        for await (const message of channel) if (message.type === "client.cancel") break;
        results.resolve(await Promise.all(asks));
      },
    });
    const channel = await client.stream(input);
    const answers = ["3", "1", "2"].map(
      (request_id) => ({ type: "client.approval_response", request_id, approved: request_id !== "1" }) as const,
    );
    for (const answer of answers) channel.send(answer);
    channel.send({ type: "client.cancel" });
    expect(await results.promise).toEqual([answers[1], answers[2], answers[0]]);
    await channel.close();
  });

  it("what each side sends arrives in order; a hello is not needed, and a deleted session stays open", async () => {
    const heard: StreamClientMessage[] = [];
    const flow: StreamServerMessage[] = [
      hello,
      { type: "assistant.thinking", phase: "reasoning", message: "step 1" },
      { type: "assistant.message_delta", delta: "é😀" },
      { type: "assistant.tool_use", tool: "ls", arguments: {} },
      { type: "assistant.tool_result", tool: "ls", result: { success: true, files: 2 } },
      { type: "agent.plan", steps: ["a", "b"], rationale: null },
      { type: "patch.proposed", id: "p", file_path: "a", diff: "", base_hash: null },
      { type: "server.error", error: { code: "agent_error", message: "no" } },
      { type: "error", error: "No model loaded." },
      { type: "assistant.message_final", message: "over", metadata: { iterations: 1, max_iterations_reached: true } },
    ];
    const { client } = await held(carrier, {
      deleteSession: () => ({ success: true }),
      async stream(_, channel) {
        channel.send(hello);
        for await (const message of channel) {
          heard.push(message);
          if (message.type === "client.user_message") for (const one of flow.slice(1)) channel.send(one);
          if (message.type === "client.ping") channel.send({ type: "server.pong", timestamp: at });
        }
      },
    });
    const channel = await client.stream(input);
    await client.deleteSession(input);
    channel.send({ type: "client.user_message", message: "go", context: { command: "fix" } });
    channel.send({ type: "client.ping" });
    const said: StreamServerMessage[] = [];
    for await (const message of channel) {
      said.push(message);
      if (message.type === "server.pong") break;
    }
    await channel.close();
    expect(said.slice(0, -1)).toEqual(flow);
    expect(heard.map(({ type }) => type)).toEqual(["client.user_message", "client.ping"]);
  });

  it("refuses as FastAPI does, and a message that breaks its schema with `server.error`", async () => {
    const { client, connection } = await held(carrier, {
      async stream(_, channel) {
        channel.send(hello);
        await all(channel);
      },
    });
    await expect(client.getSession(input)).rejects.toMatchObject({ status: 404, message: "not here" });
    const answer = await (connection.fetch ?? fetch)(new Request(`${connection.baseUrl}/v1/sessions/s`));
    expect(await answer.json()).toEqual({ detail: "not here" });
    await using channel = await client.stream(input);
    channel.send({ type: "client.user_message", message: 7 } as never);
    for await (const message of channel) {
      if (message.type !== "server.error") continue;
      expect(message.error).toEqual({ code: "invalid_message", message: expect.stringContaining("message") });
      break;
    }
  });
});
