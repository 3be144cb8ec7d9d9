import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { applyPatch, parsePatch } from "@parlance/edits";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { type AgentSmithy1_13Handlers, agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { type App, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { all } from "../conversations/carriers.js";

/** Python's `json.dumps(ensure_ascii=False)`: a space after each colon and comma that stands outside of strings. */
const dumps = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(dumps).join(", ")}]`
    : typeof value === "object" && value !== null
      ? `{${Object.entries(value)
          .map(([key, inner]) => `${JSON.stringify(key)}: ${dumps(inner)}`)
          .join(", ")}}`
      : JSON.stringify(value);

const before = "def calc(x, y):\n    return x + y\n\n\nprint(calc(1, 2))\n";
const after = "def add(x, y):\n    return x + y\n\n\nprint(add(1, 2))\n";
/** `difflib.unified_diff` over lines that keep their ends, joined with a line feed more. */
const diff = [
  "--- a//home/me/utils.py",
  "+++ b//home/me/utils.py",
  "@@ -1,5 +1,5 @@",
  "-def calc(x, y):\n",
  "+def add(x, y):\n",
  "     return x + y\n",
  " \n",
  " \n",
  "-print(calc(1, 2))\n",
  "+print(add(1, 2))\n",
].join("\n");

/** AgentSmithy's server as it frames and orders what it sends. A prompt of `fail` fails, one of `vanish` is cut. */
async function agentSmithysServer(): Promise<string> {
  const answer = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(dumps(body));
  const server = createServer(async (request: IncomingMessage, response) => {
    const target = new URL(request.url!, "http://localhost");
    if (request.method === "GET" && target.pathname === "/health")
      return answer(response, 200, {
        status: "ok",
        service: "agentsmithy-server",
        server_status: "ready",
        port: 8765,
        pid: 1,
        server_error: null,
      });
    if (request.method === "GET" && target.pathname === "/api/dialogs/current") return answer(response, 200, {});
    if (target.pathname === "/api/chat" && request.method !== "POST")
      return answer(response, 405, { detail: "Method Not Allowed" });
    if (target.pathname !== "/api/chat") return answer(response, 404, { detail: "Not Found" });
    let text = "";
    for await (const chunk of request) text += chunk;
    const { messages, context, stream = true } = JSON.parse(text);
    if (context === null)
      return answer(response, 422, {
        detail: [
          { type: "dict_type", loc: ["body", "context"], msg: "Input should be a valid dictionary", input: null },
        ],
      });
    const asked = messages.findLast(({ role }: { role: string }) => role === "user")?.content;
    if (!asked) return answer(response, 400, { detail: "No user message found" });
    if (!stream) return answer(response, 200, { content: "Renamed.", done: true, metadata: { model: "m" } });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    const say = (event: object) => response.write(`data: ${dumps({ dialog_id: "01JD", ...event })}\r\n\r\n`);
    say({ type: "user", content: asked, checkpoint: "c", session: "session_1" });
    response.write(": ping - 2025-12-01 10:30:00.000000+00:00\r\n\r\n");
    if (asked === "vanish") return response.destroy();
    if (asked === "fail") say({ type: "error", error: "model overloaded" });
    else {
      say({ type: "reasoning_start" });
      say({ type: "reasoning", content: "one\u2028two" });
      say({ type: "reasoning_end" });
      say({ type: "file_edit", file: "/home/me/utils.py", diff });
      say({ type: "chat_start" });
      say({ type: "chat", content: "Renamed." });
      say({ type: "chat_end" });
    }
    say({ type: "done", done: true });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

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
