import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { connect } from "@parlance/client";
import { coven, type SendMessage } from "@parlance/protocols/coven";
import { handler } from "@parlance/server/node";
import express from "express";
import { Registry } from "prom-client";
import { expect, it, onTestFinished, vi } from "vitest";
import { serveAgent } from "./agent.js";

const EDIT = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-old\n+new\n";

/** What the model answers to one request: text and a tool call, or a status. */
interface Turn {
  readonly text?: string;
  readonly tool?: readonly [name: string, input: object];
  readonly status?: number;
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A model server that speaks the chat API of OpenAI. `asked` has the last message of each request. */
async function model(turns: readonly Turn[]) {
  const asked: { role: string; content: unknown }[] = [];
  const url = await listening(async (request, response) => {
    const turn = turns[asked.length] ?? {};
    asked.push(JSON.parse(await text(request)).messages.at(-1));
    if (turn.status)
      return void response.writeHead(turn.status).end(JSON.stringify({ error: { message: "no memory" } }));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const write = (delta: object, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    for (const word of turn.text?.split(/(?<= )/) ?? []) write({ content: word });
    if (turn.tool) {
      const [name, input] = turn.tool;
      const call = { name, arguments: JSON.stringify(input) };
      write({ tool_calls: [{ index: 0, id: `t${asked.length}`, type: "function", function: call }] });
    }
    write({}, turn.tool ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    response.end(`data: ${JSON.stringify({ id: "c", choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  return { asked, model: createOpenAICompatible({ name: "fake", baseURL: `${url}/v1`, includeUsage: true })("m") };
}

/** An agent in a folder of its own, in an Express server, whose model answers these turns. */
async function agent(...turns: readonly Turn[]) {
  const folder = await mkdtemp(join(tmpdir(), "parlance-llm-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "secret.txt"), "secret");
  const root = join(folder, "project");
  await mkdir(root);
  await writeFile(join(root, "notes.txt"), "old\n");
  const fake = await model(turns);
  const registry = new Registry();
  const app = serveAgent(fake.model, root, { secret: "me" }, registry);
  onTestFinished(() => app.close());
  const baseUrl = `${await listening(express().use("/agent", handler(app)))}/agent`;
  const client = connect(coven, { baseUrl, token: "secret", retryWaits: [] });
  const decide = (tool_id: string, approved: boolean) => client.approveTool({ agent_id: "1", tool_id, approved });
  const ask = () => client.send({ content: "Change the notes", sender: "me" });
  return {
    ...fake,
    app,
    root,
    registry,
    client,
    baseUrl,
    decide,
    ask,
    notes: () => readFile(join(root, "notes.txt"), "utf8"),
  };
}

/** Reads a stream, and answers each approval. */
async function read(
  stream: AsyncIterable<SendMessage>,
  decide?: (id: string) => Promise<unknown>,
): Promise<SendMessage[]> {
  const messages: SendMessage[] = [];
  for await (const message of stream) {
    messages.push(message);
    if (message.type === "tool_approval") await decide?.(message.id);
  }
  return messages;
}

it("shows the model's text and its tools, and counts its tokens", async () => {
  const { ask, asked, registry } = await agent(
    { text: "Let me ", tool: ["read_file", { path: "notes.txt" }] },
    { text: "It says old." },
  );
  const messages = await read(ask());
  expect(messages).toEqual([
    { type: "started", thread_id: expect.any(String) },
    { type: "text", text: "Let " },
    { type: "text", text: "me " },
    { type: "tool_use", id: "t1", name: "read_file", input_json: '{"path":"notes.txt"}' },
    { type: "tool_result", id: "t1", output: "old\n", is_error: false },
    { type: "text", text: "It " },
    { type: "text", text: "says " },
    { type: "text", text: "old." },
    { type: "done", full_response: "Let me It says old." },
  ]);
  expect(asked).toMatchObject([
    { role: "user", content: "Change the notes" },
    { role: "tool", content: "old\n" },
  ]);
  expect(await registry.metrics()).toContain("agent_tokens_total 14");
  expect(await registry.metrics()).toContain('agent_streams_total{how="done"} 1');
});

it.each([
  [true, "new\n", "done", "running"],
  [false, "old\n", "the user has denied it", "denied"],
])("edits only with the user's approval: %s", async (approved, notes, output, state) => {
  const one = await agent({ tool: ["edit_files", { diff: EDIT }] }, { text: "ok" });
  const messages = await read(one.ask(), (id) => one.decide(id, approved));
  expect(messages.slice(1)).toEqual(
    expect.arrayContaining([
      {
        type: "tool_approval",
        id: "t1",
        name: "edit_files",
        input_json: JSON.stringify({ diff: EDIT }),
        request_id: expect.any(String),
      },
      { type: "tool_state", id: "t1", state, detail: "" },
      { type: "tool_result", id: "t1", output, is_error: false },
      { type: "done", full_response: "ok" },
    ]),
  );
  expect(await one.notes()).toBe(notes);
  expect(one.asked[1]).toMatchObject({ role: "tool", content: output });
  await expect(one.decide("t1", true)).rejects.toMatchObject({ status: 409 });
  expect(await one.registry.metrics()).toContain('agent_call_seconds_count{operation="approveTool"}');
});

it("ends with its reader, while an approval is open", async () => {
  const { app, ask, decide, notes, registry } = await agent({ tool: ["edit_files", { diff: EDIT }] });
  for await (const message of ask()) if (message.type === "tool_approval") break;
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ streams: 0, asks: 0, sessions: 0 }));
  await expect(decide("t1", true)).rejects.toMatchObject({ status: 409 });
  expect(await notes()).toBe("old\n");
  expect(await registry.metrics()).toContain('agent_streams_total{how="gone"} 1');
});

it("fails with the model's error", async () => {
  const { ask, registry } = await agent({ status: 400 });
  const messages = await read(ask());
  expect(messages.at(-1)).toEqual({ type: "error", error: expect.stringContaining("the model failed: ") });
  expect(messages.at(-1)).toEqual({ type: "error", error: expect.stringContaining("no memory") });
  expect(await registry.metrics()).toContain('agent_streams_total{how="failed"} 1');
});

it.each([
  ["a file outside the project", ["read_file", { path: "../secret.txt" }], "not in the project"],
  ["a missing file", ["read_file", { path: "none.txt" }], "ENOENT"],
  ["a diff that does not apply", ["edit_files", { diff: EDIT.replace("-old", "-other") }], "notes.txt"],
  ["text that is no diff", ["edit_files", { diff: "change it" }], ""],
] as const)("tells the model about %s", async (_, tool, said) => {
  const one = await agent({ tool }, { text: "sorry" });
  const messages = await read(one.ask(), (id) => one.decide(id, true));
  const result = messages.find(({ type }) => type === "tool_result");
  expect(result).toMatchObject({ output: expect.stringContaining(said) });
  expect(result).not.toMatchObject({ output: "done" });
  expect(messages.at(-1)).toEqual({ type: "done", full_response: "sorry" });
  expect(await one.notes()).toBe("old\n");
});

it("refuses a caller without a token", async () => {
  const { baseUrl } = await agent();
  const stranger = connect(coven, { baseUrl, retryWaits: [] });
  await expect(stranger.send({ content: "x", sender: "me" }).opened).rejects.toMatchObject({ status: 401 });
});

it("is an agent of fewer than 80 lines", async () => {
  const lines = (await readFile(new URL("./agent.ts", import.meta.url), "utf8")).split("\n").length - 1;
  expect(lines).toBeLessThan(80);
});
