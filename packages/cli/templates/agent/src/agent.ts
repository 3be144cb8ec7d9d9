import { type App, Refusal, type ServerChannel, serve } from "@parlance/server";
import {
  myAgent as contract,
  type PromptMessage,
  type SessionClientMessage,
  type SessionServerAsks,
  type SessionServerMessage,
} from "./protocols/my-agent.js";

type Editor = ServerChannel<SessionServerMessage, SessionClientMessage, SessionServerAsks>;

/** A step of an answer: the model says something, runs a tool, or proposes an edit. */
type Step = { say: string } | { run: keyof typeof tools; input: Record<string, unknown> } | { edit: string };

const tools = {
  count_lines: {
    needsApproval: false,
    run: ({ text }: Record<string, unknown>) => String(String(text).split("\n").length - 1),
  },
  current_time: { needsApproval: true, run: () => new Date().toISOString() },
};

/** Stands for a model. Call yours here, and give it `signal`, so that it stops when the user does. */
async function* think({ text, file }: PromptMessage): AsyncGenerator<Step> {
  for (const say of `You said: ${text}`.split(/(?<= )/)) yield { say };
  yield { run: "current_time", input: {} };
  if (!file) return;
  yield { run: "count_lines", input: { text: file.text } };
  const [first = ""] = file.text.split("\n");
  yield { edit: `--- a/${file.path}\n+++ b/${file.path}\n@@ -1 +1,2 @@\n+# ${text}\n ${first}\n` };
}

/** Answers a prompt. Returns the answer's text. */
async function answer(prompt: PromptMessage, editor: Editor, signal: AbortSignal): Promise<string> {
  let text = "";
  for await (const step of think(prompt)) {
    signal.throwIfAborted();
    const id = crypto.randomUUID();
    if ("say" in step) {
      text += step.say;
      await editor.send({ type: "text", text: step.say });
    } else if ("run" in step) {
      const { run: name, input } = step;
      const { needsApproval, run } = tools[name];
      if (needsApproval) {
        const { approved } = await editor.ask({ type: "tool_approval", id, name, input }, { signal });
        if (!approved) continue;
      }
      await editor.send({ type: "tool_call", id, name, input });
      await editor.send({ type: "tool_result", id, output: run(input) });
    } else {
      // A model should be told why an edit was not applied.
      const { applied, reason } = await editor.ask({ type: "edit", id, diff: step.edit }, { signal });
      if (!applied) await editor.send({ type: "text", text: `\nThe edit was not applied: ${reason}\n` });
    }
  }
  return text;
}

/** The agent, with its sessions in memory. */
export function createAgent(): App {
  const sessions = new Set<string>();
  return serve(contract, {
    openSession() {
      const session_id = crypto.randomUUID();
      sessions.add(session_id);
      return { session_id };
    },
    endSession({ session_id }) {
      if (!sessions.delete(session_id)) throw new Refusal(`there is no session ${session_id}`, { status: 404 });
    },
    async session({ session_id }, editor, call) {
      if (!sessions.has(session_id)) throw new Refusal(`there is no session ${session_id}`, { status: 404 });
      let turn: AbortController | undefined;
      for await (const message of editor) {
        if (message.type === "cancel") turn?.abort();
        if (message.type !== "prompt") continue;
        if (turn) {
          editor.send({ type: "error", error: "the last turn is not over" });
          continue;
        }
        turn = new AbortController();
        const signal = AbortSignal.any([turn.signal, call.signal]);
        // Not awaited, because the decisions and a cancel are read by this loop.
        answer(message, editor, signal)
          .then((text) => editor.send({ type: "done", text }))
          .catch((error) => {
            if (call.signal.aborted) return;
            if (signal.aborted) editor.send({ type: "done", text: "", cancelled: true });
            else editor.send({ type: "error", error: "the agent failed" });
            if (!signal.aborted) console.error(error);
          })
          .finally(() => {
            turn = undefined;
          });
      }
    },
  });
}
