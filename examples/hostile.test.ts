import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parsePatch } from "@parlance/edits";
import type { DiffMessage } from "@parlance/protocols/agentsmithy";
import { type AgentSmithy1_13Handlers, agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type LoCoAppHandlers, locoApp } from "@parlance/protocols/loco-app";
import { type App, serve } from "@parlance/server";
import { expect, onTestFinished, test } from "vitest";
import { talkAgentsmithy } from "./agentsmithy/client.js";
import { talkAgentsmithy1_13 } from "./agentsmithy-1.13/client.js";
import { attack, COUNT } from "./attack.js";
import { talkBased } from "./based/client.js";
import { talkCoven } from "./coven/client.js";
import { setTrap, type Trap } from "./demo/hostile.js";
import { refusing } from "./demo/refusing.js";
import type { Story } from "./demo/story.js";
import { talkEmacsAgent } from "./emacs-agent/client.js";
import { serveEmacsAgent } from "./emacs-agent/server.js";
import { talkFoldGateway } from "./fold-gateway/client.js";
import { talkLoco } from "./loco/client.js";
import { memory } from "./loco/memory.js";
import { talkLocoApp } from "./loco-app/client.js";

// An example is what people copy, so each client is put to 500 hostile messages: nothing outside its folder may change.

function story(app: Pick<Story["connection"], "fetch" | "webSocket">, { workspace }: Trap): Story {
  return {
    baseUrl: "http://localhost",
    connection: { fetch: app.fetch, webSocket: app.webSocket, onViolation: () => {} },
    workspace,
    prompt: "rename total to sum",
    print: { text() {}, note() {} },
  };
}

test("a client that trusts the path does change files outside: the messages are hostile", async () => {
  const trap = await setTrap(COUNT);
  onTestFinished(trap.remove);
  const before = await trap.outside();
  for (const { file, diff } of trap.changes) {
    const named = /^\+\+\+ (?:b\/)?(.*)$/m.exec(diff)?.[1] ?? file;
    for (const path of [file, named]) await writeFile(join(trap.workspace.root, path), "OWNED").catch(() => {});
  }
  const after = await trap.outside();
  expect(after).not.toBe(before);
  for (const victim of ["victim.txt", "outside/victim.txt", "outside/deep/victim.txt", "outside/made.txt"])
    expect(after).toContain(`${victim}: OWNED`);
});

test("agentsmithy's client applies nothing outside its folder", () =>
  attack(async (trap, reached) => {
    // Our own server sends none of the paths that break the contract, so the bytes are written here.
    for (const { file, diff } of trap.changes) {
      reached.count++;
      const message: DiffMessage = { type: "diff", file, diff, line_start: 1, line_end: 1, reason: file };
      const body = `data: ${JSON.stringify(message)}\n\ndata: {"done":true}\n\n`;
      const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
      await talkAgentsmithy(story({ fetch }, trap));
    }
  }));

test("loco's client applies nothing outside its folder, and reports each patch as refused", () =>
  attack(async (trap, reached) => {
    const results: boolean[] = [];
    const app = serve(
      loco,
      {
        ...memory().handlers,
        async stream(_, channel) {
          channel.send({ type: "server.hello", server_info: { version: "0" } });
          for (const [index, { file: file_path, diff }] of trap.changes.entries()) {
            const patch_id = `p${index}`;
            const rest = { rationale: "r", acceptance_criteria: [], requires_approval: true, hunks: [] };
            const result = await channel.ask({ type: "patch.proposed", patch_id, file_path, diff, ...rest });
            if (result.type === "client.patch_apply_result") results.push(result.success);
            reached.count++;
          }
          channel.send({ type: "assistant.message_final", message: "" });
          for await (const _ of channel);
        },
      },
      { authenticate: () => "me" },
    );
    await talkLoco(story(app, trap));
    expect(results).toHaveLength(COUNT);
  }));

test("loco-app's client applies nothing outside its folder", () =>
  attack(async (trap, reached) => {
    const created_at = "2026-01-01T00:00:00Z";
    const model = { model_provider: "none", model_name: "none" };
    const app = serve(
      locoApp,
      {
        ...refusing<LoCoAppHandlers>(locoApp),
        registerWorkspace: ({ path }) => ({ id: "w", path, name: "w", created_at, index_status: "complete" }),
        async *streamIndex({ workspace_id }) {
          yield { type: "index.complete", workspace_id, index_progress: 1 };
        },
        createSession: ({ workspace_id }) => ({ id: "s", workspace_id, ...model, created_at, status: "active" }),
        async stream(_, channel) {
          channel.send({ type: "server.hello", protocol_version: "1.0.0", server_info: { version: "0" } });
          for (const [index, { file: file_path, diff }] of trap.changes.entries()) {
            reached.count++;
            // Half of them without a hash, which would not fit; the others with that of an empty file.
            const base_hash = index % 2 ? null : createHash("sha256").digest("hex");
            channel.send({ type: "patch.proposed", id: `p${index}`, file_path, diff, base_hash, rationale: null });
          }
          channel.send({ type: "assistant.message_final", message: "" });
          for await (const _ of channel);
        },
      },
      { authenticate: () => "me" },
    );
    await talkLocoApp(story(app, trap));
  }));

test("agentsmithy-1.13's client applies no diff of a file that the server changed", () =>
  attack(async (trap, reached) => {
    const about = { active_session: null, session_ref: null, has_unapproved: false, last_approved_at: null };
    const app = serve(agentsmithy1_13, {
      ...refusing<AgentSmithy1_13Handlers>(agentsmithy1_13),
      createDialog: () => ({ id: "d" }),
      async *chat() {
        for (const { file, diff } of trap.changes) {
          reached.count++;
          yield { type: "file_edit", file, diff };
        }
        yield { type: "done", done: true };
      },
      sessionStatus: () => ({ ...about, changed_files: [] }),
    });
    // What it asks for after the stream is refused here.
    await talkAgentsmithy1_13(story(app, trap)).catch(() => {});
  }));

test("coven's client touches no file, whatever tools it approves", () =>
  attack(async (trap, reached) => {
    const handlers: CovenHandlers = {
      ...refusing<CovenHandlers>(coven),
      health: () => "OK",
      ready: () => "ready (1 agents)",
      listAgents: () => [{ id: "1", name: "hostile", capabilities: [] }],
      async *send() {
        for (const [index, { file, diff }] of trap.changes.entries()) {
          reached.count++;
          const tool = { id: `t${index}`, name: file, input_json: JSON.stringify({ path: file, diff }) };
          yield { type: "tool_approval", ...tool, request_id: "r" };
          yield { type: "file", filename: file, mime_type: "text/plain" };
        }
        yield { type: "done", full_response: trap.changes[0]!.diff };
      },
      approveTool: ({ approved }) => ({ success: true, approved }),
    };
    // Its stream may end before the decisions.
    await talkCoven(story(serve(coven, handlers, { keepsAsks: true }), trap));
  }));

test("fold-gateway's client applies nothing outside its folder", () =>
  attack(async (trap, reached) => {
    // Ten in one answer, apart from those that would keep the others from being read.
    const diffs = trap.changes.map(({ diff }) => diff);
    const groups = [diffs.filter((diff) => parsePatch(diff).ok), diffs.filter((diff) => !parsePatch(diff).ok)];
    const answers = groups.flatMap((group) => group.flatMap((_, i) => (i % 10 ? [] : [group.slice(i, i + 10)])));
    let answer: string[] = [];
    const app = serve(foldGateway, {
      health: () => "OK",
      ready: () => "OK",
      listAgents: () => [],
      async *send() {
        reached.count += answer.length;
        yield { type: "done", full_response: answer.join("") };
      },
    });
    for (answer of answers) await talkFoldGateway(story(app, trap)).catch(() => {});
  }));

test("based's client writes nothing outside its folder", () =>
  attack(async (trap, reached) => {
    let next = 0;
    const app = serve(based, {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel) {
          const { file: filename, diff } = trap.changes[next % COUNT]!;
          if (message.type === "upload_file") channel.send({ type: "file_uploaded", filename, files: [] });
          if (message.type === "list_files") channel.send({ type: "file_list", files: [filename] });
          if (message.type === "read_file") channel.send({ type: "file_content", filename, content: "OWNED" });
          if (message.type === "apply_diff") channel.send({ type: "diff_applied", filename, new_code: "OWNED" });
          if (message.type !== "prompt") continue;
          next++;
          reached.count++;
          if (next % 2) channel.send({ type: "file_created", filename, content: "OWNED", files: [filename] });
          else channel.send({ type: "diff_generated", filename, diff, old_code: "", new_code: "OWNED" });
        }
      },
    });
    while (reached.count < COUNT) await talkBased(story(app, trap)).catch(() => {});
  }));

test("emacs-agent's client touches no file, whatever tools it approves", () =>
  attack(async (trap, reached) => {
    const app: App = serveEmacsAgent(trap.workspace);
    const { fetch } = app;
    // The agent's own stream, with hostile events in front.
    const hostile = trap.changes.map(({ file, diff }, index) => {
      reached.count++;
      const call = { type: "tool.call", tool_call_id: `t${index}`, tool: "read_file", params: { path: file, diff } };
      const changed = { type: "file.changed", path: file, operation: "write", timestamp: "2025-11-14T10:35:00Z" };
      return [{ ...call, requires_approval: false }, changed].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    });
    const injected = async (request: Request): Promise<Response> => {
      const answer = await fetch(request);
      if (!request.url.endsWith("/events") || !answer.body) return answer;
      const front = new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(hostile.join(""))),
      });
      return new Response(answer.body.pipeThrough(front), answer);
    };
    await talkEmacsAgent({ ...story(app, trap), connection: { fetch: injected, resume: false } });
  }));
