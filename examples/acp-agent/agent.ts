import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { acp, type SessionUpdate, type ToolCallUpdate } from "@parlance/protocols/acp";
import { type App, Refusal, serve } from "@parlance/server";

/** The rename that a prompt such as "rename greet to welcome in main.py" asks for. */
function renameIn(text: string): { readonly from: string; readonly to: string; readonly file: string } | undefined {
  const [, from, to, file] = /rename (\w+) to (\w+) in (\S+)/.exec(text) ?? [];
  return from && to && file ? { from, to, file } : undefined;
}

/** An agent that renames: it reads and writes through the editor, and asks before it writes. The same app is served on every carrier. */
export function serveAgent(): App {
  /** Session -> working directory. */
  const sessions = new Map<string, string>();
  return serve(acp, {
    acp: {
      initialize: () => ({
        protocolVersion: 1,
        agentInfo: { name: "rename-agent", title: "Rename agent", version: "1.0.0" },
        agentCapabilities: {},
      }),
      "session/new": ({ cwd }) => {
        const sessionId = randomUUID();
        sessions.set(sessionId, cwd);
        return { sessionId };
      },
      "session/prompt": async ({ sessionId, prompt }, call) => {
        const cwd = sessions.get(sessionId);
        if (cwd === undefined) throw new Refusal(`there is no session ${sessionId}`, { code: "invalid_params" });
        const send = (update: SessionUpdate) => call.notify("session/update", { sessionId, update });
        const say = (text: string) => send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
        const asked = renameIn(prompt.map((block) => (block.type === "text" ? block.text : "")).join("\n"));
        if (!asked) {
          await say('Say "rename A to B in FILE".');
          return { stopReason: "end_turn" };
        }
        const path = join(cwd, asked.file);
        const { content: oldText } = await call.call("fs/read_text_file", { sessionId, path });
        const newText = oldText.replaceAll(asked.from, asked.to);
        const toolCall = {
          toolCallId: randomUUID(),
          title: `Rename ${asked.from} in ${asked.file}`,
          kind: "edit",
          content: [{ type: "diff", path, oldText, newText }],
        } satisfies ToolCallUpdate;
        await send({ sessionUpdate: "tool_call", ...toolCall, status: "pending" });
        // The question survives its reader: an editor that comes back is asked again.
        const { outcome } = await call.ask("session/request_permission", {
          sessionId,
          toolCall,
          options: [
            { optionId: "allow", name: "Allow", kind: "allow_once" },
            { optionId: "reject", name: "Reject", kind: "reject_once" },
          ],
        });
        const isAllowed = outcome.outcome === "selected" && outcome.optionId === "allow";
        if (isAllowed) await call.call("fs/write_text_file", { sessionId, path, content: newText });
        const { toolCallId } = toolCall;
        await send({ sessionUpdate: "tool_call_update", toolCallId, status: isAllowed ? "completed" : "failed" });
        await say(isAllowed ? `Renamed ${asked.from} to ${asked.to}.` : "Nothing was changed.");
        return { stopReason: "end_turn" };
      },
    },
  });
}
