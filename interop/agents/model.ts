import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "./samples.js";

// A model that follows a script, by the HTTP APIs that agents use: OpenAI's chat completions and Gemini's streams.

/** What it is asked to replace in a file. */
export interface Edit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** The text with which it ends a turn. */
export const DONE = "I have renamed it.";

/** A prompt with this word gets a text without an end. */
export const WAIT = "wait";

interface Asked {
  /** The names of the tools on offer. */
  readonly tools: readonly string[];
  /** How many tools have answered since the user's last words. */
  readonly results: number;
  readonly prompt: string;
}

type Reply = { readonly text: string; readonly isHeld?: boolean } | { readonly tool: string; readonly args: object };

/** Edits the file by the tool on offer, after a read where the agent wants one, and says so. */
function reply({ tools, results, prompt }: Asked, { path, from, to }: Edit): Reply {
  if (prompt.includes(WAIT)) return { text: "Let me think.", isHeld: true };
  const replaced = { file_path: path, old_string: from, new_string: to };
  const calls = tools.includes("replace")
    ? [{ tool: "replace", args: { ...replaced, instruction: "Rename the function." } }]
    : tools.includes("read_file")
      ? [
          { tool: "read_file", args: { file_path: path } },
          { tool: "edit", args: replaced },
        ]
      : [{ tool: "edit", args: { filePath: path, oldString: from, newString: to } }];
  return (tools.length > 0 && calls[results]) || { text: DONE };
}

const textOf = (content: Json): string =>
  typeof content === "string" ? content : (content ?? []).map((part: Json) => part.text ?? "").join("\n");

/** The messages since the last one of the user, and that one. */
function sinceUser(
  messages: readonly Json[],
  isUser: (message: Json) => boolean,
): [user: Json, after: readonly Json[]] {
  const at = messages.findLastIndex(isUser);
  return [messages[at], messages.slice(at + 1)];
}

const event = (response: ServerResponse, body: object) => response.write(`data: ${JSON.stringify(body)}\n\n`);

/** OpenAI's chat completions, streamed. */
function complete(response: ServerResponse, { messages, tools = [] }: Json, edit: Edit): boolean {
  const [user, after] = sinceUser(messages, ({ role }) => role === "user");
  const results = after.filter(({ role }) => role === "tool").length;
  const names = tools.map((tool: Json) => tool.function.name);
  const answer = reply({ tools: names, results, prompt: textOf(user?.content) }, edit);
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event(response, {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    });
  if ("text" in answer) {
    for (const piece of answer.text.match(/.{1,8}/g)!) chunk({ role: "assistant", content: piece });
    if (answer.isHeld) return false;
    chunk({}, "stop");
  } else {
    const call = { name: answer.tool, arguments: JSON.stringify(answer.args) };
    chunk({ tool_calls: [{ index: 0, id: `call_${results}`, type: "function", function: call }] });
    chunk({}, "tool_calls");
  }
  response.write("data: [DONE]\n\n");
  return true;
}

/** Gemini's generateContent, streamed. */
function generate(response: ServerResponse, { contents, tools = [] }: Json, edit: Edit): boolean {
  const isUser = ({ role, parts }: Json) => role === "user" && !parts.some((part: Json) => part.functionResponse);
  const [user, after] = sinceUser(contents, isUser);
  const results = after.flatMap(({ parts }) => parts).filter((part: Json) => part.functionResponse).length;
  const names = tools.flatMap((tool: Json) => tool.functionDeclarations ?? []).map((one: Json) => one.name);
  const answer = reply({ tools: names, results, prompt: textOf(user?.parts) }, edit);
  const chunk = (part: object, finishReason?: string) =>
    event(response, { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason }] });
  if ("text" in answer) for (const text of answer.text.match(/.{1,8}/g)!) chunk({ text });
  else chunk({ functionCall: { id: `call_${results}`, name: answer.tool, args: answer.args } });
  if ("text" in answer && answer.isHeld) return false;
  chunk({ text: "" }, "STOP");
  return true;
}

/** Serves the model. `edit` is what it does when it is prompted. */
export async function scriptedModel(edit: Edit): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const { pathname } = new URL(request.url!, "http://localhost");
    const speak = pathname.endsWith("/chat/completions")
      ? complete
      : pathname.endsWith(":streamGenerateContent")
        ? generate
        : undefined;
    if (!speak) return void response.writeHead(404).end("{}");
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (speak(response, JSON.parse(text), edit)) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
