import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "./samples.js";

// A model that follows a script, by the HTTP APIs that agents use: OpenAI's chat completions and responses, and Gemini's streams.

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

/** The change of a file in the form of Codex, which takes whole lines. */
function patchOf({ path, from, to }: Edit): string {
  const line = readFileSync(path, "utf8")
    .split("\n")
    .find((one) => one.includes(from));
  const change = line === undefined ? "" : `@@\n-${line}\n+${line.replace(from, to)}\n`;
  return `*** Begin Patch\n*** Update File: ${path}\n${change}*** End Patch\n`;
}

/** OpenAI's responses, streamed, for Codex: it edits by a tool that takes text or an object, or by a shell. */
function respond(response: ServerResponse, { input, tools = [] }: Json, edit: Edit): boolean {
  const [user, after] = sinceUser(input, ({ role }) => role === "user");
  const results = after.filter(({ type = "" }: Json) => type.endsWith("_output")).length;
  const isHeld = textOf(user?.content).includes(WAIT);
  const names: string[] = tools.map(({ name }: Json) => name);
  const tool = ["apply_patch", "shell_command", "exec_command"].find((name) => names.includes(name));
  const item = (more: object) => ({ id: `item_${input.length}`, status: "completed", ...more });
  const call = { call_id: `call_${input.length}`, name: tool };
  const patch = tool === undefined ? "" : patchOf(edit);
  const shell = { [tool === "exec_command" ? "cmd" : "command"]: `apply_patch <<'EOF'\n${patch}EOF` };
  const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: DONE, annotations: [] }] };
  const isCustom = tools.some(({ name, type }: Json) => name === "apply_patch" && type === "custom");
  const edits = isCustom
    ? { type: "custom_tool_call", ...call, input: patch }
    : { type: "function_call", ...call, arguments: JSON.stringify(tool === "apply_patch" ? { input: patch } : shell) };
  const isCall = tool !== undefined && results === 0 && !isHeld;
  const done = item(isCall ? edits : said);
  const send = (type: string, fields: object) => {
    response.write(`event: ${type}\n`);
    event(response, { type, ...fields });
  };
  const head = { id: "r", object: "response", status: "in_progress", output: [] };
  send("response.created", { response: head });
  send("response.output_item.added", { output_index: 0, item: { ...done, ...(!isCall && { content: [] }) } });
  if (!isCall)
    for (const delta of DONE.match(/.{1,8}/g)!)
      send("response.output_text.delta", { item_id: done.id, output_index: 0, content_index: 0, delta });
  if (isHeld) return false;
  send("response.output_item.done", { output_index: 0, item: done });
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  send("response.completed", { response: { ...head, status: "completed", output: [done], usage } });
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
        : pathname.endsWith("/responses")
          ? respond
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
