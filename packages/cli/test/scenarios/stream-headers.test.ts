import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { generate } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { aiUi } from "@parlance/protocols/ai-ui";
import { serve } from "@parlance/server";
import { double } from "@parlance/server/testing";
import type { AnyContract } from "@parlance/wire";
import { afterEach, describe, expect, it } from "vitest";

// Headers of a stream's answer, as MCP, LangGraph, the AI SDK, OpenAI and Anthropic send them.

const object = (title: string, properties: object, example: object) =>
  JSON.stringify({ title, type: "object", properties, required: Object.keys(properties), examples: [example] });
const string = { type: "string" };
const document = assemble({
  name: "chat",
  files: {
    "contract.json": JSON.stringify({
      format: 1,
      name: "chat",
      title: "Chat",
      url: "http://localhost:1",
      tag: { in: "property", property: "type" },
      messages: {
        text: { schema: "messages/text.json" },
        done: { schema: "messages/done.json" },
        error: { schema: "messages/error.json", fault: { text: ["/error"] } },
      },
      operations: {
        chat: {
          method: "POST",
          path: "/chat",
          summary: "Chat.",
          answer: {
            status: 200,
            headers: {
              "Mcp-Session-Id": { type: "string", required: true, description: "The session." },
              "X-RateLimit-Remaining": { type: "integer", description: "Calls that are left." },
            },
            stream: { messages: ["text", "done", "error"], end: ["done", "error"], fault: "error" },
          },
        },
      },
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    }),
    "messages/text.json": object("TextMessage", { type: { const: "text" }, text: string }, { type: "text", text: "a" }),
    "messages/done.json": object("DoneMessage", { type: { const: "done" } }, { type: "done" }),
    "messages/error.json": object(
      "ErrorMessage",
      { type: { const: "error" }, error: string },
      { type: "error", error: "no" },
    ),
    "messages/fault.json": object("FaultBody", { error: string }, { error: "no" }),
  },
});
const chat = contractValue(document);
const head = { "Mcp-Session-Id": "s-1", "X-RateLimit-Remaining": 7 };

// biome-ignore lint/suspicious/noExplicitAny: the contract was made at run time
type Handler = (input: object, call: any) => AsyncIterable<object>;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function served(handler: Handler, failures: unknown[] = []) {
  const app = serve(chat, { chat: handler }, { onError: (error) => failures.push(error) });
  closing.push(() => app.close());
  return connect(chat, { fetch: app.fetch as typeof fetch });
}

async function all(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const message of messages) found.push(message);
  return found;
}

describe("headers of a stream's answer", () => {
  it("are read by `opened` from a plain server, with their types", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "mcp-session-id": "s-1",
        "x-ratelimit-remaining": "7",
      });
      response.end('data: {"type":"text","text":"a"}\n\ndata: {"type":"done"}\n\n');
    }).listen(0, "127.0.0.1");
    closing.push(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const client = connect(chat, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const stream = client.chat();
    expect(await stream.opened).toEqual({ headers: head });
    expect(await all(stream)).toEqual([{ type: "text", text: "a" }, { type: "done" }]);
  });

  it("are sent with the head by a handler that sets them before its first message", async () => {
    const stream = served(async function* (_, call) {
      call.headers({ "Mcp-Session-Id": "s-1" });
      call.headers({ "X-RateLimit-Remaining": 7 });
      yield { type: "done" };
    }).chat();
    expect(await stream.opened).toEqual({ headers: head });
    expect(await all(stream)).toEqual([{ type: "done" }]);
  });

  it("are sent without the handler where they can have one value only", async () => {
    async function* chat() {
      yield { type: "finish" as const };
    }
    const app = serve(aiUi, { chat, reconnect: chat });
    closing.push(() => app.close());
    const stream = connect(aiUi, { fetch: app.fetch as typeof fetch }).chat({
      id: "chat-1",
      messages: [],
      trigger: "submit-message",
    });
    expect(await stream.opened).toEqual({ headers: { "x-vercel-ai-ui-message-stream": "v1" } });
    expect(await all(stream)).toEqual([{ type: "finish" }]);
  });

  it.each<[what: string, handler: Handler, error: object]>([
    [
      "is missing",
      async function* () {
        yield { type: "done" };
      },
      { message: expect.stringContaining("Mcp-Session-Id") },
    ],
    [
      "has another type",
      async function* (_, call) {
        call.headers({ ...head, "X-RateLimit-Remaining": "many" });
        yield { type: "done" };
      },
      { message: expect.stringContaining("X-RateLimit-Remaining") },
    ],
    [
      "cannot be sent",
      async function* (_, call) {
        call.headers({ "Mcp-Session-Id": "a\nb" });
        yield { type: "done" };
      },
      { message: expect.stringContaining("may not be") },
    ],
  ])("are an error of the handler where one %s", async (_, handler, error) => {
    const failures: unknown[] = [];
    await expect(served(handler, failures).chat().opened).rejects.toMatchObject({ name: "Refusal", status: 500 });
    expect(failures).toMatchObject([error]);
  });

  it("cannot be set after the first message", async () => {
    const failures: unknown[] = [];
    const client = served(async function* (_, call) {
      call.headers(head);
      yield { type: "text", text: "a" };
      call.headers(head);
    }, failures);
    await all(client.chat());
    expect(failures).toMatchObject([{ message: expect.stringContaining("before the first message") }]);
  });

  it("are a violation of the server where a required one is missing", async () => {
    const fetch = async () =>
      new Response('data: {"type":"done"}\n\n', { headers: { "content-type": "text/event-stream" } });
    const stream = connect(chat, { baseUrl: "http://localhost:1", fetch }).chat();
    await expect(stream.opened).rejects.toMatchObject({ name: "Violation", code: "schema" });
    await expect(all(stream)).rejects.toMatchObject({ name: "Violation" });
  });

  it("are those of the example in a double", async () => {
    const twin = double(chat as AnyContract as never);
    closing.push(() => twin.close());
    const { opened } = connect(chat, { fetch: twin.fetch as typeof fetch }).chat();
    expect(await opened).toMatchObject({ headers: { "Mcp-Session-Id": expect.any(String) } });
  });

  it("are typed for the client and the handler", async () => {
    const text = (await generate(document))["chat.ts"]!;
    expect(text).toContain("chat(options?: CallOptions): MessageStream<ChatMessage, { headers: ChatHeaders }>;");
    expect(text).toContain("call: StreamCall<ChatMessage> & StreamHead<ChatHeaders>");
  });
});
