import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal } from "@parlance/server";
import type { AnyContract } from "@parlance/wire";
import { expect, it } from "vitest";
import { deferred, hold, overEachCarrier } from "./carriers.js";

// Requests and answers of each document as bytes: a peer without our client sends and reads these.

type Client = Readonly<Record<string, (input: object) => AsyncIterable<object>>>;
type Handlers = Readonly<Record<string, (...given: never[]) => unknown>>;
type Call = readonly [method: string, path: string, body?: object];
type Answer = readonly [status: number, type: string, body: string];
type Row = readonly [what: string, handlers: Handlers, call: Call, answer: Answer];

const json = "application/json";
const sse = "text/event-stream; charset=utf-8";
const at = "2025-01-01T00:00:00Z";
const refusing = (message: string, options: object) => () => {
  throw new Refusal(message, options);
};
/** A handler that streams these messages. */
const saying = (...messages: object[]) =>
  async function* () {
    yield* messages;
  };
const events = (...blocks: (readonly [name: string, data: object] | object)[]) =>
  blocks
    .map((block) =>
      Array.isArray(block)
        ? `event: ${block[0]}\ndata: ${JSON.stringify(block[1])}\n\n`
        : `data: ${JSON.stringify(block)}\n\n`,
    )
    .join("");

const question = { messages: [{ role: "user", content: "x" }] };
const change = { type: "diff", file: "a", diff: "", line_start: 1, line_end: 1, reason: "" };
const session = { session_id: "s", status: "active", project_path: "/p", model: "m", message_count: 0, started_at: at };
const states = ["idle", "thinking", "tool_execution", "waiting_approval", "error"].map((state) => ({
  type: "agent.state",
  state,
}));
const happening = [
  { type: "message.delta", content: "a\nb", role: "assistant" },
  { type: "tool.call", tool_call_id: "t", tool: "read_file", params: {}, requires_approval: false },
  { type: "tool.result", tool_call_id: "t", status: "error", result: "", message: "no such file" },
  { type: "tool.result", tool_call_id: "t", status: "rejected" },
  { type: "file.changed", path: "a", operation: "write", timestamp: at },
  { type: "error", message: "Rate limit exceeded", code: "LLM_API_ERROR" },
];
const named = (messages: readonly { type: string }[]) =>
  events(...messages.map((message) => [message.type, message] as const));

const answers: readonly (readonly [contract: AnyContract, rows: readonly Row[]])[] = [
  [
    agentsmithy,
    [
      [
        "a request with `stream: true` is answered with events that have no name",
        { chat: saying({ type: "content", content: "I " }, change, { type: "done" }) },
        ["POST", "/api/chat", { ...question, stream: true }],
        [200, sse, events({ content: "I " }, change, { type: "done", done: true })],
      ],
    ],
  ],
  [
    foldGateway,
    [
      ["the gateway's health is the text OK", { health: () => "OK" }, ["GET", "/health"], [200, "text/plain", "OK"]],
      [
        "readiness with agents is a text with their number",
        { ready: () => "ready (2 agents)" },
        ["GET", "/health/ready"],
        [200, "text/plain", "ready (2 agents)"],
      ],
      [
        "readiness without agents is refused",
        { ready: refusing("no agents connected", { status: 503 }) },
        ["GET", "/health/ready"],
        [503, "text/plain", "no agents connected"],
      ],
      [
        "the agents are an array with the capabilities chat and code",
        { listAgents: () => [{ id: "1", name: "a", capabilities: ["chat", "code"] }] },
        ["GET", "/api/agents"],
        [200, json, '[{"id":"1","name":"a","capabilities":["chat","code"]}]'],
      ],
      [
        "a POST is answered with events, whose data has no type",
        { send: saying({ type: "text", text: "a" }, { type: "done", full_response: "a" }) },
        ["POST", "/api/send", { content: "x" }],
        [200, sse, events(["text", { text: "a" }], ["done", { full_response: "a" }])],
      ],
      [
        "an agent that is not there is refused",
        { send: refusing("agent 7 not found", { status: 404 }) },
        ["POST", "/api/send", { content: "x", agent_id: "7" }],
        [404, json, '{"error":"agent 7 not found"}'],
      ],
      [
        "a message without agents is refused",
        { send: refusing("no agents available", { status: 503 }) },
        ["POST", "/api/send", { content: "x" }],
        [503, json, '{"error":"no agents available"}'],
      ],
    ],
  ],
  [
    emacsAgent,
    [
      [
        "an answer is JSON",
        { getSession: () => session },
        ["GET", "/api/sessions/s"],
        [200, json, JSON.stringify(session)],
      ],
      [
        "a new session is answered with 201 and its id",
        { createSession: () => ({ session_id: "s", status: "active", created_at: at }) },
        ["POST", "/api/sessions", { project_path: "/p" }],
        [201, json, `{"session_id":"s","status":"active","created_at":"${at}"}`],
      ],
      [
        "a prompt without a context is accepted with 200",
        { prompt: () => ({ status: "accepted", agent_state: "thinking" }) },
        ["POST", "/api/sessions/s/prompt", { text: "x" }],
        [200, json, '{"status":"accepted","agent_state":"thinking"}'],
      ],
      [
        "the transcript of a format in the query is that format's text",
        { getTranscriptOrg: () => "#+TITLE: s\n" },
        ["GET", "/api/sessions/s/transcript?format=org"],
        [200, "text/org", "#+TITLE: s\n"],
      ],
      [
        "an approved call is answered with 200 and approved",
        { approve: () => ({ status: "approved", tool_call_id: "t" }) },
        ["POST", "/api/sessions/s/approve", { tool_call_id: "t" }],
        [200, json, '{"status":"approved","tool_call_id":"t"}'],
      ],
      [
        "a rejected call is answered with 200 and rejected",
        { reject: () => ({ status: "rejected", tool_call_id: "t" }) },
        ["POST", "/api/sessions/s/reject", { tool_call_id: "t" }],
        [200, json, '{"status":"rejected","tool_call_id":"t"}'],
      ],
      [
        "the end of a session is answered with its transcript's path",
        { endSession: () => ({ status: "closed", transcript_path: "t.org" }) },
        ["DELETE", "/api/sessions/s"],
        [200, json, '{"status":"closed","transcript_path":"t.org"}'],
      ],
      [
        "a backend that is not ready is 503",
        { getSession: refusing("starting", { status: 503 }) },
        ["GET", "/api/sessions/s"],
        [503, json, '{"error":{"code":"BACKEND_NOT_READY","message":"starting","details":{}}}'],
      ],
      [
        "an event has its name and its type, and its data on one line",
        { events: saying(...happening) },
        ["GET", "/api/sessions/s/events"],
        [200, sse, named(happening)],
      ],
      [
        "the agent has five states",
        { events: saying(...states) },
        ["GET", "/api/sessions/s/events"],
        [200, sse, named(states)],
      ],
    ],
  ],
];

overEachCarrier("In bytes", (carrier) => {
  for (const [contract, rows] of answers)
    it.each(rows)(`${contract.name}: %s`, async (_, handlers, [method, path, body], [status, type, text]) => {
      const operations = Object.keys(contract.operations).map((name) => [name, () => expect.fail(name)]);
      const all = { ...Object.fromEntries(operations), ...handlers };
      const { connection } = await hold(carrier, contract as never, all as never);
      const answer = await (connection.fetch ?? fetch)(
        new Request(`${connection.baseUrl}${path}`, {
          method,
          ...(body && { body: JSON.stringify(body), headers: { "Content-Type": json } }),
        }),
      );
      expect([answer.status, answer.headers.get("Content-Type")]).toEqual([status, type]);
      // A stream of events goes on.
      const reader = answer
        .body!.pipeThrough(new TextDecoderStream() as never)
        .getReader() as ReadableStreamDefaultReader<string>;
      let heard = "";
      while (heard.length < text.length) {
        const { done, value } = await reader.read();
        if (done) break;
        heard += value;
      }
      await reader.cancel();
      expect(heard).toBe(text);
    });

  it.each<[name: string, AnyContract, operation: string, input: object, messages: readonly [object, object]]>([
    ["agentsmithy", agentsmithy, "chat", question, [{ type: "content", content: "a" }, { type: "done" }]],
    [
      "fold-gateway",
      foldGateway,
      "send",
      { content: "x" },
      [
        { type: "text", text: "a" },
        { type: "done", full_response: "a" },
      ],
    ],
    ["emacs-agent", emacsAgent, "events", { session_id: "s" }, [happening[0]!, states[0]!]],
  ])("%s: a message is read while the next one is made", async (_, contract, operation, input, messages) => {
    const read = deferred();
    const handlers = {
      async *[operation]() {
        yield messages[0];
        await read.promise;
        yield messages[1];
      },
    };
    const { client } = await hold<Client, unknown>(carrier, contract as never, handlers);
    const heard: object[] = [];
    for await (const message of client[operation]!(input)) {
      heard.push(message);
      read.resolve();
      if (heard.length === 2) break;
    }
    expect(heard).toEqual(messages);
  });

  it("agentsmithy: a client asks for the stream with `stream: true`, and for one answer with false", async () => {
    const bodies: object[] = [];
    const complete = () => ({ content: "", diffs: [], done: true as const });
    const { connection } = await hold(carrier, agentsmithy, { chat: saying({ type: "done" }), complete } as never);
    const client = connect(agentsmithy, {
      ...connection,
      async fetch(request) {
        bodies.push(await request.clone().json());
        return (connection.fetch ?? fetch)(request);
      },
    });
    await client.chat(question).text();
    await client.complete(question);
    expect(bodies).toEqual([
      { ...question, stream: true },
      { ...question, stream: false },
    ]);
  });
});
