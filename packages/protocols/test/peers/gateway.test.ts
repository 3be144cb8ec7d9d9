import { connect } from "@parlance/client";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { all } from "../conversations/carriers.js";
import { documentedGateway, framedByAxum, gatewayOfToday } from "./gateway-double.js";

const sender = "test";

describe("The gateway of the document", () => {
  it.each([
    ["its own framing", undefined],
    ["axum's framing", framedByAxum],
  ])("holds a whole conversation with a client of fold-gateway, in %s", async (_, frame) => {
    const client = connect(foldGateway, { baseUrl: await documentedGateway(frame) });
    expect([await client.health(), await client.ready()]).toEqual(["OK", "ready (1 agents)"]);
    expect(await client.listAgents()).toEqual([{ id: "1", name: "echo", capabilities: [] }]);
    expect((await all(client.send({ content: "go" }))).map(({ type }) => type)).toEqual([
      "thinking",
      "text",
      "tool_use",
      "tool_result",
      "text",
      "done",
    ]);
    for (const content of ["go", "empty"]) expect(await client.send({ content }).text()).toBe("1 < 2 & é😀");
    await expect(client.send({ content: "fail" }).text()).rejects.toMatchObject({
      name: "Refusal",
      message: "Agent disconnected during processing",
    });
    await expect(client.send({ content: "vanish" }).text()).rejects.toMatchObject({
      name: "Disconnected",
      code: "ended_early",
    });
    await expect(client.send({ content: "go", agent_id: "2" }).opened).rejects.toMatchObject({ status: 404 });
  });

  it("answers another method with 405 and no body, which is a refusal", async () => {
    const { listAgents } = foldGateway.operations;
    const wrong = {
      ...foldGateway,
      operations: { ...foldGateway.operations, listAgents: { ...listAgents!, method: "PUT" } },
    };
    const client = connect(wrong as typeof foldGateway, { baseUrl: await documentedGateway() });
    await expect(client.listAgents()).rejects.toMatchObject({ name: "Refusal", status: 405, message: "status 405" });
  });
});

describe("The gateway of today", () => {
  it("holds a whole conversation with a client of coven", async () => {
    const client = connect(coven, { baseUrl: await gatewayOfToday("s3cret"), token: "s3cret" });
    expect(await client.listAgents()).toMatchObject([{ id: "1", instance_id: "i1", capabilities: [] }]);
    expect(await client.listAgents({ workspace: "none" })).toEqual([]);
    const heard: string[] = [];
    for await (const message of client.send({ content: "go", sender, agent_id: "1" })) {
      heard.push(message.type);
      if (message.type !== "tool_approval") continue;
      const decision = { agent_id: "1", tool_id: message.id, approved: true };
      expect(await client.approveTool(decision)).toEqual({ success: true, approved: true });
    }
    expect(heard).toEqual([
      "started",
      "session_init",
      "text",
      "tool_approval",
      "tool_state",
      "error",
      "thinking",
      "usage",
      "text",
      "done",
    ]);
    expect(await client.usageStats({ agent_id: "1" })).toMatchObject({ total_tokens: 15 });
  });

  it("sends an error amid a stream and an empty full response, and the text is what it has streamed", async () => {
    const client = connect(coven, { baseUrl: await gatewayOfToday() });
    const stream = client.sendToAgent({ agent_id: "1", message: "go" });
    const text = stream.text();
    await stream.opened;
    // The agent waits for the decision.
    await client.approveTool({ agent_id: "1", tool_id: "t1", approved: false });
    expect(await text).toBe("<b>bold");
  });

  it("ends a stream that is canceled or whose agent goes away, each in its own way", async () => {
    const client = connect(coven, { baseUrl: await gatewayOfToday() });
    const canceled = () => client.send({ content: "cancel", sender, agent_id: "1" });
    expect((await all(canceled())).at(-1)).toEqual({ type: "canceled", reason: "by the user" });
    await expect(canceled().text()).rejects.toMatchObject({ name: "Refusal", message: "by the user" });
    await expect(client.send({ content: "vanish", sender, agent_id: "1" }).text()).rejects.toMatchObject({
      name: "Disconnected",
    });
  });

  it.each([
    [{ content: "", sender, agent_id: "1" }, 400, "content is required"],
    [{ content: "go", sender: "", agent_id: "1" }, 400, "sender is required"],
    [{ content: "go", sender }, 400, "must specify agent_id or frontend+channel_id"],
    [{ content: "go", sender, frontend: "slack", channel_id: "C1" }, 400, "channel not bound to agent"],
    [{ content: "go", sender, agent_id: "2" }, 503, "agent unavailable"],
  ])("refuses %j with %i", async (input, status, message) => {
    const client = connect(coven, { baseUrl: await gatewayOfToday() });
    await expect(client.send(input).opened).rejects.toMatchObject({ name: "Refusal", status, message });
  });

  it("refuses without its token, and answers health without one", async () => {
    const client = connect(coven, { baseUrl: await gatewayOfToday("s3cret") });
    await expect(client.listAgents()).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining("missing authorization header"),
    });
    expect(await client.health()).toBe("OK");
  });

  it("binds a channel, and speaks through it", async () => {
    const client = connect(coven, { baseUrl: await gatewayOfToday() });
    const channel = { frontend: "slack", channel_id: "C1" };
    await expect(client.bindings(channel)).rejects.toMatchObject({ status: 404 });
    for (let i = 0; i < 2; i++)
      expect(await client.createBinding({ ...channel, instance_id: "i1" })).toMatchObject({ agent_name: "echo" });
    expect(await client.bindings(channel)).toMatchObject({ online: true });
    expect(await client.bindings()).toEqual({ bindings: [] });
    expect((await all(client.send({ content: "cancel", sender, ...channel })))[0]).toEqual({
      type: "started",
      thread_id: "th1",
    });
    await client.deleteBinding(channel);
    await expect(client.deleteBinding(channel)).rejects.toMatchObject({ status: 404, message: "binding not found" });
  });

  it("talks to a client of fold-gateway, for which its new events are unknown", async () => {
    const unknown: (string | undefined)[] = [];
    const client = connect(foldGateway, {
      baseUrl: await gatewayOfToday(),
      onUnknown: ({ event }) => void unknown.push(event),
    });
    await expect(client.send({ content: "cancel", sender, agent_id: "1" }).text()).rejects.toMatchObject({
      name: "Disconnected",
      message: expect.stringContaining('after the unknown event canceled {"reason":"by the user"}'),
    });
    expect(unknown).toEqual(["started", "session_init", "canceled"]);
  });
});

describe("The document's own client", () => {
  /** The loop that the document prints for browsers: one name line, then one data line. */
  async function loop(url: string, body: object): Promise<[string, unknown][]> {
    const response = await fetch(`${url}/api/send`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const heard: [string, unknown][] = [];
    let buffer = "";
    let event: string | undefined;
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      buffer += chunk;
      const lines = buffer.split("\n");
      buffer = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("event: ")) event = line.slice(7);
        else if (line.startsWith("data: ") && event) heard.push([event, JSON.parse(line.slice(6))]);
      }
    }
    return heard;
  }

  it("hears every event of a server of coven", async () => {
    const refuse = () => {
      throw new Refusal("not here", { status: 404 });
    };
    const handlers: CovenHandlers = {
      ...(Object.fromEntries(Object.keys(coven.operations).map((name) => [name, refuse])) as unknown as CovenHandlers),
      async *send({ content }) {
        yield { type: "started", thread_id: "th1" };
        yield { type: "text", text: content };
        yield { type: "canceled", reason: "enough" };
      },
    };
    const server = await listen(serve(coven, handlers), { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    expect(await loop(server.url, { content: "é😀", sender, agent_id: "1" })).toEqual([
      ["started", { thread_id: "th1" }],
      ["text", { text: "é😀" }],
      ["canceled", { reason: "enough" }],
    ]);
  });
});
