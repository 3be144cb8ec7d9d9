import { agentsmithy, type ChatMessage } from "@parlance/protocols/agentsmithy";
import { type EmacsAgentHandlers, type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway, type SendMessage } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { describe, expect, it } from "vitest";

// The rules by which the documents' own clients read, over the bytes that our servers write. `peers.test.ts` runs those clients where their programs
// are installed; these tests always run.

const post = (body: object) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

describe("the document's agentsmithy client", () => {
  const flow: ChatMessage[] = [
    { type: "classification", task_type: "fix" },
    { type: "content", content: "a: b\n\nc" },
    { type: "diff", file: "a", diff: "--- a/a\n+++ b/a\n", line_start: 1, line_end: 1, reason: "r" },
    { type: "content", content: "\u2028" },
    { type: "done" },
  ];
  const handlers = {
    async *chat() {
      yield* flow;
    },
    complete: () => ({ content: "", diffs: [], done: true as const }),
  };

  it("hears each event by looking at the diff's type first, then content, done and error", async () => {
    const { fetch } = serve(agentsmithy, handlers);
    const request = new Request("http://localhost/api/chat", post({ messages: [{ role: "user", content: "x" }] }));
    const events = (await (await fetch(request)).text()).split("\n\n").filter(Boolean);
    const heard = events.map((event) => {
      const data = JSON.parse(/^data: (.*)$/.exec(event)![1]!);
      if (data.type === "diff") return ["diff", data.file];
      if (data.content) return ["content", data.content];
      if (data.done) return ["done"];
      return data.error ? ["error"] : ["other", data.type];
    });
    expect(heard).toEqual([
      ["other", "classification"],
      ["content", "a: b\n\nc"],
      ["diff", "a"],
      ["content", "\u2028"],
      ["done"],
    ]);
  });

  it("cannot read with EventSource, which only sends GET", async () => {
    const { fetch } = serve(agentsmithy, handlers);
    const answer = await fetch(new Request("http://localhost/api/chat", { headers: { accept: "text/event-stream" } }));
    expect(answer.status).toBe(405);
  });
});

it("Emacs' rule of one name line and one data line finds every event", async () => {
  const events: EventsMessage[] = [
    { type: "agent.state", state: "thinking", details: "a\nb" },
    { type: "message.delta", content: "one\r\ntwo\u2028", role: "assistant" },
    { type: "error", message: "no", code: "LLM_API_ERROR" },
  ];
  const handlers = {
    async *events() {
      yield* events;
    },
    endSession: () => ({ status: "closed" }),
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const { fetch } = serve(emacsAgent, handlers, { partial: true });
  const answer = await fetch(new Request("http://localhost/api/sessions/s/events"));
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n\n").length <= events.length) text += (await reader.read()).value ?? expect.fail("it ended");
  await reader.cancel();
  const heard = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, name, data]) => [name, JSON.parse(data!)]);
  expect(heard).toEqual(events.map((event) => [event.type, event]));
});

describe("the documents' fold-gateway clients", () => {
  const flow: SendMessage[] = [
    { type: "text", text: "event: x\ndata: y" },
    { type: "tool_use", id: "1", name: "ls", input_json: "{}" },
    { type: "done", full_response: "z" },
  ];
  const agents = [{ id: "1", name: "a", capabilities: ["chat"] }];
  const handlers: FoldGatewayHandlers = {
    health: () => "OK",
    ready: () => "ready (1 agents)",
    listAgents: () => agents,
    async *send() {
      yield* flow;
    },
  };

  it.each<Record<string, string>>([{}, { accept: "*/*" }, { accept: "*/*", "user-agent": "curl/8" }])(
    "list the agents as a plain array of JSON, with the headers %j",
    async (headers) => {
      const { fetch } = serve(foldGateway, handlers);
      const answer = await fetch(new Request("http://localhost/api/agents", { headers }));
      expect([answer.status, answer.headers.get("content-type"), await answer.json()]).toEqual([
        200,
        "application/json",
        agents,
      ]);
    },
  );

  it("find name and data lines, line by line", async () => {
    const { fetch } = serve(foldGateway, handlers);
    const text = await (await fetch(new Request("http://localhost/api/send", post({ content: "x" })))).text();
    const heard: object[] = [];
    let type: string | undefined;
    for (const line of text.split("\n"))
      if (line.startsWith("event: ")) type = line.slice(7);
      else if (line.startsWith("data: ") && type !== undefined) {
        heard.push({ type, ...JSON.parse(line.slice(6)) });
        type = undefined;
      }
    expect(heard).toEqual(flow);
  });
});
