import { parsePatch } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import type { MyAgent as Agent, DoneMessage, PromptMessage } from "./protocols/my-agent.js";

/** What the editor shows its user, and asks. */
export interface User {
  show(text: string): void;
  /** Aborted when the turn is stopped. */
  allows(question: string, signal: AbortSignal): Promise<boolean>;
}

/** Sends a prompt and follows the turn to its end. Edits change files below `root`, after the user has agreed. Aborting `signal` stops the turn. */
export async function ask(
  agent: Agent,
  prompt: Omit<PromptMessage, "type">,
  root: string,
  user: User,
  signal: AbortSignal = new AbortController().signal,
): Promise<DoneMessage> {
  const { session_id } = await agent.openSession();
  await using session = await agent.session({ session_id });
  signal.addEventListener("abort", () => session.send({ type: "cancel" }));
  session.send({ type: "prompt", ...prompt });
  for await (const message of session) {
    if (message.type === "text") user.show(message.text);
    if (message.type === "tool_call") user.show(`\n[${message.name}]`);
    if (message.type === "tool_result") user.show(` ${message.output}\n`);
    if (message.type === "tool_approval") {
      const { id, name, input } = message;
      const approved = await user.allows(`Run ${name} ${JSON.stringify(input)}?`, signal);
      if (!signal.aborted) session.send({ type: "tool_decision", id, approved });
    }
    if (message.type === "edit") {
      const { id, diff } = message;
      const isAllowed = await user.allows(`${diff}\nApply this edit?`, signal);
      const result = isAllowed ? await apply(diff, root) : { applied: false, reason: "the user refused it" };
      if (!signal.aborted) session.send({ type: "edit_result", id, ...result });
    }
    if (message.type === "error") throw new Error(message.error);
    if (message.type === "done") return message;
  }
  throw new Error("the session ended before the turn did");
}

/** Applies a diff to files below a folder: all of them or none. */
async function apply(diff: string, root: string): Promise<{ applied: boolean; reason?: string }> {
  const reading = parsePatch(diff);
  if (!reading.ok) return { applied: false, reason: reading.errors[0]!.message };
  const written = await applyPlan(await planEdits(reading.patch, { root }), { root });
  return written.ok ? { applied: true } : { applied: false, reason: written.conflicts[0]!.message };
}
