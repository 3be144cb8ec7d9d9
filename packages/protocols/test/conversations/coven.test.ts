import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { Refusal, type ServeOptions } from "@parlance/server";
import { expect, it } from "vitest";
import { all, type Carrier, hold, overEachCarrier } from "./carriers.js";

const counters = {
  input_tokens: 12,
  output_tokens: 3,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  thinking_tokens: 0,
};
const flow: readonly SendMessage[] = [
  { type: "started", thread_id: "th" },
  { type: "session_init", session_id: "b" },
  { type: "session_orphaned", reason: "" },
  { type: "thinking", text: "" },
  { type: "tool_use", id: "t", name: "ls", input_json: "not JSON {" },
  { type: "tool_state", id: "t", state: "running", detail: "" },
  { type: "tool_result", id: "t", output: "a", is_error: false },
  { type: "file", filename: "a.png", mime_type: "image/png" },
  { type: "text", text: "I see\u2028it" },
  { type: "usage", ...counters },
  { type: "done", full_response: "" },
];
const input = { content: "go", sender: "me", agent_id: "1" };
const refuse = () => {
  throw new Refusal("not here", { status: 404 });
};
const beside = Object.fromEntries(
  Object.keys(coven.operations).map((name) => [name, refuse]),
) as unknown as CovenHandlers;
const held = (carrier: Carrier, handlers: Partial<CovenHandlers>, served?: ServeOptions) =>
  hold(carrier, coven, { ...beside, ...handlers }, { served });

overEachCarrier("coven", (carrier) => {
  it("a whole conversation, which the hooks see in order", async () => {
    const { client, seen } = await held(carrier, {
      async *send() {
        yield* flow;
      },
    });
    expect(await all(client.send(input))).toEqual(flow);
    expect(seen).toEqual(["request send", "open send", ...flow.map(({ type }) => `server ${type}`), "close send done"]);
    // An empty final text does not erase what was streamed.
    expect(await client.send(input).text()).toBe("I see\u2028it");
  });

  it("every operation", async () => {
    const totals = { total_input: 1, total_output: 1, total_cache_read: 0, total_cache_write: 0, total_thinking: 0 };
    const usage = { ...totals, total_tokens: 2, request_count: 1 };
    const binding = { binding_id: "b", agent_name: "echo", working_dir: "/p" };
    const unbound: unknown[] = [];
    const handlers: Partial<CovenHandlers> = {
      health: () => "OK",
      ready: () => "ready (1 agents)",
      listAgents: ({ workspace = "all" }) => [{ id: "1", name: workspace, capabilities: ["chat"] }],
      async *sendToAgent({ agent_id, message }) {
        yield { type: "text", text: `${agent_id} ${message}` };
        yield { type: "done", full_response: "whole" };
      },
      agentHistory: ({ agent_id, limit }) => ({ agent_id, events: [], count: limit ?? 50, has_more: false, usage }),
      threadMessages: ({ thread_id }) => ({ thread_id, messages: [] }),
      threadUsage: ({ thread_id }) => ({ thread_id, usage: [] }),
      approveTool: ({ approved }) => ({ success: true, approved }),
      answerQuestion: () => ({ success: true }),
      bindings: ({ channel_id }) => (channel_id ? { ...binding, online: true } : { bindings: [] }),
      createBinding: () => ({ ...binding, rebound_from: null }),
      deleteBinding: (channel) => void unbound.push(channel),
      usageStats: () => usage,
    };
    const { client } = await held(carrier, handlers, { keepsAsks: true });
    const channel = { frontend: "slack", channel_id: "C" };
    expect([await client.health(), await client.ready()]).toEqual(["OK", "ready (1 agents)"]);
    expect(await client.listAgents()).toMatchObject([{ name: "all" }]);
    expect(await client.listAgents({ workspace: "shop" })).toMatchObject([{ name: "shop" }]);
    expect(await client.sendToAgent({ agent_id: "a/1", message: "go" }).text()).toBe("whole");
    expect(await client.agentHistory({ agent_id: "1", limit: 2, cursor: "c" })).toMatchObject({ count: 2 });
    expect(await client.threadMessages({ thread_id: "th" })).toEqual({ thread_id: "th", messages: [] });
    expect(await client.threadUsage({ thread_id: "th" })).toEqual({ thread_id: "th", usage: [] });
    expect(await client.approveTool({ agent_id: "1", tool_id: "t", approved: false })).toMatchObject({
      approved: false,
    });
    expect(await client.answerQuestion({ agent_id: "1", question_id: "q", selected: ["a"] })).toEqual({
      success: true,
    });
    expect(await client.bindings()).toEqual({ bindings: [] });
    expect(await client.bindings(channel)).toEqual({ ...binding, online: true });
    expect(await client.createBinding({ ...channel, instance_id: "i" })).toEqual({ ...binding, rebound_from: null });
    expect(await client.deleteBinding(channel)).toBeUndefined();
    expect(unbound).toEqual([channel]);
    expect(await client.usageStats({ since: "2026-03-01T00:00:00Z" })).toEqual(usage);
  });

  it("a tool waits within its stream for the decision, which another call brings", async () => {
    const { client } = await held(carrier, {
      async *send(_, call) {
        const ask = { type: "tool_approval", id: "t", name: "rm", input_json: "{}", request_id: "r" } as const;
        const { approved } = await call.ask(ask);
        yield { type: "tool_state", id: "t", state: approved ? "running" : "denied", detail: "" };
        yield { type: "done", full_response: "over" };
      },
      approveTool: ({ approved }) => ({ success: true, approved }),
    });
    const states: string[] = [];
    for await (const message of client.send(input)) {
      if (message.type === "tool_approval")
        await client.approveTool({ agent_id: "1", tool_id: message.id, approved: false });
      if (message.type === "tool_state") states.push(message.state);
    }
    expect(states).toEqual(["denied"]);
  });

  it.each([
    ["canceled", { type: "canceled", reason: "by the user" }, "by the user"],
    ["an error", { type: "error", error: "gone" }, "gone"],
  ] as const)("a stream may end with %s, and goes on where more follows", async (_, last, words) => {
    let more = false;
    const { client, seen } = await held(carrier, {
      async *send() {
        yield { type: "text", text: "I " };
        yield last;
        if (more) yield { type: "done", full_response: "I see" };
      },
    });
    expect(await all(client.send(input))).toEqual([{ type: "text", text: "I " }, last]);
    expect(seen.at(-1)).toBe("close send done");
    await expect(client.send(input).text()).rejects.toMatchObject({ name: "Refusal", message: words });
    more = true;
    expect(await client.send(input).text()).toBe("I see");
  });

  it("a message without a sender is refused, in a sentence", async () => {
    const { client } = await held(carrier, {});
    await expect(client.send({ content: "go", agent_id: "1" } as never).opened).rejects.toMatchObject({
      name: "Refusal",
      status: 400,
      message: expect.stringContaining("sender"),
    });
    await expect(client.listAgents()).rejects.toMatchObject({ status: 404, message: "not here" });
  });
});
