import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type LoCoAppHandlers, locoApp, type StreamServerMessage } from "@parlance/protocols/loco-app";
import { type Apps, Refusal, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { ContractValue } from "@parlance/wire";
import { describe, expect, it, onTestFinished } from "vitest";
import { all } from "../conversations/carriers.js";
import { diff, locoBackend } from "./loco-backend.js";
import { locoBrowser, locoExtension } from "./loco-clients.js";

const options = async (token?: string): Promise<ConnectOptions> => ({
  baseUrl: await locoBackend(token),
  webSocket,
  retryWaits: [],
});

describe("LoCo's backend", () => {
  it("holds a whole conversation with a client of loco-app", async () => {
    const client = connect(locoApp, await options());
    expect(await client.health()).toMatchObject({ status: "healthy", protocol_version: "1.0.0" });
    const { id: workspace_id } = await client.registerWorkspace({ path: "/p", auto_index: true });
    const progress = await all(client.streamIndex({ workspace_id, auto_start: true }));
    expect(progress).toMatchObject([
      { type: "index.progress", index_status: "indexing", index_progress: 0.5 },
      { type: "index.complete", indexed_files: 2 },
    ]);
    expect(await client.startWatch({ workspace_id })).toEqual({ success: true, running: true });
    expect(await client.getWatchStatus({ workspace_id })).toEqual({ running: true, module_id: "vscode" });
    expect((await client.listModels()).models).toMatchObject([{ id: "m" }]);
    expect(await client.getModelStatus()).toEqual({ is_loaded: false, current_model: null });
    const { id: session_id } = await client.createSession({ workspace_id });

    const session = await client.stream({ session_id });
    session.send({ type: "client.ping" });
    session.send({ type: "client.user_message", message: "go" });
    const heard: StreamServerMessage[] = [];
    let text = "";
    for await (const message of session) {
      heard.push(message);
      if (message.type === "assistant.message_delta") text += message.delta;
      if (message.type === "tool.request_approval" || message.type === "command.request_approval")
        session.send({
          type: "client.approval_response",
          request_id: message.request_id,
          approved: message.tool !== "http_get",
        });
      if (message.type === "assistant.message_final") session.send({ type: "client.cancel" });
    }
    expect(text).toBe("One é😀");
    expect(heard.map(({ type }) => type)).toEqual([
      "server.hello",
      "server.pong",
      "assistant.thinking",
      "assistant.message_delta",
      "assistant.message_delta",
      "assistant.tool_use",
      "command.request_approval",
      "tool.request_approval",
      "assistant.tool_result",
      "assistant.tool_result",
      "agent.plan",
      "patch.proposed",
      "error",
      "assistant.message_final",
    ]);
    expect(heard.flatMap((message) => (message.type === "assistant.tool_result" ? [message.result] : []))).toEqual([
      { success: true },
      { success: false },
    ]);
    // It drops the socket after a cancel.
    expect(await session.closed).toMatchObject({ code: 1006 });
    expect(await client.getSessionMessages({ session_id })).toMatchObject([{ role: "user", content: "go" }]);
    expect(await client.updateSession({ session_id, title: "t" })).toMatchObject({ title: "t" });
  });

  it("refuses in its own words, over HTTP and on the socket of a session that does not exist", async () => {
    const client = connect(locoApp, await options());
    await expect(client.getWorkspace({ workspace_id: "none" })).rejects.toMatchObject({
      name: "Refusal",
      status: 404,
      message: "Workspace not found",
    });
    await using session = await client.stream({ session_id: "none" });
    session.send({ type: "client.user_message", message: "go" });
    for await (const message of session)
      if (message.type === "server.error") {
        expect(message.error).toEqual({ code: "session_not_found", message: "Session not found" });
        break;
      }
  });

  it("takes its token from the header or from the query, and refuses any other with 403", async () => {
    const connection = await options("s3cret");
    const hello = async (own: ConnectOptions, token?: string) => {
      await using session = await connect(locoApp, { ...connection, ...own }).stream({
        session_id: "s1",
        ...(token && { token }),
      });
      for await (const message of session) return message.type;
      return undefined;
    };
    expect(await hello({ token: "s3cret" })).toBe("server.hello");
    expect(await hello({}, "s3cret")).toBe("server.hello");
    await expect(hello({ token: "wrong" })).rejects.toMatchObject({ name: "Refusal", status: 403 });
  });

  it("holds a conversation with a client of loco, as far as that contract goes", async () => {
    const unknown: string[] = [];
    const client = connect(loco, {
      ...(await options()),
      onUnknown: ({ body }) => void unknown.push((body as { type: string }).type),
    });
    const { id: workspace_id } = await client.registerWorkspace({ path: "/p" });
    const { id: session_id } = await client.createSession({ workspace_id });
    expect(await client.listSessions({ workspace_id })).toMatchObject([{ id: session_id }]);
    expect(await client.listModels()).toMatchObject([{ provider: "ollama", model_name: "m" }]);
    const client_info = { name: "test", version: "1", capabilities: [] };
    const session = await client.stream({ session_id }, { open: { client_info } });
    session.send({ type: "client.user_message", message: "go", context: { command: "/fix" } });
    let text = "";
    let patch = "";
    for await (const message of session) {
      if (message.type === "assistant.token") text += message.token;
      if (message.type === "patch.proposed") patch = message.diff;
      if (message.type === "tool.request_approval")
        session.send({
          type: "client.approval_response",
          request_id: message.request_id,
          approved: true,
          scope: "all",
        });
      if (message.type === "assistant.message_final") session.send({ type: "client.cancel" });
    }
    expect([text, patch]).toEqual(["One é😀", diff]);
    expect(unknown).toEqual(["assistant.tool_use", "assistant.tool_result", "assistant.tool_result", "error"]);
  });
});

const at = "2026-01-10T09:00:00Z";
const workspace = { id: "w1", path: "/p", name: "p", created_at: at, index_status: "pending" as const };
const session = {
  id: "s1",
  workspace_id: "w1",
  model_provider: "ollama",
  model_name: "m",
  created_at: at,
  status: "active",
};
const refuse = () => {
  throw new Refusal("not here", { status: 404 });
};
/** Handlers that refuse, for what a test does not need. */
const beside = <H>(contract: ContractValue<unknown, H>): H =>
  Object.fromEntries(Object.keys({ ...contract.operations, ...contract.channels }).map((name) => [name, refuse])) as H;
const authenticate = ({ headers, url }: Request) =>
  [headers.get("Authorization")?.slice("Bearer ".length), new URL(url).searchParams.get("token")].includes("s3cret") &&
  "me";

async function listening(app: Apps): Promise<string> {
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

/** A turn in loco-app: text, a tool and a command that are approved, and a patch. */
const appHandlers: LoCoAppHandlers = {
  ...beside(locoApp),
  registerWorkspace: () => workspace,
  createSession: () => session,
  async stream(_, channel) {
    channel.send({ type: "server.hello", protocol_version: "1.0.0", server_info: { version: "1" } });
    for await (const message of channel) {
      if (message.type !== "client.user_message") continue;
      channel.send({ type: "assistant.message_delta", delta: "é" });
      const tool = { request_id: "t1", tool: "write_file", arguments: { file_path: "a" }, message: null };
      const { approved } = await channel.ask({ type: "tool.request_approval", ...tool });
      const command = { request_id: "c1", tool: "run_command", arguments: { command: "make" }, message: "Run make?" };
      await channel.ask({ type: "command.request_approval", ...command });
      channel.send({ type: "patch.proposed", id: "p1", file_path: "a.ts", diff });
      channel.send({ type: "assistant.message_final", message: `approved: ${approved}` });
    }
  },
};
const shown = {
  text: "é",
  questions: ['Approve write_file with {"file_path":"a"}', "Run make?"],
  patches: ["p1"],
  final: "approved: true",
};

describe("LoCo's extension", () => {
  it("holds a whole conversation with a server of loco-app", async () => {
    const url = await listening(serve(locoApp, appHandlers, { authenticate }));
    expect(await locoExtension(url, "s3cret", "go")).toMatchObject(shown);
    await expect(locoExtension(url, "wrong", "go")).rejects.toThrow("401");
  });

  it("is served as the program has it, and a client of loco as the document has it, on one port", async () => {
    const handlers: LoCoHandlers = {
      ...beside(loco),
      async stream(_, channel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        for await (const message of channel) {
          if (message.type !== "client.user_message") continue;
          channel.send({ type: "assistant.token", token: "é" });
          channel.send({ type: "assistant.message_final", message: "é" });
        }
      },
    };
    const app = serve(locoApp, appHandlers, { authenticate });
    const url = await listening([{ app, path: "/app" }, serve(loco, handlers, { authenticate })]);
    expect(await locoExtension(`${url}/app`, "s3cret", "go")).toMatchObject(shown);
    const client_info = { name: "test", version: "1", capabilities: [] };
    const client = connect(loco, { baseUrl: url, token: "s3cret", webSocket });
    await using session = await client.stream({ session_id: "s1" }, { open: { client_info } });
    session.send({ type: "client.user_message", message: "go" });
    const heard: string[] = [];
    for await (const { type } of session) if (heard.push(type) === 3) break;
    expect(heard).toEqual(["server.hello", "assistant.token", "assistant.message_final"]);
  });

  it("answers every approval of a server of loco that writes the profile extension, and of no other", async () => {
    const answers: unknown[] = [];
    const handlers: LoCoHandlers = {
      ...beside(loco),
      registerWorkspace: () => workspace,
      createSession: () => session,
      async stream(_, channel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        for await (const message of channel) {
          if (message.type !== "client.user_message") continue;
          channel.send({ type: "assistant.token", token: "é" });
          const args = { file_path: "a" };
          const tool = { request_id: "t1", tool_name: "write_file", risk_level: "low" as const };
          answers.push(await channel.ask({ type: "tool.request_approval", ...tool, args }));
          const asked = channel.ask({
            type: "command.request_approval",
            command_id: "c1",
            command: "make",
            requires_approval: true,
            reason: "Run make?",
          });
          const answered = await Promise.race([asked, new Promise((resolve) => setImmediate(resolve, "none"))]);
          answers.push(answered === "none" && !profiled ? answered : await asked);
          const known = { rationale: "r", acceptance_criteria: [], requires_approval: true, hunks: [] };
          const patch = channel.ask({ type: "patch.proposed", patch_id: "p1", file_path: "a.ts", diff, ...known });
          patch.catch(() => {});
          channel.send({ type: "assistant.message_final", message: "approved: true" });
        }
      },
    };
    let profiled = true;
    const held = async (own: ServeOptions) =>
      locoExtension(await listening(serve(loco, handlers, { authenticate, ...own })), "s3cret", "go");
    // It reads text from `assistant.message_delta` only.
    expect(await held({ profile: "extension" })).toMatchObject({ ...shown, text: "" });
    expect(answers).toMatchObject([
      { request_id: "t1", approved: true },
      { request_id: "c1", approved: true },
    ]);
    profiled = false;
    expect((await held({})).questions).toEqual(['Approve write_file with {"file_path":"a"}']);
    expect(answers[3]).toBe("none");
  });
});

describe("LoCo's browser UI", () => {
  const origins = ["http://localhost:5173", "tauri://localhost"];

  it("holds a conversation with a server of loco-app, with its token in the query", async () => {
    const url = await listening(serve(locoApp, appHandlers, { authenticate, origins }));
    expect(await locoBrowser(url, "s3cret", "go")).toMatchObject(shown);
    await expect(locoBrowser(url, "wrong", "go")).rejects.toThrow("refused with 401");
  });

  it("is refused from an origin that the server does not name, and by loco, which has no token in a URL", async () => {
    const other = await listening(serve(locoApp, appHandlers, { authenticate }));
    await expect(locoBrowser(other, "s3cret", "go")).rejects.toThrow("refused with 403");
    const base = await listening(serve(loco, beside(loco), { authenticate, origins }));
    await expect(locoBrowser(base, "s3cret", "go")).rejects.toThrow("refused with 400");
  });
});
