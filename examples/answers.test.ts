import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { expect, onTestFinished, test, vi } from "vitest";
import { serveAgentsmithy } from "./agentsmithy/server.js";
import { serveBased } from "./based/server.js";
import type { Think } from "./demo/agent.js";
import { copyWorkspace } from "./demo/workspace.js";
import { serveFoldGateway } from "./fold-gateway/server.js";

test("based's example creates a file where there is none, and where one is asked for", async () => {
  const { fetch, webSocket } = serveBased();
  await using session = await connect(based, { fetch, webSocket }).session();
  const prompt = "Please create a simple counter agent: ../../x";
  const filename = "simple-counter-agent-x.based";
  expect(await session.ask({ type: "prompt", prompt })).toMatchObject({
    type: "file_created",
    filename,
    files: [filename],
  });
  expect(await session.ask({ type: "read_file", filename })).toMatchObject({ type: "file_content", filename });
  expect(await session.ask({ type: "prompt", prompt: "create a simple counter agent x" })).toMatchObject({
    type: "file_created",
    filename: "simple-counter-agent-x-2.based",
  });
  // An edit needs a file that is there.
  expect(await session.ask({ type: "prompt", prompt: "fix it", activeFile: "x" })).toMatchObject({
    type: "edit_error",
  });
});

test("based's example answers an unexpected error with the general one, and keeps the connection", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { fetch, webSocket } = serveBased(undefined, () => {
    throw new Error("secret");
  });
  await using session = await connect(based, { fetch, webSocket }).session();
  await session.ask({ type: "upload_file", filename: "a", content: "x" });
  expect(await session.ask({ type: "prompt", prompt: "fix it", activeFile: "a" })).toEqual({
    type: "error",
    error: "the server failed",
    action: "prompt",
  });
  expect(await session.ask({ type: "list_files" })).toMatchObject({ files: ["a"] });
});

test("fold-gateway's example keeps a thread: its agent, and what was asked in it", async () => {
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const gateway = connect(foldGateway, { fetch: serveFoldGateway(workspace).fetch });
  const send = async (content: string, thread_id?: string) => {
    const seen = { agent: "", text: "" };
    for await (const message of gateway.send({ content, thread_id })) {
      if (message.type === "thinking") seen.agent = message.text;
      if (message.type === "done") seen.text = message.full_response;
    }
    return seen;
  };
  const first = await send("rename calcTotal to sumCart", "t1");
  const other = await send("again", "t2");
  expect(other.agent).not.toBe(first.agent);
  expect(other.text).not.toBe(first.text);
  expect(await send("again", "t1")).toEqual(first);
  expect(await send("again", "t1")).toEqual(first);
});

test("fold-gateway's example lists its agents, sends to the one that is named, and refuses one that it does not have", async () => {
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const gateway = connect(foldGateway, { fetch: serveFoldGateway(workspace).fetch });
  const agents = await gateway.listAgents();
  expect([await gateway.health(), await gateway.ready()]).toEqual(["OK", `ready (${agents.length} agents)`]);
  for (const { id, name } of agents)
    for await (const message of gateway.send({ content: "rename a to b", agent_id: id })) {
      expect(message).toMatchObject({ type: "thinking", text: expect.stringContaining(name) });
      break;
    }
  const refused = gateway.send({ content: "rename a to b", agent_id: "none" });
  await expect(refused.opened).rejects.toMatchObject({ status: 404, message: "agent none not found" });
});

const code = { current_file: { path: "src/cart.ts", content: "calcTotal" } };

test.each([
  ["code and a keyword", "rename calcTotal to sumCart", code, 3],
  ["code without a keyword", "what is calcTotal?", code, 0],
  ["a keyword without code", "rename calcTotal to sumCart", undefined, 0],
])(
  "agentsmithy's example answers %s with the document's diffs, in a stream as in one body",
  async (_, content, context, count) => {
    const workspace = await copyWorkspace();
    onTestFinished(workspace.remove);
    const agent = connect(agentsmithy, { fetch: serveAgentsmithy(workspace).fetch });
    const input = { messages: [{ role: "user", content }], context };
    const { content: text, diffs } = await agent.complete(input);
    expect(diffs).toHaveLength(count);
    const streamed = [];
    for await (const message of agent.chat(input)) streamed.push(message);
    expect(streamed.filter(({ type }) => type === "diff")).toEqual(diffs);
    expect(streamed.flatMap((one) => (one.type === "content" ? [one.content] : [])).join("")).toBe(text);
    expect(streamed[0]!.type).toBe(count > 0 ? "classification" : "content");
    expect(streamed.at(-1)).toEqual({ type: "done" });
  },
);

test("agentsmithy's example says error where its agent fails, and refuses it in one body", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(console, "error").mockImplementation(() => {});
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const failing: Think = function* () {
    yield { does: "say", text: "I" };
    throw new Error("secret");
  };
  const agent = connect(agentsmithy, { fetch: serveAgentsmithy(workspace, failing).fetch });
  const input = { messages: [{ role: "user", content: "hello" }] };
  const streamed = [];
  for await (const message of agent.chat(input)) streamed.push(message);
  expect(streamed).toEqual([
    { type: "content", content: "I" },
    { type: "error", error: expect.not.stringContaining("secret") },
  ]);
  await expect(agent.complete(input)).rejects.toMatchObject({ name: "Refusal", status: 500 });
});

test("based's example refuses in its document's words", async () => {
  const { webSocket } = serveBased();
  const actions = [
    { action: "upload_file", filename: "a.based", content: "one\n" },
    { action: "prompt", prompt: "fix it", activeFile: "b.based" },
    { action: "apply_diff", filename: "b.based", diff: "" },
    { action: "apply_diff", filename: "a.based", diff: "@@ -1 +1 @@\n-two\n+three\n" },
    { action: "read_file", filename: "b.based" },
    { action: "xyz" },
    { action: "prompt" },
    {},
  ];
  const port = await webSocket("ws://localhost/ws", { headers: {}, protocols: [], maxSize: 1_000_000 });
  if ("refused" in port) throw new Error("refused");
  const heard: Record<string, unknown>[] = [];
  await new Promise<void>((resolve) => {
    port.listen({
      close: () => resolve(),
      frame(text) {
        heard.push(JSON.parse(text));
        const next = actions[heard.length - 1];
        if (next) port.send(JSON.stringify(next));
        else resolve();
      },
    });
  });
  port.close(1000, "");
  expect(heard.slice(1)).toMatchObject([
    { status: "success", action: "file_uploaded", files: ["a.based"] },
    {
      status: "error",
      action: "edit_error",
      error: "Please select a file to edit. Active file 'b.based' not found or invalid.",
    },
    { status: "error", action: "apply_diff_error", error: "File not found: b.based" },
    { status: "error", action: "apply_diff_error", error: expect.stringMatching(/^Patch failed: /) },
    { status: "error", action: "read_file", error: "File not found" },
    { status: "error", action: "xyz", error: "Unknown action: xyz" },
    { status: "error", action: "prompt", error: expect.stringContaining("prompt") },
    { status: "error", error: expect.any(String) },
  ]);
});

test("based's example keeps the files of each connection apart", async () => {
  const { fetch, webSocket } = serveBased();
  await using one = await connect(based, { fetch, webSocket }).session();
  await using other = await connect(based, { fetch, webSocket }).session();
  await one.ask({ type: "upload_file", filename: "a", content: "mine" });
  expect(await other.ask({ type: "list_files" })).toEqual({ type: "file_list", files: [] });
  expect(await other.ask({ type: "read_file", filename: "a" })).toMatchObject({ type: "read_file_error" });
  await other.ask({ type: "upload_file", filename: "a", content: "theirs" });
  expect(await one.ask({ type: "read_file", filename: "a" })).toMatchObject({ content: "mine" });
});
