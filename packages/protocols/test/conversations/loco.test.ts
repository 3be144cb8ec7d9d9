import { connect } from "@parlance/client";
import {
  type LoCo,
  type LoCoHandlers,
  loco,
  type StreamClientMessage,
  type StreamServerAsks,
  type StreamServerMessage,
} from "@parlance/protocols/loco";
import { Refusal, serve } from "@parlance/server";
import type { OpenSocket } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { expect, it } from "vitest";
import { all, deferred, hold, overEachCarrier } from "./carriers.js";

const at = "2025-01-01T00:00:00Z";
const workspace = { id: "w", path: "/p", name: "p", created_at: at };
const session = { id: "s", workspace_id: "w", created_at: at, status: "active" };
const index = { index_status: "complete" as const };
const model = { provider: "none", model_name: "m" };
const others: Omit<LoCoHandlers, "stream"> = {
  health: () => ({ status: "healthy" }),
  listWorkspaces: () => [workspace],
  registerWorkspace: ({ path }) => ({ ...workspace, path }),
  getWorkspace: ({ workspace_id }) => ({ ...workspace, id: workspace_id }),
  getPolicy: () => ({ command_approval: "always" }),
  setPolicy: ({ workspace_id, ...policy }) => policy,
  rebuildIndex: () => index,
  refreshIndex: () => index,
  updateIndex: ({ changes }) => ({ ...index, total_files: changes.length }),
  getIndexStatus: () => index,
  createSession: ({ workspace_id }) => ({ ...session, workspace_id }),
  listSessions: ({ workspace_id = "w" }) => [{ ...session, workspace_id }],
  getSession: ({ session_id }) => ({ ...session, id: session_id }),
  deleteSession: () => ({ success: true }),
  listModels: () => [model],
  getCurrentModel: () => model,
  setCurrentModel: (configuration) => configuration,
};
const serving = (stream: LoCoHandlers["stream"]): LoCoHandlers => ({ ...others, stream });
const hello: StreamServerMessage = { type: "server.hello", server_info: { version: "1" } };
const open = { client_info: { name: "test", version: "1", capabilities: [] } };
const input = { session_id: "s" };
const token = "t";
const authenticate = ({ headers }: Request) => headers.get("Authorization") === `Bearer ${token}` && "me";
const options = { connected: { token } };

const approval = (request_id: string) =>
  ({ type: "tool.request_approval", request_id, tool_name: "write_file", args: {}, risk_level: "low" }) as const;
const command = (command_id: string) =>
  ({ type: "command.request_approval", command_id, command: "make", requires_approval: true, reason: "" }) as const;
const applied_hash = `sha256:${"0".repeat(64)}`;
const known = { rationale: "", acceptance_criteria: [], requires_approval: true, hunks: [] };
const patch = (patch_id: string) => ({ type: "patch.proposed" as const, patch_id, file_path: "a", diff: "", ...known });
const tool: Asked = { ...approval("x"), args: { file_path: "src/login.ts", reason: "Apply security fix" } };
const hunk = { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, content: "" };
const hunks = (count: number): Asked => ({ ...patch("x"), hunks: Array.from({ length: count }, () => hunk) });
type Asked = StreamServerMessage & { type: keyof StreamServerAsks };
type Answer = { readonly scope: "file" | "hunk"; readonly file_path: string };
const response = (request_id: string, approved: boolean, scope: "all" | "file" | "hunk" = "all") =>
  ({ type: "client.approval_response", request_id, approved, scope, file_path: "a" }) as const;

overEachCarrier("loco", (carrier) => {
  it("every operation", async () => {
    const handlers = serving(() => {});
    const { client } = await hold(carrier, loco, handlers, { ...options, served: { authenticate } });
    const { workspace_id } = { workspace_id: "w/1" };
    expect(await client.health()).toEqual({ status: "healthy" });
    expect(await client.listWorkspaces()).toEqual([workspace]);
    expect(await client.registerWorkspace({ path: "/q" })).toMatchObject({ path: "/q" });
    expect(await client.getWorkspace({ workspace_id })).toMatchObject({ id: "w/1" });
    expect(await client.getPolicy({ workspace_id })).toEqual({ command_approval: "always" });
    expect(await client.setPolicy({ workspace_id, command_approval: "never" })).toEqual({ command_approval: "never" });
    for (const operation of ["rebuildIndex", "refreshIndex", "getIndexStatus"] as const)
      expect(await client[operation]({ workspace_id })).toEqual(index);
    const changes = [{ type: "created" as const, file_path: "a", content_hash: `sha256:${"0".repeat(64)}` }];
    expect(await client.updateIndex({ workspace_id, changes })).toMatchObject({ total_files: 1 });
    expect(await client.createSession({ workspace_id })).toMatchObject({ workspace_id });
    expect(await client.listSessions()).toMatchObject([{ workspace_id: "w" }]);
    expect(await client.listSessions({ workspace_id })).toMatchObject([{ workspace_id }]);
    expect(await client.getSession(input)).toMatchObject({ id: "s" });
    expect(await client.deleteSession(input)).toEqual({ success: true });
    expect(await client.listModels()).toEqual([model]);
    expect(await client.getCurrentModel()).toEqual(model);
    expect(await client.setCurrentModel({ ...model, temperature: 0.5 })).toEqual({ ...model, temperature: 0.5 });
  });

  it("is not served without `authenticate`, unless that is asked for", () => {
    const handlers = serving(() => {});
    expect(() => serve(loco, handlers)).toThrow(/loco requires a bearer token: give `serve` an `authenticate`/);
    expect(serve(loco, handlers, { allowAnonymous: true }).authenticates).toBe(false);
  });

  it("without its token nothing is answered but 401, neither by HTTP nor on the socket", async () => {
    const { client, seen } = await hold(
      carrier,
      loco,
      serving(() => {}),
      { served: { authenticate } },
    );
    const message = expect.stringContaining("(no `token` was given)");
    const refused = { name: "Refusal", status: 401, code: "UNAUTHORIZED", message };
    await expect(client.health()).rejects.toMatchObject(refused);
    await expect(client.stream(input, { open })).rejects.toMatchObject(refused);
    // No hook saw a request, so no handler ran.
    expect(new Set(seen)).toEqual(new Set(["refuse health 401", "refuse stream 401"]));
  });

  it("what the client sends arrives in order, and what the server sends too", async () => {
    const heard: StreamClientMessage[] = [];
    const over = deferred();
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        for await (const message of channel) {
          // Later messages take less time, and must not overtake.
          for (let i = 5 - heard.length; i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
          heard.push(message);
          channel.send({ type: "assistant.token", token: `${heard.length}` });
        }
        over.resolve();
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    const sent: StreamClientMessage[] = [
      { type: "client.user_message", message: "1", context: { command: "/fix" } },
      { type: "client.context_update", updates: { mentions: [{ type: "file", path: "a" }] } },
      { type: "client.file_changes", changes: [{ type: "deleted", file_path: "b" }] },
      { type: "client.cancel" },
    ];
    for (const message of sent) channel.send(message);
    const tokens: string[] = [];
    for await (const message of channel) {
      if (message.type === "assistant.token") tokens.push(message.token);
      if (tokens.length === 5) break;
    }
    await channel.close();
    await over.promise;
    expect(heard).toEqual([{ type: "client.hello", ...open }, ...sent]);
    expect(tokens).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("tools, commands and patches are answered by their own key, in any order", async () => {
    const settled: string[] = [];
    const results = deferred<unknown[]>();
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        const asks = [approval("r1"), approval("r2"), command("c1"), command("c2"), patch("p1"), patch("p2")].map(
          async (ask) => {
            const answer = await channel.ask(ask as typeof ask & { type: "patch.proposed" });
            settled.push(Object.values(ask)[1]!.toString());
            return answer;
          },
        );
        for await (const message of channel) if (message.type === "client.cancel") break;
        results.resolve(await Promise.all(asks));
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    const answers: StreamClientMessage[] = [
      { type: "client.patch_apply_result", patch_id: "p2", file_path: "a", success: true, applied_hash, error: null },
      response("p1", false),
      response("c1", true),
      response("r2", false),
      {
        type: "client.command_result",
        command_id: "c2",
        command: "make",
        exit_code: 2,
        stdout: "",
        stderr: "",
        duration_ms: 9,
      },
      response("r1", true, "all"),
    ];
    for (const message of answers) channel.send(message);
    channel.send({ type: "client.cancel" });
    expect(await results.promise).toEqual([5, 3, 2, 4, 1, 0].map((i) => answers[i]));
    expect(settled).toEqual(["p2", "p1", "c1", "r2", "c2", "r1"]);
    await channel.close();
  });

  it.each<[what: string, ask: Asked, Answer]>([
    ["the file of a tool", tool, { scope: "file", file_path: "src/login.ts" }],
    ["a hunk of a tool's file", tool, { scope: "hunk", file_path: "src/login.ts" }],
    ["a file, to a tool that names none", approval("x"), { scope: "file", file_path: "a" }],
    ["a file, to a command", command("x"), { scope: "file", file_path: "a" }],
    ["a patch's file", hunks(2), { scope: "file", file_path: "a" }],
    ["a patch's only hunk", hunks(1), { scope: "hunk", file_path: "a" }],
    ["a hunk, to a patch that lists none", hunks(0), { scope: "hunk", file_path: "a" }],
  ])("an answer for %s settles the ask, approved or not", async (_, ask, answer) => {
    for (const approved of [true, false]) {
      const settled = deferred<unknown>();
      const { client } = await hold(
        carrier,
        loco,
        serving(async (_, channel) => {
          channel.send(hello);
          channel.ask(ask as Asked & { type: "patch.proposed" }).then(settled.resolve);
          for await (const _ of channel);
        }),
        options,
      );
      await using channel = await client.stream(input, { open });
      const said = { type: "client.approval_response", request_id: "x", approved, ...answer } as const;
      channel.send(said);
      expect(await settled.promise).toEqual(said);
    }
  });

  it.each<[what: string, ask: Asked, Answer]>([
    ["another file than a tool's", tool, { scope: "file", file_path: "src/other.ts" }],
    ["a hunk of another file than a tool's", tool, { scope: "hunk", file_path: "src/other.ts" }],
    ["another file than a patch's", hunks(1), { scope: "file", file_path: "b" }],
    ["a hunk of another file than a patch's", hunks(1), { scope: "hunk", file_path: "b" }],
    ["one of a patch's hunks", hunks(2), { scope: "hunk", file_path: "a" }],
  ])("an answer for %s leaves the ask open, and is handed to the handler that asks", async (_, ask, answer) => {
    const heard: StreamClientMessage[] = [];
    const handed: unknown[] = [];
    const settled = deferred<unknown>();
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        const onPart = (part: unknown) => void handed.push(part);
        channel.ask(ask as Asked & { type: "patch.proposed" }, { onPart }).then(settled.resolve);
        for await (const message of channel) heard.push(message);
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    const parts = [true, false].map(
      (approved) => ({ type: "client.approval_response", request_id: "x", approved, ...answer }) as const,
    );
    for (const part of parts) channel.send(part);
    channel.send(response("x", true));
    channel.send(response("nobody's", true));
    expect(await settled.promise).toEqual(response("x", true));
    await channel.close();
    expect(handed).toEqual(parts);
    expect(heard.slice(1)).toEqual([response("nobody's", true)]);
  });

  it("an answer for a part is read from the channel by a server that asks without `onPart`", async () => {
    const heard: StreamClientMessage[] = [];
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        channel.ask(hunks(2)).catch(() => {});
        for await (const message of channel) heard.push(message);
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    channel.send(response("x", true, "hunk"));
    await channel.close();
    expect(heard.slice(1)).toEqual([response("x", true, "hunk")]);
  });

  it("an `onPart` that throws fails its ask, and the channel goes on", async () => {
    const failed = deferred<unknown>();
    const over = deferred();
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        const onPart = () => {
          throw new Error("not a hunk of mine");
        };
        channel.ask(hunks(2), { onPart }).catch(failed.resolve);
        for await (const message of channel) if (message.type === "client.cancel") break;
        over.resolve();
      }),
      options,
    );
    await using channel = await client.stream(input, { open });
    channel.send(response("x", true, "hunk"));
    expect(await failed.promise).toMatchObject({ message: "not a hunk of mine" });
    channel.send({ type: "client.cancel" });
    await over.promise;
  });

  it("a message handler that fails says `server.error`, and the stream goes on with its state", async () => {
    let count = 0;
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        await channel.handle((message) => {
          if (message.type === "client.hello") return;
          count++;
          if (message.type === "client.cancel")
            throw new Refusal("no model", { code: "MODEL_ERROR", details: { a: 1 } });
          if (count === 1) throw new Error("secret");
          channel.send({ type: "assistant.token", token: `${count}` });
        });
      }),
      { ...options, served: { onError: false } },
    );
    await using channel = await client.stream(input, { open });
    const user = { type: "client.user_message", message: "x" } as const;
    for (const message of [user, { type: "client.cancel" } as const, user]) channel.send(message);
    const heard: StreamServerMessage[] = [];
    for await (const message of channel) {
      heard.push(message);
      if (message.type === "assistant.token") break;
    }
    expect(heard.slice(1)).toMatchObject([
      { type: "server.error", error: { code: "INTERNAL_ERROR", message: "the server failed" } },
      { type: "server.error", error: { code: "MODEL_ERROR", message: "no model", details: { a: 1 } } },
      { type: "assistant.token", token: "3" },
    ]);
  });

  it("another handler speaks on the session's channel, and asks", async () => {
    const asked = deferred<unknown>();
    const handlers: LoCoHandlers = {
      ...serving(async (_, channel) => {
        channel.send(hello);
        await all(channel);
      }),
      getSession({ session_id }, call) {
        const there = call.session(session_id);
        there.send({ type: "assistant.thinking", phase: "planning", message: "hm" });
        there.ask(command("c")).then(asked.resolve);
        return session;
      },
    };
    const { client } = await hold(carrier, loco, handlers, options);
    const channel = await client.stream(input, { open });
    await client.getSession(input);
    for await (const message of channel) {
      if (message.type !== "command.request_approval") continue;
      channel.send(response(message.command_id, false));
      break;
    }
    expect(await asked.promise).toEqual(response("c", false));
    await channel.close();
  });

  it("deleting the session closes its channel normally", async () => {
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        await all(channel);
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    const heard: StreamServerMessage[] = [];
    for await (const message of channel) {
      heard.push(message);
      await client.deleteSession(input);
    }
    expect(heard).toEqual([hello]);
    expect(await channel.closed).toMatchObject({ code: 1000 });
  });

  it("a channel is refused before it is open, in the protocol's own words", async () => {
    const hooks = {
      request() {
        throw new Refusal("no such session", { code: "SESSION_NOT_FOUND" });
      },
    };
    const { client } = await hold(
      carrier,
      loco,
      serving(() => {}),
      { ...options, served: { hooks } },
    );
    await expect(client.stream(input, { open })).rejects.toMatchObject({
      name: "Refusal",
      status: 404,
      code: "SESSION_NOT_FOUND",
      message: "no such session",
    });
  });

  it("a handler that fails says `server.error` and closes with 1011", async () => {
    const { client, seen } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        throw new Refusal("the model is gone", { code: "MODEL_ERROR" });
      }),
      options,
    );
    const channel = await client.stream(input, { open });
    const heard: StreamServerMessage[] = [];
    const reading = (async () => {
      for await (const message of channel) heard.push(message);
    })();
    await expect(reading).rejects.toMatchObject({ name: "Disconnected" });
    expect(heard[1]).toMatchObject({
      type: "server.error",
      error: { code: "MODEL_ERROR", message: "the model is gone" },
    });
    expect(seen).toContain("close stream failed");
  });

  it("a message that breaks its schema is answered with `server.error`, and the next one is heard", async () => {
    const heard: string[] = [];
    const { client } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        channel.send(hello);
        for await (const { type } of channel) {
          heard.push(type);
          if (type === "client.cancel") channel.send({ type: "assistant.token", token: "x" });
        }
      }),
      options,
    );
    await using channel = await client.stream(input, { open });
    channel.send({ type: "client.user_message", message: 7 } as never);
    channel.send({ type: "client.cancel" });
    const answers: StreamServerMessage[] = [];
    for await (const message of channel) {
      answers.push(message);
      if (message.type === "assistant.token") break;
    }
    expect(answers).toMatchObject([
      hello,
      { type: "server.error", error: { code: "INVALID_REQUEST", message: expect.stringContaining("message") } },
      { type: "assistant.token" },
    ]);
    expect(heard).toEqual(["client.hello", "client.cancel"]);
  });

  it("a client that speaks before its hello, or says a broken one, gets the sentence and then the close", async () => {
    const { client, connection } = await hold(
      carrier,
      loco,
      serving(async (_, channel) => {
        await all(channel);
      }),
      options,
    );
    const words = async (channel: Awaited<ReturnType<LoCo["stream"]>>) => {
      const heard: string[] = [];
      const reading = (async () => {
        for await (const message of channel) if (message.type === "server.error") heard.push(message.error.message);
      })();
      await expect(reading).rejects.toMatchObject({ name: "Disconnected" });
      return heard;
    };
    const broken = await client.stream(input, { open: { client_info: 7 } as never });
    expect(await words(broken)).toEqual([expect.stringContaining("client_info")]);

    // Without the opening message that `connect` sends by itself.
    const { open: _, ...silent } = loco.channels.stream!;
    const early = connect({ ...loco, channels: { stream: silent } } as typeof loco, connection);
    const channel = await early.stream(input, { open });
    channel.send({ type: "client.user_message", message: "hi" });
    expect(await words(channel)).toEqual([expect.stringContaining("opens with client.hello")]);
  });

  it("a drop with no close frame after `client.cancel` is an end, and a lost connection at any other time", async () => {
    const drops: (() => void)[] = [];
    const webSocket: OpenSocket = async () => {
      const [near, far] = pair();
      drops.push(() => far.close(1006, ""));
      return near;
    };
    const client = connect(loco, { webSocket, resume: false });
    const cancelled = await client.stream(input, { open });
    cancelled.send({ type: "client.cancel" });
    drops[0]!();
    expect(await all(cancelled)).toEqual([]);
    expect(await cancelled.closed).toMatchObject({ code: 1006 });
    const lost = await client.stream(input, { open });
    lost.send({ type: "client.cancel" });
    lost.send({ type: "client.user_message", message: "go on" });
    drops[1]!();
    await expect(all(lost)).rejects.toMatchObject({ name: "Disconnected" });
  });
});
