import { connect } from "@parlance/client";
import { applyPatch, parsePatch } from "@parlance/edits";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { type AgentSmithy1_13Handlers, agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { type App, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { all } from "../conversations/carriers.js";
import { after, agentSmithysServer, before } from "./agentsmithy-server.js";

const asking = (content: string) => ({ messages: [{ role: "user", content }] });

describe("AgentSmithy's server", () => {
  it("holds a whole conversation in its dialect, and its diff is read", async () => {
    const agent = connect(agentsmithy1_13, { baseUrl: await agentSmithysServer() });
    expect(await agent.health()).toMatchObject({ status: "ok", port: 8765 });
    expect(await agent.currentDialog()).toEqual({});
    const said = await all(agent.chat({ ...asking("rename calc"), context: { current_file: null } }));
    expect(said.map(({ type }) => type)).toEqual(
      "user reasoning_start reasoning reasoning_end file_edit chat_start chat chat_end done".split(" "),
    );
    expect(said.every((message) => message.dialog_id === "01JD")).toBe(true);
    const edit = said.find((message) => message.type === "file_edit")!;
    const reading = parsePatch(edit.diff!);
    expect(reading.ok && applyPatch(reading.patch, before)).toMatchObject({ ok: true, text: after });
    expect(await agent.complete(asking("rename calc"))).toEqual({
      content: "Renamed.",
      done: true,
      metadata: { model: "m" },
    });
  });

  it("says what failed: in the stream, by its refusals, and by going away", async () => {
    const agent = connect(agentsmithy1_13, { baseUrl: await agentSmithysServer() });
    await expect(agent.chat(asking("fail")).text()).rejects.toMatchObject({
      name: "Refusal",
      message: "model overloaded",
    });
    await expect(all(agent.chat(asking("vanish")))).rejects.toMatchObject({ name: "Disconnected" });
    await expect(agent.complete({ messages: [] })).rejects.toMatchObject({
      status: 400,
      message: "No user message found",
    });
    await expect(agent.complete({ ...asking("hi"), context: null as never })).rejects.toMatchObject({
      status: 422,
      message: "Input should be a valid dictionary",
    });
    await expect(agent.getDialog({ dialog_id: "gone" })).rejects.toMatchObject({ status: 404, message: "Not Found" });
  });
});

/** What the editor client of today makes of an answer's bytes: an event for a data line that holds a whole JSON object, up to `done`. */
async function asTheEditorReads(base: string, content: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${base}/api/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream", "Cache-Control": "no-cache" },
    body: JSON.stringify({
      ...asking(content),
      context: { current_file: { path: "a.py", language: "python", content: "" } },
      stream: true,
    }),
  });
  if (!answer.ok) throw new Error(`HTTP error! status: ${answer.status}`);
  const events: Record<string, unknown>[] = [];
  for (const line of (await answer.text()).split(/\r?\n/)) {
    const json = line.startsWith("data:") ? line.slice("data:".length).trimStart() : "";
    if (!json.startsWith("{") || !json.endsWith("}")) continue;
    const { type, ...rest } = JSON.parse(json);
    // It knows no event by its shape but the plain text of old servers.
    if (type === undefined && !("content" in rest)) continue;
    events.push({ type: type ?? "chat", ...rest });
    if (type === "done") break;
  }
  return events;
}

async function listening(app: App): Promise<string> {
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

describe("AgentSmithy's editor client", () => {
  const nothing = Object.fromEntries(
    Object.keys(agentsmithy1_13.operations).map((name) => [
      name,
      () => {
        throw new Refusal("not here", { status: 404 });
      },
    ]),
  ) as unknown as AgentSmithy1_13Handlers;

  it("reads text, edits, errors and the end of a server of its dialect", async () => {
    const base = await listening(
      serve(agentsmithy1_13, {
        ...nothing,
        async *chat({ messages }) {
          if (messages[0]!.content === "fail") throw new Refusal("model overloaded");
          yield { type: "chat", content: "é\u2028" };
          yield { type: "file_edit", file: "/a.py", diff: "" };
          if (messages[0]!.content === "fail late") throw new Refusal("model overloaded");
          yield { type: "done", done: true };
        },
      }),
    );
    expect(await asTheEditorReads(base, "hi")).toEqual([
      { type: "chat", content: "é\u2028" },
      { type: "file_edit", file: "/a.py", diff: "" },
      { type: "done", done: true },
    ]);
    expect((await asTheEditorReads(base, "fail late")).at(-1)).toEqual({ type: "error", error: "model overloaded" });
    await expect(asTheEditorReads(base, "fail")).rejects.toThrow("500");
  });

  it("reads the errors and the end of a server of the document too", async () => {
    const base = await listening(
      serve(agentsmithy, {
        async *chat({ messages }) {
          yield { type: "content", content: "I " };
          if (messages[0]!.content === "fail") throw new Refusal("model overloaded");
          yield { type: "done" };
        },
        complete: () => ({ content: "", diffs: [], done: true }),
      }),
    );
    expect(await asTheEditorReads(base, "hi")).toEqual([
      { type: "chat", content: "I " },
      { type: "done", done: true },
    ]);
    expect((await asTheEditorReads(base, "fail")).at(-1)).toEqual({ type: "error", error: "model overloaded" });
  });
});
