import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { play } from "@parlance/client/testing";
import { type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { parseTranscript } from "@parlance/protocols/helpers/emacs-agent-transcript";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Think, think } from "./demo/agent.js";
import { copyWorkspace } from "./demo/workspace.js";
import { serveEmacsAgent } from "./emacs-agent/server.js";

const prompt = "rename calcTotal to sumCart";
const config = { auto_approve_readonly: true, save_transcript: true };

async function serving(thinking: Think = think) {
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const app = serveEmacsAgent(workspace, thinking);
  const agent = connect(emacsAgent, { fetch: app.fetch, retryWaits: [] });
  return { workspace, agent, project_path: workspace.root };
}

/** Events up to an idle or failed agent, in short; `act` decides on a call. */
async function listen(
  { agent }: Awaited<ReturnType<typeof serving>>,
  session_id: string,
  act: (call: EventsMessage & { type: "tool.call" }) => Promise<unknown> = ({ tool_call_id }) =>
    agent.approve({ session_id, tool_call_id }),
): Promise<string[]> {
  const events = agent.events({ session_id });
  const { heard, until } = play(events, {
    "tool.call": (call) => call.requires_approval && act(call),
  });
  await until("agent.state");
  await agent.prompt({ session_id, text: prompt });
  for (let working = true; working; ) working = !/idle|error/.test((await until("agent.state")).state);
  events.cancel();
  const seen = heard.map((message) => {
    if (message.type === "agent.state") return message.state;
    return message.type === "tool.result" ? `${message.type} ${message.status}` : message.type;
  });
  // Pieces of one text count once.
  return seen.filter((one, i) => one !== "message.delta" || one !== seen[i - 1]);
}

const searched = ["tool.call", "tool_execution", "tool.result success", "thinking"];
const edited = ["tool.call", "waiting_approval", "tool_execution", "tool.result success", "file.changed", "thinking"];
const rejected = ["tool.call", "waiting_approval", "tool.result rejected", "thinking"];
const said = "message.delta";

describe("emacs-agent's example, as its document has it", () => {
  test("a turn goes from thinking over each tool's execution back to idle", async () => {
    const server = await serving();
    const { session_id } = await server.agent.createSession({ project_path: server.project_path, config });
    expect(await listen(server, session_id)).toEqual(
      ["idle", "thinking", said, searched, said, edited, edited, edited, said, "idle"].flat(),
    );
    expect((await server.workspace.read("src/cart.ts")).includes("sumCart")).toBe(true);
  });

  test("a rejected tool is skipped, and the turn goes on", async () => {
    const server = await serving();
    const before = await server.workspace.files();
    const { session_id } = await server.agent.createSession({ project_path: server.project_path, config });
    const seen = await listen(server, session_id, ({ tool_call_id }) =>
      server.agent.reject({ session_id, tool_call_id, reason: "no" }),
    );
    expect(seen.filter((one) => one === "tool.result rejected")).toHaveLength(3);
    expect(seen.join()).toContain(rejected.join());
    expect(await server.workspace.files()).toEqual(before);
  });

  test("a tool that fails is a result with its reason, and the turn goes on", async () => {
    const server = await serving(function* (text, files) {
      for (const step of think(text, files))
        yield step.does === "edit" ? { ...step, edit: { ...step.edit, path: "../outside.ts" } } : step;
    });
    const { session_id } = await server.agent.createSession({ project_path: server.project_path, config });
    const seen = await listen(server, session_id);
    expect(seen.filter((one) => one === "tool.result error")).toHaveLength(3);
    expect(seen.slice(-2)).toEqual([said, "idle"]);
    const { tool_calls } = await server.agent.getTranscript({ session_id });
    expect(tool_calls.at(-1)).toMatchObject({ status: "error", message: expect.stringContaining("../outside.ts") });
  });

  test("a model that fails is an error, and then the state error", async () => {
    const server = await serving(function* () {
      yield { does: "say", text: "I" };
      throw new Error("Rate limit exceeded");
    });
    const { session_id } = await server.agent.createSession({ project_path: server.project_path, config });
    expect(await listen(server, session_id)).toEqual(["idle", "thinking", said, "error", "error"]);
  });

  test("an interrupted agent is idle on its stream too, and the tool that waited never runs", async () => {
    const server = await serving();
    const { session_id } = await server.agent.createSession({ project_path: server.project_path, config });
    const before = await server.workspace.files();
    const asked: string[] = [];
    const seen = await listen(server, session_id, async ({ tool_call_id }) => {
      asked.push(tool_call_id);
      await server.agent.interrupt({ session_id });
    });
    expect(seen).toEqual(["idle", "thinking", said, ...searched, said, "tool.call", "waiting_approval", "idle"]);
    expect(await server.workspace.files()).toEqual(before);
    const late = server.agent.approve({ session_id, tool_call_id: asked[0]! });
    await expect(late).rejects.toMatchObject({ status: 409, code: "CONFLICT" });
  });

  test("auto_approve_readonly: false asks for read-only tools too", async () => {
    const server = await serving();
    const { session_id } = await server.agent.createSession({
      project_path: server.project_path,
      config: { auto_approve_readonly: false },
    });
    const asked: string[] = [];
    await listen(server, session_id, ({ tool, tool_call_id }) => {
      asked.push(tool);
      return server.agent.approve({ session_id, tool_call_id });
    });
    expect(asked).toEqual(["search_files", "edit_file", "edit_file", "edit_file"]);
  });

  test("a transcript is saved, kept and listed after its session has ended, and the session resumes from it", async () => {
    const server = await serving();
    const { agent, project_path } = server;
    const { session_id } = await agent.createSession({ project_path, config });
    await listen(server, session_id);
    const { transcript_path } = await agent.endSession({ session_id });
    expect(transcript_path).toMatch(new RegExp(`/kept/project/\\d{4}-\\d\\d-\\d\\d/session-${session_id}.org$`));
    const kept = await agent.getTranscript({ session_id });
    expect(parseTranscript(await readFile(transcript_path!, "utf8"), "org")).toEqual(kept);
    const files_changed = [...(await server.workspace.files())].flatMap(([path, text]) =>
      text.includes("sumCart") ? [path] : [],
    );
    expect(await agent.listTranscripts({ project: project_path })).toMatchObject({
      transcripts: [{ session_id, project_path, message_count: 2, files_changed }],
    });
    expect(await agent.listTranscripts({ project: "/elsewhere" })).toEqual({ transcripts: [] });
    expect(await agent.getSession({ session_id })).toMatchObject({ status: "closed" });
    expect(await agent.resume({ session_id })).toEqual({ status: "resumed", session_id, message_count: 2 });
    expect(await agent.getSession({ session_id })).toMatchObject({ status: "active" });
  });

  test("a backend that starts again lists, shows and resumes the transcripts that were saved", async () => {
    const server = await serving();
    const { agent, project_path, workspace } = server;
    const { session_id } = await agent.createSession({ project_path, config });
    await listen(server, session_id);
    await agent.endSession({ session_id });
    const listed = await agent.listTranscripts({ project: project_path });
    expect(listed.transcripts).toHaveLength(1);

    const next = { ...server, agent: connect(emacsAgent, { fetch: serveEmacsAgent(workspace).fetch, retryWaits: [] }) };
    expect(await next.agent.listTranscripts({ project: project_path })).toEqual(listed);
    expect(await next.agent.getTranscript({ session_id })).toEqual(await agent.getTranscript({ session_id }));
    expect(await next.agent.getSession({ session_id })).toMatchObject({ status: "closed", message_count: 2 });
    expect(await next.agent.resume({ session_id })).toEqual({ status: "resumed", session_id, message_count: 2 });
    await listen(next, session_id);
    await next.agent.endSession({ session_id });

    const last = connect(emacsAgent, { fetch: serveEmacsAgent(workspace).fetch, retryWaits: [] });
    expect(await last.getSession({ session_id })).toMatchObject({ message_count: 4 });
    expect((await last.listTranscripts({})).transcripts).toHaveLength(1);
  });

  test("a transcript that cannot be saved, or read again, is TRANSCRIPT_ERROR", async () => {
    const { agent, project_path, workspace } = await serving();
    const { session_id } = await agent.createSession({ project_path, config });
    await writeFile(join(workspace.kept, "project"), "no folder");
    const failure = { status: 500, code: "TRANSCRIPT_ERROR" };
    await expect(agent.endSession({ session_id })).rejects.toMatchObject(failure);

    await mkdir(join(workspace.kept, "old/2025-01-01"), { recursive: true });
    await writeFile(join(workspace.kept, "old/2025-01-01/session-broken.org"), "no transcript");
    const next = connect(emacsAgent, { fetch: serveEmacsAgent(workspace).fetch, retryWaits: [] });
    for (const call of [next.getTranscript, next.resume])
      await expect(call({ session_id: "broken" })).rejects.toMatchObject(failure);
    const report = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => report.mockRestore());
    expect(await next.listTranscripts({})).toEqual({ transcripts: [] });
    expect(report).toHaveBeenCalledWith(expect.objectContaining({ code: "TRANSCRIPT_ERROR" }));
  });

  test.each([
    "getSession",
    "endSession",
    "prompt",
    "interrupt",
    "approve",
    "reject",
    "getTranscript",
    "getTranscriptMarkdown",
    "getTranscriptOrg",
    "resume",
    "events",
  ] as const)("%s of an unknown session is SESSION_NOT_FOUND", async (name) => {
    const { agent } = await serving();
    const call = agent[name] as (input: object) => Promise<unknown> & { opened?: Promise<void> };
    const called = call({ session_id: "123", tool_call_id: "t", text: "x" });
    const refusal = { status: 404, code: "SESSION_NOT_FOUND", message: "Session 123 does not exist", details: {} };
    await expect(called.opened ?? called).rejects.toMatchObject(refusal);
  });

  test("save_transcript: false leaves no transcript behind", async () => {
    const server = await serving();
    const { agent, project_path } = server;
    const { session_id } = await agent.createSession({ project_path, config: { save_transcript: false } });
    expect(await agent.endSession({ session_id })).toEqual({ status: "closed" });
    expect(await agent.listTranscripts({})).toEqual({ transcripts: [] });
    await expect(agent.getTranscript({ session_id })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(existsSync(`${server.workspace.kept}/project`)).toBe(false);
  });

  test("a second session of a project, and resuming an open one, is a conflict", async () => {
    const { agent, project_path } = await serving();
    const { session_id } = await agent.createSession({ project_path });
    const conflict = { status: 409, code: "SESSION_EXISTS" };
    await expect(agent.createSession({ project_path })).rejects.toMatchObject(conflict);
    await expect(agent.resume({ session_id })).rejects.toMatchObject(conflict);
    await agent.endSession({ session_id });
    await agent.createSession({ project_path });
  });
});
