import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { emacsBackend } from "./emacs-backend.js";

const run = promisify(execFile);

describe("Emacs-Agent's backend", () => {
  it("holds a whole conversation with a client of emacs-agent, in axum's framing and its other texts", async () => {
    const backend = await emacsBackend();
    const unknown: (string | undefined)[] = [];
    const client = connect(emacsAgent, { baseUrl: backend.url, onUnknown: ({ event }) => void unknown.push(event) });
    const { session_id } = await client.createSession({ project_path: "/p" });
    const events = client.events({ session_id });
    await events.opened;
    expect(await client.prompt({ session_id, text: "go" })).toEqual({ status: "accepted", agent_state: "thinking" });
    await expect(client.approve({ session_id, tool_call_id: "none" })).rejects.toMatchObject({
      name: "Refusal",
      status: 404,
      code: "INVALID_TOOL_CALL",
    });
    const heard: string[] = [];
    for await (const message of events) {
      heard.push(message.type);
      if (message.type === "message.delta")
        expect(message).toEqual({ type: "message.delta", content: "é😀", role: "assistant" });
      if (message.type === "tool.call" && message.requires_approval)
        await client.approve({ session_id, tool_call_id: message.tool_call_id });
      if (message.type === "tool.result") await client.endSession({ session_id });
    }
    expect(heard).toEqual(
      "agent.state agent.state message.delta tool.call agent.state tool.result agent.state".split(" "),
    );
    expect(unknown).toEqual(["tool.progress", "lsp.diagnostics"]);
    await expect(client.events({ session_id: "none" }).opened).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("is asked for its stream again when that is lost, and for nothing else twice", async () => {
    const backend = await emacsBackend();
    const client = connect(emacsAgent, { baseUrl: backend.url, random: () => 0 });
    const { session_id } = await client.createSession({ project_path: "/p" });
    const lost: string[] = [];
    const events = client.events({ session_id }, { reopen: ({ code }) => void lost.push(code) });
    let idle = 0;
    for await (const message of events) {
      if (message.type !== "agent.state" || message.state !== "idle") continue;
      if (++idle < 3) backend.cut();
      else await client.endSession({ session_id });
    }
    expect(lost).toEqual(["ended_early", "ended_early"]);
    expect(backend.asked).toEqual([
      "POST /api/sessions",
      ...Array.from({ length: 3 }, () => "GET /api/sessions/s1/events"),
      "DELETE /api/sessions/s1",
    ]);
  });
});

describe("Emacs", () => {
  const present = spawnSync("emacs", ["--version"], { stdio: "ignore" }).status === 0;
  if (!present) console.warn("SKIPPED: emacs is not on this machine, so what it does with a server is not tested");

  it.skipIf(!present)("holds a whole conversation with a server of emacs-agent", async () => {
    let answered: () => void = () => {};
    const approved = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const seen: string[] = [];
    const handlers = {
      createSession: () => ({ session_id: "s1", status: "active", created_at: "2025-11-14T10:30:00Z" }),
      endSession: () => ({ status: "closed" }),
      prompt({ session_id, text }, call) {
        seen.push(text);
        const session = call.session(session_id);
        session.send({ type: "message.delta", content: `${text}\u2028`, role: "assistant" });
        const params = { path: "a" };
        session
          .ask({ type: "tool.call", tool_call_id: "tc1", tool: "write_file", params, requires_approval: true })
          .then((answer) => {
            seen.push(answer.type);
            session.send({ type: "tool.result", tool_call_id: "tc1", status: "success", result: "written" });
            session.send({ type: "agent.state", state: "idle" });
            answered();
          });
        return { status: "accepted", agent_state: "thinking" };
      },
      approve: ({ tool_call_id }) => ({ status: "approved", tool_call_id }),
      async *events() {
        yield { type: "agent.state", state: "idle" };
      },
    } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
    const server = await listen(serve(emacsAgent, handlers), { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const client = fileURLToPath(new URL("client.el", import.meta.url));
    const { stdout } = await run("emacs", ["-Q", "--batch", "-l", client, server.url], { timeout: 25_000 });
    expect(stdout.split("\n")).toEqual([
      "agent.state idle",
      "message.delta é😀\u2028",
      "tool.call write_file",
      "tool.result success",
      "agent.state idle",
      "",
    ]);
    await approved;
    expect(seen).toEqual(["é😀", "approve"]);
  });
});
