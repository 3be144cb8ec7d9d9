/** The first contract that `init` writes: which carriers it can have, its files, and a program that uses it. */
export type Carrier = "sse" | "websocket" | "both";

export const carriers: readonly Carrier[] = ["sse", "websocket", "both"];

type Schema = Readonly<Record<string, unknown>>;
type Files = Readonly<Record<string, string>>;

/** The dialect that editors complete and check a message's schema by. */
const $schema = "https://json-schema.org/draft/2020-12/schema";

/** JSON in the form of a file. */
export const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** A sound contract: a prompt, answered by a stream of text that ends in success or an error. */
export function files(name: string, carrier: Carrier): Files {
  const stream = carrier !== "websocket";
  const channel = carrier !== "sse";
  const message = (title: string, tag: string, what: string, property: string, example: string) =>
    channel ? typed(title, tag, what, property, example) : schema(title, what, property, example);
  return {
    "contract.json": json(contract(name, carrier)),
    ...(stream && {
      "messages/prompt.json": json(schema("PromptBody", "What the user asks.", "prompt", "Rename total to sum.")),
    }),
    ...(channel && {
      "messages/ask.json": json(typed("AskMessage", "ask", "What the user asks.", "prompt", "Rename total to sum.")),
    }),
    "messages/text.json": json(
      message("TextMessage", "text", "A piece of the answer's text.", "text", "I will rename "),
    ),
    "messages/done.json": json(
      message("DoneMessage", "done", "The answer is complete: its whole text.", "text", "I will rename it."),
    ),
    "messages/error.json": json(
      message("ErrorMessage", "error", "The answer failed: why.", "error", "The model is not available."),
    ),
    "messages/fault.json": json(
      schema("FaultBody", "The body of a refusal, before an answer starts.", "error", "prompt is missing"),
    ),
    ...(stream && { "transcripts/prompt.jsonl": lines(promptLines(channel)) }),
    ...(channel && { "transcripts/session.jsonl": lines(sessionLines) }),
  };
}

function schema(title: string, description: string, property: string, example: string): Schema {
  return {
    $schema,
    title,
    description,
    type: "object",
    required: [property],
    properties: { [property]: { type: "string", description } },
    examples: [{ [property]: example }],
  };
}

/** The same with the property that names the message. */
function typed(title: string, type: string, description: string, property: string, example: string): Schema {
  return {
    $schema,
    title,
    description,
    type: "object",
    required: ["type", property],
    properties: {
      type: { const: type, description: "The message's name." },
      [property]: { type: "string", description },
    },
    examples: [{ type, [property]: example }],
  };
}

const text = { append: { text: "text" }, final: { done: "text" } };

function contract(name: string, carrier: Carrier): Schema {
  const error = { schema: "messages/error.json", fault: { text: ["/error"] } };
  return {
    $schema: "../contract.schema.json",
    format: 1,
    name,
    title: name,
    description: {
      sse: "How an editor talks to this agent: a prompt is sent by POST, and the answer streams back as Server-Sent Events.",
      websocket: "How an editor talks to this agent: prompts and answers travel over one WebSocket.",
      both: "How an editor talks to this agent: one prompt by POST with an answer by Server-Sent Events, or many over a WebSocket.",
    }[carrier],
    url: "http://localhost:8080",
    tag: {
      sse: { in: "event" },
      websocket: { in: "property", property: "type" },
      both: { in: "property", property: "type", event: true },
    }[carrier],
    messages: {
      ...(carrier !== "sse" && { ask: { schema: "messages/ask.json" } }),
      text: { schema: "messages/text.json" },
      done: { schema: "messages/done.json" },
      error,
    },
    operations: carrier === "websocket" ? {} : { prompt: operation },
    channels: carrier === "sse" ? {} : { session: channel },
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
}

const operation = {
  method: "POST",
  path: "/prompt",
  summary: "Send a prompt and receive the answer as a stream.",
  body: "messages/prompt.json",
  answer: {
    status: 200,
    stream: { messages: ["text", "done", "error"], end: ["done", "error"], fault: "error", text },
  },
  faults: { "400": { description: "The body is not a prompt." } },
};

const channel = {
  path: "/session",
  summary: "Send prompts and receive the answers.",
  client: ["ask"],
  server: ["text", "done", "error"],
  fault: "error",
  text,
};

const lines = (values: readonly object[]) => values.map((line) => `${JSON.stringify(line)}\n`).join("");

function promptLines(tagged: boolean): object[] {
  const wire = (type: string) => JSON.stringify({ ...(tagged && { type }), text: "Done." });
  return [
    { note: "A prompt and its answer." },
    {
      from: "client",
      call: "prompt",
      input: { prompt: "Rename total to sum." },
      request: { method: "POST", target: "/prompt", body: '{"prompt":"Rename total to sum."}' },
    },
    ...["text", "done"].map((type) => ({
      from: "server",
      wire: `event: ${type}\ndata: ${wire(type)}\n\n`,
      message: { type, text: "Done." },
    })),
    { from: "server", end: "done" },
  ];
}

const sessionLines = [
  { note: "A prompt over the socket, and its answer." },
  { from: "client", call: "session", input: {}, request: { method: "GET", target: "/session" } },
  ...[
    ["client", { type: "ask", prompt: "Rename total to sum." }] as const,
    ["server", { type: "text", text: "Done." }] as const,
    ["server", { type: "done", text: "Done." }] as const,
  ].map(([from, message]) => ({ from, wire: JSON.stringify(message), message })),
];

/** The names that the generated module exports: fold-gateway is foldGateway and FoldGateway, chat-1.13 is chat1_13. */
export function moduleNames(name: string): { value: string; type: string } {
  const value = name.replace(/(?<=\d)\.(?=\d)|[-.](.)/g, (_, first?: string) => first?.toUpperCase() ?? "_");
  return { value, type: value[0]!.toUpperCase() + value.slice(1) };
}

/** A server and a client of the contract in one program, which runs when the contract is generated beside it. */
export function program(name: string, carrier: Carrier): string {
  const { value } = moduleNames(name);
  const handlers = [
    carrier !== "websocket" &&
      `  async *prompt({ prompt }): AsyncGenerator<PromptMessage> {
    yield { type: "text", text: prompt };
    yield { type: "done", text: prompt };
  },`,
    carrier !== "sse" &&
      `  async session(_, channel) {
    for await (const { prompt } of channel) {
      channel.send({ type: "text", text: prompt });
      channel.send({ type: "done", text: prompt });
    }
  },`,
  ].filter(Boolean);
  const calls = [
    carrier !== "websocket" && 'console.log(await agent.prompt({ prompt: "hello" }).text());',
    carrier !== "sse" &&
      `const session = await agent.session({});
session.send({ type: "ask", prompt: "hello" });
for await (const message of session) {
  console.log(message);
  if (message.type === "done") break;
}
await session.close();`,
  ].filter(Boolean);
  return `import { connect } from "@parlance/client";
import { serve } from "@parlance/server";
import { ${value}${carrier === "websocket" ? "" : ", type PromptMessage"} } from "./protocols/${name}.js";

const app = serve(${value}, {
${handlers.join("\n")}
});
const agent = connect(${value}, { fetch: app.fetch, webSocket: app.webSocket }); // elsewhere: { baseUrl: "http://…" }
${calls.join("\n")}
`;
}
