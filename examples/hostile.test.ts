import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { parsePatch } from "@parlance/edits";
import { agentsmithy, type DiffMessage } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type App, serve } from "@parlance/server";
import { expect, onTestFinished, test } from "vitest";
import { talkAgentsmithy } from "./agentsmithy/client.js";
import { serveAgentsmithy } from "./agentsmithy/server.js";
import { talkBased } from "./based/client.js";
import { serveBased } from "./based/server.js";
import { setTrap, type Trap } from "./demo/hostile.js";
import type { Story } from "./demo/story.js";
import { talkEmacsAgent } from "./emacs-agent/client.js";
import { serveEmacsAgent } from "./emacs-agent/server.js";
import { talkFoldGateway } from "./fold-gateway/client.js";
import { serveFoldGateway } from "./fold-gateway/server.js";
import { talkLoco } from "./loco/client.js";
import { memory } from "./loco/memory.js";
import { serveLoco, TOKEN } from "./loco/server.js";

// An example is what people copy, so each is put to 500 hostile messages: nothing outside its folder may change.

const COUNT = 500;

/** What the example did with the messages, and how many reached it. */
type Attack = (trap: Trap, reached: { count: number }) => Promise<void>;

async function attack(act: Attack): Promise<void> {
  const trap = await setTrap(COUNT);
  onTestFinished(trap.remove);
  const before = await trap.outside();
  const reached = { count: 0 };
  await act(trap, reached);
  expect(await trap.outside()).toBe(before);
  expect(reached.count).toBeGreaterThanOrEqual(COUNT);
}

function story(app: App, { workspace }: Trap): Story {
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
    const app = serve(agentsmithy, {
      async *chat() {
        for (const { file, diff } of trap.changes) {
          reached.count++;
          yield { type: "diff", file, diff, line_start: 1, line_end: 1, reason: file } satisfies DiffMessage;
        }
        yield { type: "done" };
      },
      complete: () => ({ content: "", diffs: [], done: true }),
    });
    await talkAgentsmithy(story(app, trap));
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

const agents: Record<string, Attack> = {
  async agentsmithy({ workspace, changes }, reached) {
    const agent = connect(agentsmithy, { fetch: serveAgentsmithy(workspace).fetch });
    for (const hostile of changes) {
      await agent.complete({
        messages: [{ role: "user", content: `rename total to ${hostile.file}` }],
        context: { current_file: { path: hostile.file, content: hostile.diff } },
      });
      reached.count++;
    }
  },
  async "fold-gateway"({ workspace, changes }, reached) {
    const gateway = connect(foldGateway, { fetch: serveFoldGateway(workspace).fetch });
    for (const { file, diff } of changes) {
      await gateway.send({ content: diff, sender: file, thread_id: file }).text();
      reached.count++;
    }
  },
  async based({ changes }, reached) {
    const { fetch, webSocket } = serveBased();
    await using session = await connect(based, { fetch, webSocket }).session();
    for (const { file: filename, diff } of changes) {
      await session.ask({ type: "upload_file", filename, content: diff });
      await session.ask({ type: "prompt", prompt: `create ${filename}`, activeFile: filename });
      await session.ask({ type: "apply_diff", filename, diff });
      reached.count++;
    }
  },
  async "emacs-agent"({ workspace, changes }, reached) {
    const agent = connect(emacsAgent, { fetch: serveEmacsAgent(workspace).fetch });
    for (const { file } of changes) {
      reached.count++;
      const made = await agent.createSession({ project_path: `/${file}`, model: file }).catch((refusal) => refusal);
      if (made.code === "INVALID_REQUEST") continue;
      await agent.endSession({ session_id: made.session_id });
      // A lone surrogate cannot stand in a URL: the client does not send it.
      await agent.listTranscripts({ project: file }).catch(() => {});
    }
  },
  async loco({ workspace, changes }, reached) {
    const { fetch, webSocket } = serveLoco(workspace);
    const agent = connect(loco, { fetch, webSocket, token: TOKEN });
    const { id: workspace_id } = await agent.registerWorkspace({ path: "/p" });
    const { id: session_id } = await agent.createSession({ workspace_id });
    const client_info = { name: "hostile", version: "0", capabilities: [] };
    await using session = await agent.stream({ session_id }, { open: { client_info } });
    for (const { file: file_path } of changes) {
      await agent.registerWorkspace({ path: file_path });
      session.send({ type: "client.file_changes", changes: [{ type: "deleted", file_path }] });
      const applied_hash = `sha256:${"0".repeat(64)}`;
      session.send({ type: "client.patch_apply_result", patch_id: "p", file_path, success: true, applied_hash });
      reached.count++;
    }
  },
};

test.each(Object.keys(agents))("%s's agent touches nothing outside its folder", (name) => attack(agents[name]!));
