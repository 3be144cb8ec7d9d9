import { randomUUID } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { parseEdits } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { type App, bearer, type Hooks, Refusal, serve } from "@parlance/server";
import { isStepCount, type LanguageModel, streamText, type TextStreamPart, type ToolSet, tool } from "ai";
import { Counter, Histogram, type Registry } from "prom-client";
import { z } from "zod";

/** An agent that a language model drives. It edits files below `root`, each time with the user's approval. `users`: by their tokens. */
export function serveAgent(model: LanguageModel, root: string, users: Record<string, string>, registry: Registry): App {
  const registers = [registry];
  const streams = new Counter({ name: "agent_streams_total", help: "Ended streams", labelNames: ["how"], registers });
  const tokens = new Counter({ name: "agent_tokens_total", help: "Tokens of the model", registers });
  const calls = new Histogram({ name: "agent_call_seconds", help: "Calls", labelNames: ["operation"], registers });

  const read_file = tool({
    description: "Reads a file of the project.",
    inputSchema: z.object({ path: z.string() }),
    async execute({ path }) {
      const [file, folder] = await Promise.all([realpath(join(root, path)), realpath(root)]);
      return file.startsWith(folder + sep) ? readFile(file, "utf8") : `${path} is not in the project`;
    },
  });
  const editing = (approve: (id: string, input: object) => Promise<boolean>) =>
    tool({
      description: "Changes files of the project by a unified diff.",
      inputSchema: z.object({ diff: z.string() }),
      async execute(input, { toolCallId }) {
        if (!(await approve(toolCallId, input))) return "the user has denied it";
        const reading = parseEdits(input.diff);
        if (!reading.ok) return reading.errors[0]!.message;
        const written = await applyPlan(await planEdits(reading.patch, { root }), { root });
        return written.ok ? "done" : written.conflicts[0]!.message;
      },
    });

  const hooks: Hooks = {
    close: (_, how) => streams.inc({ how }),
    done: ({ operation }, { duration }) => calls.observe({ operation }, duration / 1000),
  };
  const handlers: Pick<CovenHandlers, "send" | "approveTool"> = {
    async send({ content, thread_id = randomUUID() }, { ask, send, signal }) {
      await send({ type: "started", thread_id });
      const edit_files = editing(async (id, input) => {
        const question = { id, name: "edit_files", input_json: JSON.stringify(input), request_id: thread_id };
        const { approved } = await ask({ type: "tool_approval", ...question });
        await send({ type: "tool_state", id, state: approved ? "running" : "denied", detail: "" });
        return approved;
      });
      const options = { model, prompt: content, abortSignal: signal, stopWhen: isStepCount(8), onError() {} };
      let full_response = "";
      for await (const part of streamText({ ...options, tools: { read_file, edit_files } }).stream) {
        if (part.type === "error") throw new Refusal(`the model failed: ${part.error}`);
        if (part.type === "finish") tokens.inc(part.totalUsage.totalTokens ?? 0);
        if (part.type === "text-delta") full_response += part.text;
        const message = messageOf(part);
        if (message) await send(message);
      }
      await send({ type: "done", full_response });
    },
    approveTool: ({ approved }) => ({ success: true, approved }),
  };
  return serve(coven, handlers, { partial: true, authenticate: bearer(users), hooks });
}

function messageOf(part: TextStreamPart<ToolSet>): SendMessage | undefined {
  if (part.type === "text-delta") return { type: "text", text: part.text };
  if (!("toolCallId" in part)) return undefined;
  const { toolCallId: id, toolName: name } = part;
  if (part.type === "tool-call") return { type: "tool_use", id, name, input_json: JSON.stringify(part.input) };
  if (part.type === "tool-result") return { type: "tool_result", id, output: String(part.output), is_error: false };
  if (part.type === "tool-error") return { type: "tool_result", id, output: String(part.error), is_error: true };
  return undefined;
}
