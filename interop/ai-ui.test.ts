import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Chat } from "@ai-sdk/react";
import { connect } from "@parlance/client";
import { aiUi, type ChatInput, type ChatMessage, type DataChunk } from "@parlance/protocols/ai-ui";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import {
  asSchema,
  createUIMessageStream,
  DefaultChatTransport,
  pipeUIMessageStreamToResponse,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from "ai";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSchemas } from "./expanded.js";

// The contract of the AI SDK's UI message stream beside the official packages: their chat with our server, their server with our client, and
// their types and checks.

type Script = (body: ChatInput, signal: AbortSignal) => AsyncIterable<ChatMessage>;

/** Our server with one chat, and the official client of it. */
async function serveChat(script: Script, reconnect: Script = script) {
  const seen = { aborts: 0 };
  const app = serve(aiUi, {
    async *chat(body, { signal }) {
      signal.addEventListener("abort", () => seen.aborts++);
      yield* script(body, signal);
    },
    async *reconnect({ id }, { signal }) {
      yield* reconnect({ id, messages: [], trigger: "submit-message" }, signal);
    },
  });
  const server = await listen(app, { port: 0 });
  onTestFinished(() => server.close());
  const data: unknown[] = [];
  const transport = new DefaultChatTransport({ api: `${server.url}/api/chat` });
  const chat = new Chat({ id: "chat-1", transport, onData: (part) => void data.push(structuredClone(part)) });
  return { chat, seen, data };
}

function* say(id: string, text: string): Generator<ChatMessage> {
  yield { type: "text-start", id };
  yield { type: "text-delta", id, delta: text };
  yield { type: "text-end", id };
}

describe("the official chat with our server", () => {
  it("shows text, reasoning, a tool with its output, a source and a file", async () => {
    const { chat } = await serveChat(async function* () {
      yield { type: "start", messageId: "m-2" };
      yield { type: "start-step" };
      yield { type: "reasoning-start", id: "r" };
      yield { type: "reasoning-delta", id: "r", delta: "Where?" };
      yield { type: "reasoning-end", id: "r" };
      yield* say("t", "In three files.");
      yield { type: "tool-input-start", toolCallId: "c", toolName: "search_files", dynamic: true };
      yield { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"query":"calcTotal"}' };
      yield { type: "tool-input-available", toolCallId: "c", toolName: "search_files", input: {}, dynamic: true };
      yield { type: "tool-output-available", toolCallId: "c", output: ["src/cart.ts"], dynamic: true };
      yield { type: "source-url", sourceId: "s", url: "https://example.com/cart" };
      yield { type: "file", url: "https://example.com/diagram.png", mediaType: "image/png" };
      yield { type: "finish-step" };
      yield { type: "finish", finishReason: "stop" };
    });
    await chat.sendMessage({ text: "Where is calcTotal used?" });
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
    expect(chat.lastMessage).toMatchObject({
      id: "m-2",
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Where?", state: "done" },
        { type: "text", text: "In three files.", state: "done" },
        { type: "dynamic-tool", toolName: "search_files", state: "output-available", output: ["src/cart.ts"] },
        { type: "source-url", url: "https://example.com/cart" },
        { type: "file", mediaType: "image/png" },
      ],
    });
  });

  it("asks for an approval, and sends the decision with its next request", async () => {
    const { chat } = await serveChat(async function* ({ messages }) {
      yield { type: "start", messageId: "m-2" };
      const parts = messages.flatMap((message) => message.parts) as { approval?: { approved?: boolean } }[];
      const decided = parts.find(({ approval }) => approval?.approved !== undefined);
      if (decided) {
        yield { type: "tool-output-available", toolCallId: "c", output: "Changed src/cart.ts.", dynamic: true };
      } else {
        yield { type: "tool-input-available", toolCallId: "c", toolName: "edit_file", input: {}, dynamic: true };
        yield { type: "tool-approval-request", approvalId: "a", toolCallId: "c" };
      }
      yield { type: "finish" };
    });
    await chat.sendMessage({ text: "Rename calcTotal." });
    expect(chat.lastMessage?.parts).toMatchObject([{ state: "approval-requested", approval: { id: "a" } }]);
    await chat.addToolApprovalResponse({ id: "a", approved: true });
    await chat.sendMessage();
    expect(chat.lastMessage?.parts).toMatchObject([{ state: "output-available", output: "Changed src/cart.ts." }]);
  });

  it.each<[string, Script, string]>([
    [
      "an error",
      async function* () {
        yield { type: "start" };
        yield { type: "error", errorText: "the model does not answer" };
      },
      "the model does not answer",
    ],
    [
      "a handler that throws",
      async function* () {
        yield { type: "start" };
        throw new Error("secret");
      },
      "the server failed",
    ],
  ])("learns of %s", async (_, script, message) => {
    const { chat } = await serveChat(script);
    await chat.sendMessage({ text: "x" });
    expect([chat.status, chat.error?.message]).toEqual(["error", message]);
  });

  it("stops the handler where it stops", async () => {
    const { chat, seen } = await serveChat(async function* (_, signal) {
      yield { type: "start" };
      yield { type: "text-start", id: "t" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const sent = chat.sendMessage({ text: "x" });
    await expect.poll(() => chat.status).toBe("streaming");
    await chat.stop();
    await sent;
    await expect.poll(() => seen.aborts).toBe(1);
  });

  it("gets the parts of an application, and keeps those that are not transient", async () => {
    const { chat, data } = await serveChat(async function* () {
      yield { type: "start", messageId: "m-2" };
      yield { type: "data-weather", id: "w", data: { city: "Oslo" } };
      yield { type: "data-progress", data: 0.5, transient: true };
      yield { type: "data-weather", id: "w", data: { city: "Oslo", celsius: 4 } };
      yield { type: "finish" };
    });
    await chat.sendMessage({ text: "How warm is Oslo?" });
    const weather = { type: "data-weather", id: "w", data: { city: "Oslo", celsius: 4 } };
    expect(chat.lastMessage?.parts).toEqual([weather]);
    expect(data).toEqual([
      { type: "data-weather", id: "w", data: { city: "Oslo" } },
      { type: "data-progress", data: 0.5, transient: true },
      weather,
    ]);
  });

  it("takes up the answer of a chat by reconnect", async () => {
    const { chat } = await serveChat(async function* () {
      yield { type: "start", messageId: "m-2" };
      yield* say("t", "Still here.");
      yield { type: "finish" };
    });
    await chat.resumeStream();
    expect(chat.lastMessage?.parts).toMatchObject([{ type: "text", text: "Still here." }]);
  });

  it("resumes quietly where there is no answer to take up", async () => {
    const { chat } = await serveChat(async function* () {});
    await chat.resumeStream();
    expect([chat.status, chat.error, chat.messages]).toEqual(["ready", undefined, []]);
  });
});

/** The name in the contract: the parts of an application have one. */
const nameOf = (type: string): string => (/^data-/.test(type) ? "data-*" : type);

/** The examples of every chunk. */
const examples = readSchemas("ai-ui")
  .flatMap(({ examples: some = [] }) => some as ChatMessage[])
  .filter(({ type }) => type !== undefined && nameOf(type) in aiUi.messages);

/** Our client of a server that answers every request so. */
async function connected(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const server = createServer((request, response) => {
    request.resume();
    answer(response, request);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return connect(aiUi, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

describe("our client with the official server", () => {
  it("reads each chunk as it was sent", async () => {
    // The official server names a message that has no id.
    const sent = examples.filter((chunk) => chunk.type !== "error" && !(chunk.type === "start" && !chunk.messageId));
    const client = await connected((response) => {
      const stream = createUIMessageStream({
        execute({ writer }) {
          for (const chunk of sent) writer.write(chunk as UIMessageChunk);
        },
      });
      pipeUIMessageStreamToResponse({ response, stream });
    });
    const read: ChatMessage[] = [];
    for await (const message of client.chat({ id: "c", messages: [], trigger: "submit-message" })) read.push(message);
    expect(read).toEqual(sent);
    const parts = read.filter((message): message is DataChunk => nameOf(message.type) === "data-*");
    expect(parts.map(({ type, transient }) => [type, transient])).toEqual([
      ["data-weather", undefined],
      ["data-progress", true],
    ]);
  });

  it("takes up an answer that was cut, with every chunk once", async () => {
    const targets: string[] = [];
    const chunks = ["a", "b", "c"].map((delta) => ({ type: "text-delta", id: "t", delta }));
    const client = await connected((response, request) => {
      targets.push(`${request.method} ${request.url}`);
      const stream = createUIMessageStream({
        async execute({ writer }) {
          writer.write({ type: "text-start", id: "t" });
          for (const chunk of chunks) writer.write(chunk as UIMessageChunk);
          if (request.method === "POST") setTimeout(() => response.destroy(), 50);
          if (request.method === "POST") await new Promise((resolve) => response.once("close", resolve));
          writer.write({ type: "text-end", id: "t" });
        },
      });
      pipeUIMessageStreamToResponse({ response, stream });
    });
    const read: ChatMessage[] = [];
    for await (const message of client.chat({ id: "c", messages: [], trigger: "submit-message" })) read.push(message);
    expect(read).toEqual([{ type: "text-start", id: "t" }, ...chunks, { type: "text-end", id: "t" }]);
    expect(targets).toEqual(["POST /api/chat", "GET /api/chat/c/stream"]);
  });

  it("reads no messages where there is no answer to take up", async () => {
    // As the guide on resumable streams answers, with `new Response(null, { status: 204 })`.
    const client = await connected((response) => void response.writeHead(204).end());
    const stream = client.reconnect({ id: "c" });
    expect(await stream.opened).toEqual({ status: 204 });
    expect(await stream.text()).toBe("");
  });
});

/** An example with each of its properties left out, and with other values in its place. */
function* spoiled(chunk: ChatMessage): Generator<object> {
  for (const key of Object.keys(chunk).filter((name) => name !== "type")) {
    const { [key as keyof ChatMessage]: _, ...rest } = chunk;
    yield rest;
    for (const value of [null, true, 0, -1, 1.5, "other", [], {}]) yield { ...rest, [key]: value };
  }
}

describe("the contract", () => {
  it("takes and refuses what the official check does", async () => {
    const { validate } = asSchema(uiMessageChunkSchema);
    const check = (chunk: ChatMessage) => aiUi.checks[aiUi.messages[nameOf(chunk.type)]!.schema]!(chunk);
    const values = examples.flatMap((chunk) => [chunk, ...spoiled(chunk)]) as ChatMessage[];
    const verdicts = await Promise.all(
      values.map(async (chunk) => [JSON.stringify(chunk), (await validate!(chunk)).success] as const),
    );
    expect(values.map((chunk) => [JSON.stringify(chunk), check(chunk)])).toEqual(verdicts);
    expect(values.length).toBeGreaterThan(500);
  });

  it("has every type of the official chunks", () => {
    type Official = UIMessageChunk["type"];
    // Each assignment fails to compile where the other side has a type more.
    const types: readonly Official[] = examples.map(({ type }) => type);
    const ours: readonly ChatMessage["type"][] = types;
    expect(new Set(ours.map(nameOf))).toEqual(new Set(Object.keys(aiUi.messages)));
  });
});
