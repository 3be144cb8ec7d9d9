import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HttpAgent, type RunAgentResult } from "@ag-ui/client";
import { EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";
import { EventEncoder } from "@ag-ui/encoder";
import { connect } from "@parlance/client";
import { agUi, type RunInput, type RunMessage } from "@parlance/protocols/ag-ui";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { expanded, readSchemas } from "./expanded.js";

// AG-UI's contract beside the official packages: their client with our server, their encoder with our client, and their schemas.

type Script = (input: RunInput, signal: AbortSignal) => AsyncIterable<RunMessage>;

/** Our server with one agent, and the official client of it. */
async function serveAgent(script: Script) {
  const seen: { errors: string[]; aborts: number } = { errors: [], aborts: 0 };
  const app = serve(agUi, {
    async *run(input, { signal }) {
      signal.addEventListener("abort", () => seen.aborts++);
      yield* script(input, signal);
    },
  });
  const server = await listen(app, { port: 0 });
  onTestFinished(() => server.close());
  const agent = new HttpAgent({ url: `${server.url}/coder`, threadId: "thread-1" });
  agent.messages = [{ id: "m-1", role: "user", content: "Rename calcTotal." }];
  return { agent, server, seen };
}

const started = ({ threadId, runId }: RunInput): RunMessage => ({ type: "RUN_STARTED", threadId, runId });
const finished = ({ threadId, runId }: RunInput): RunMessage => ({ type: "RUN_FINISHED", threadId, runId });

describe("the official client with our server", () => {
  it("reads text, reasoning, a tool call with its result, and state", async () => {
    const { agent } = await serveAgent(async function* (input) {
      yield started(input);
      yield { type: "STATE_SNAPSHOT", snapshot: { open: 1 } };
      yield { type: "STATE_DELTA", delta: [{ op: "replace", path: "/open", value: 2 }] };
      yield { type: "REASONING_START", messageId: "r" };
      yield { type: "REASONING_MESSAGE_START", messageId: "r", role: "reasoning" };
      yield { type: "REASONING_MESSAGE_CONTENT", messageId: "r", delta: "Where?" };
      yield { type: "REASONING_MESSAGE_END", messageId: "r" };
      yield { type: "REASONING_END", messageId: "r" };
      yield { type: "TEXT_MESSAGE_START", messageId: "t", role: "assistant" };
      for (const delta of ["In ", "three files."]) yield { type: "TEXT_MESSAGE_CONTENT", messageId: "t", delta };
      yield { type: "TEXT_MESSAGE_END", messageId: "t" };
      yield { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search_files", parentMessageId: "t" };
      yield { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"query":"calcTotal"}' };
      yield { type: "TOOL_CALL_END", toolCallId: "c" };
      yield { type: "TOOL_CALL_RESULT", messageId: "u", toolCallId: "c", content: "src/cart.ts" };
      yield finished(input);
    });
    const { newMessages } = await agent.runAgent();
    expect(newMessages.map(({ role, content }) => [role, content])).toEqual([
      ["reasoning", "Where?"],
      ["assistant", "In three files."],
      ["tool", "src/cart.ts"],
    ]);
    expect(agent.state).toEqual({ open: 2 });
  });

  it("is asked for an approval, and answers in its next run", async () => {
    const { agent } = await serveAgent(async function* (input) {
      yield started(input);
      const answer = input.resume?.[0];
      if (!answer) {
        const interrupts = [{ id: "int-1", reason: "tool_call", message: "Change src/cart.ts?" }];
        yield { ...finished(input), outcome: { type: "interrupt", interrupts } } as RunMessage;
        return;
      }
      yield { type: "TEXT_MESSAGE_CHUNK", messageId: "t", role: "assistant", delta: JSON.stringify(answer.payload) };
      yield finished(input);
    });
    await agent.runAgent();
    expect(agent.pendingInterrupts).toMatchObject([{ id: "int-1", message: "Change src/cart.ts?" }]);
    const resume = [{ interruptId: "int-1", status: "resolved" as const, payload: { approved: true } }];
    const { newMessages } = await agent.runAgent({ resume });
    expect(newMessages).toMatchObject([{ role: "assistant", content: '{"approved":true}' }]);
  });

  it.each<[string, Script, string]>([
    [
      "a RUN_ERROR",
      async function* (input) {
        yield started(input);
        yield { type: "RUN_ERROR", message: "the model does not answer", code: "model_unavailable" };
      },
      "the model does not answer",
    ],
    [
      "a handler that throws",
      async function* (input) {
        yield started(input);
        throw new Error("secret");
      },
      "the server failed",
    ],
  ])("learns of %s", async (_, script, message) => {
    const { agent } = await serveAgent(script);
    const failures: string[] = [];
    const run: Promise<RunAgentResult | Error> = agent
      .runAgent(
        {},
        {
          onRunErrorEvent: ({ event }) => void failures.push(event.message),
          onRunFailed: ({ error }) => void failures.push(error.message),
        },
      )
      .catch((error: Error) => error);
    await run;
    expect(failures[0]).toContain(message);
  });

  it("stops the handler where it aborts its run", async () => {
    const { agent, seen } = await serveAgent(async function* (input, signal) {
      yield started(input);
      yield { type: "TEXT_MESSAGE_START", messageId: "t", role: "assistant" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const run = agent.runAgent({}, { onTextMessageStartEvent: () => agent.abortRun() }).catch(() => undefined);
    await run;
    await expect.poll(() => seen.aborts).toBe(1);
  });

  it("gets the status and the words of a refusal", async () => {
    const { agent, server } = await serveAgent(async function* (input) {
      yield finished(input);
    });
    agent.url = `${server.url}/no/such/agent`;
    await expect(agent.runAgent()).rejects.toThrow("404");
  });
});

/** Every event of the official schemas in an example of ours. */
const examples: RunMessage[] = readSchemas("ag-ui").flatMap(({ examples: [example] = [] }) =>
  typeof (example as RunMessage)?.type === "string" && (example as RunMessage).type in agUi.messages
    ? [example as RunMessage]
    : [],
);

describe("our client with the official encoder", () => {
  it("reads each event as it was sent, and what it does not know yet as unknown", async () => {
    const future = { type: "FUTURE_EVENT", value: 1 };
    const ends = new Set(["RUN_FINISHED", "RUN_ERROR"]);
    const sent = [
      ...examples.filter(({ type }) => !ends.has(type)),
      examples.find(({ type }) => type === "RUN_FINISHED")!,
    ];
    const encoder = new EventEncoder({ accept: "text/event-stream" });
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "Content-Type": encoder.getContentType() });
      for (const event of [future, ...sent]) response.write(encoder.encode(event as never));
      response.end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const unknown: unknown[] = [];
    const client = connect(agUi, {
      baseUrl: `http://127.0.0.1:${port}`,
      onUnknown: ({ body }) => void unknown.push(body),
    });
    const read: RunMessage[] = [];
    const input = { agent: "coder", threadId: "thread-1", runId: "run-1", messages: [] };
    for await (const message of client.run(input)) read.push(message);
    expect(read).toEqual(sent);
    expect(unknown).toEqual([future]);
    expect(examples).toHaveLength(Object.keys(agUi.messages).length);
  });
});

describe("the contract", () => {
  const schemas = Object.fromEntries(readSchemas("ag-ui").map((schema) => [schema.title as string, schema]));
  const events = Object.values(agUi.messages).map(({ schema }) => expanded("ag-ui", schemas[schema]!));

  it("has the structure of each official event, and no other", () => {
    const official = z.toJSONSchema(EventSchemas, { unrepresentable: "any", io: "input" });
    expect(new Set(events)).toEqual(new Set((official.anyOf ?? official.oneOf)!.map((one) => expanded("ag-ui", one))));
  });

  it("has the structure of the official input", () => {
    const official = z.toJSONSchema(RunAgentInputSchema, { unrepresentable: "any", io: "input" });
    expect(expanded("ag-ui", schemas.RunAgentInput!)).toEqual(expanded("ag-ui", official));
  });
});
