import { type AgentSmithy1_13Handlers, agentsmithy1_13, type ChatMessage } from "@parlance/protocols/agentsmithy-1.13";
import { Refusal } from "@parlance/server";
import { expect, it } from "vitest";
import { all, type Carrier, hold, overEachCarrier } from "./carriers.js";

const flow: readonly ChatMessage[] = [
  { type: "user", content: "rename calc", checkpoint: "3f2a9c", session: "session_1" },
  { type: "reasoning_start" },
  { type: "reasoning", content: "A rename." },
  { type: "reasoning_end" },
  { type: "tool_call", name: "read_file", args: { path: "utils.py" } },
  {
    type: "file_edit",
    file: "/app/utils.py",
    diff: "--- a//app/utils.py\n+++ b//app/utils.py\n@@ -1 +1 @@\n-a\n\n+b\n",
  },
  { type: "chat_start" },
  { type: "chat", content: "Renamed ", dialog_id: "d" },
  { type: "chat", content: "it." },
  { type: "chat_end" },
  { type: "done", done: true },
];
const input = { messages: [{ role: "user", content: "rename calc" }] };
const refuse = () => {
  throw new Refusal("not here", { status: 404 });
};
const beside = Object.fromEntries(
  Object.keys(agentsmithy1_13.operations).map((name) => [name, refuse]),
) as unknown as AgentSmithy1_13Handlers;
const saying = (chat: AgentSmithy1_13Handlers["chat"]): AgentSmithy1_13Handlers => ({ ...beside, chat });
const held = (carrier: Carrier, handlers: Partial<AgentSmithy1_13Handlers>) =>
  hold(carrier, agentsmithy1_13, { ...beside, ...handlers });

overEachCarrier("agentsmithy-1.13", (carrier) => {
  it("a whole conversation, which the hooks see in order", async () => {
    const { client, seen } = await held(carrier, {
      async *chat() {
        yield* flow;
      },
    });
    expect(await all(client.chat(input))).toEqual(flow);
    expect(seen).toEqual(["request chat", "open chat", ...flow.map(({ type }) => `server ${type}`), "close chat done"]);
    expect(await client.chat(input).text()).toBe("Renamed it.");
  });

  it("goes on in a dialog, with nulls where the editor has nothing", async () => {
    const asked: unknown[] = [];
    const { client } = await held(carrier, {
      complete(input) {
        asked.push(input);
        return { content: "Hello!", done: true, metadata: {} };
      },
    });
    const editor = { current_file: { path: "a.py", selection: null } };
    const request = { ...input, dialog_id: "01JD", context: editor };
    expect(await client.complete(request)).toEqual({ content: "Hello!", done: true, metadata: {} });
    expect(await client.complete({ ...request, context: { current_file: null } })).toMatchObject({ done: true });
    expect(asked).toEqual([request, { ...request, context: { current_file: null } }]);
    // Only a real editor writes it: the contract has a text or nothing.
    await client.complete({ ...input, dialog_id: null as never });
    expect(asked.at(-1)).toEqual(input);
  });

  it("an error is followed by the end, and its text is a refusal", async () => {
    const { client } = await hold(
      carrier,
      agentsmithy1_13,
      saying(async function* () {
        yield { type: "chat", content: "I " };
        yield { type: "error", error: "model overloaded" };
        yield { type: "done", done: true };
      }),
    );
    expect((await all(client.chat(input))).map(({ type }) => type)).toEqual(["chat", "error", "done"]);
    await expect(client.chat(input).text()).rejects.toMatchObject({ name: "Refusal", message: "model overloaded" });
  });

  it("dialogs, their history by pages, and approval are operations", async () => {
    const dialog = { id: "d", title: null, created_at: "2025-12-01T10:00:00Z", updated_at: "2025-12-01T10:00:00Z" };
    const asked: unknown[] = [];
    const { client } = await held(carrier, {
      listDialogs(input) {
        asked.push(input);
        return { current_dialog_id: "d", dialogs: [dialog] };
      },
      history({ dialog_id, before = 2 }) {
        const events = [{ type: "user", content: "hi", idx: before - 1 }];
        return {
          dialog_id,
          events,
          total_events: 2,
          has_more: before > 1,
          first_idx: before - 1,
          last_idx: before - 1,
        };
      },
      approveSession: () => ({ approved_commit: "77aa10", new_session: "session_2", commits_approved: 1 }),
    });
    expect((await client.listDialogs({ limit: 2, order: "asc" })).dialogs).toEqual([dialog]);
    expect(asked).toEqual([{ limit: 2, order: "asc" }]);
    const page = await client.history({ dialog_id: "d" });
    const earlier = await client.history({ dialog_id: "d", before: page.first_idx });
    expect([page.has_more, earlier.has_more, earlier.first_idx]).toEqual([true, false, 0]);
    expect(await client.approveSession({ dialog_id: "d" })).toMatchObject({ new_session: "session_2" });
    await expect(client.getDialog({ dialog_id: "gone" })).rejects.toMatchObject({ status: 404, message: "not here" });
  });
});
