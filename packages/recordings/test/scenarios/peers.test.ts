import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { locoApp } from "@parlance/protocols/loco-app";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { agentSmithysServer } from "../../../protocols/test/peers/agentsmithy-server.js";
import { basedServer } from "../../../protocols/test/peers/based-peers.js";
import { emacsBackend } from "../../../protocols/test/peers/emacs-backend.js";
import { documentedGateway, gatewayOfToday } from "../../../protocols/test/peers/gateway-double.js";
import { locoBackend } from "../../../protocols/test/peers/loco-backend.js";
import { Conversations, type Finding, read, record, Verifier } from "../../src/index.js";

/** Records what a client does with a double, and verifies the recording against the contract. */
async function verified(contract: object, baseUrl: string, talk: (options: ConnectOptions) => Promise<unknown>) {
  const value = contract as unknown as AnyContract;
  const recording = record({ fetch: (request) => fetch(request), webSocket }, { contract: value });
  const options = { baseUrl, retryWaits: [], resume: false, onUnknown() {}, onViolation() {} } as const;
  await talk({ ...options, fetch: recording.fetch, webSocket: recording.webSocket });
  const findings: Finding[] = [];
  const talked = new Conversations(value, await value.accepts());
  const verifier = new Verifier(talked, (finding) => void findings.push(finding));
  const chunks = (async function* () {
    yield* recording.bytes();
  })();
  const ending = await read(chunks, {
    onHeader: (header) => verifier.header(header),
    onEntry: (entry, line) => verifier.entry(entry, line),
  });
  verifier.end(ending.lines, false);
  const { unknownTypes } = verifier.totals;
  return { findings: findings.map(({ rule, message }) => `${rule}: ${message}`), unknown: { ...unknownTypes } };
}

/** Reads to the end, which a double may reach in its own way. */
async function drained<M>(messages: AsyncIterable<M>, act: (message: M) => unknown = () => {}): Promise<void> {
  try {
    for await (const message of messages) await act(message);
  } catch {}
}

const asking = (content: string) => ({ messages: [{ role: "user" as const, content }] });
const none = { findings: [], unknown: {} };

describe("A recording of a program that follows its contract has no finding:", () => {
  it("AgentSmithy's server 1.13 and agentsmithy-1.13", async () => {
    const url = await agentSmithysServer();
    const found = await verified(agentsmithy1_13, url, async (options) => {
      const agent = connect(agentsmithy1_13, options);
      await agent.health();
      await agent.currentDialog();
      for (const content of ["rename calc", "fail"]) await drained(agent.chat(asking(content)));
      await agent.complete(asking("rename calc"));
    });
    expect(found).toEqual(none);
  });

  it("the gateway of today and coven, but for its null", async () => {
    const found = await verified(coven, await gatewayOfToday(), async (options) => {
      const client = connect(coven, options);
      await client.listAgents();
      await drained(client.send({ content: "go", sender: "test", agent_id: "1" }), (message) =>
        message.type === "tool_approval"
          ? client.approveTool({ agent_id: "1", tool_id: message.id, approved: true })
          : undefined,
      );
    });
    expect(found).toEqual({
      findings: ["form: server: the answer of listAgents is read by a rule at /*/capabilities"],
      unknown: { unknown: 1 },
    });
  });

  it("Based's server and based", async () => {
    const found = await verified(based, await basedServer(), async (options) => {
      await using session = await connect(based, options).session();
      await session.ask({ type: "list_files" });
    });
    expect(found).toEqual(none);
  });

  it("LoCo's backend and loco-app, but that it drops the socket after a cancel", async () => {
    const found = await verified(locoApp, await locoBackend(), async (options) => {
      const client = connect(locoApp, options);
      await client.listModels();
      await client.listSessions();
      const session = await client.stream({ session_id: "s1" });
      session.send({ type: "client.user_message", message: "go" });
      await drained(session, (message) => {
        if (message.type === "tool.request_approval" || message.type === "command.request_approval")
          session.send({ type: "client.approval_response", request_id: message.request_id, approved: true });
        if (message.type === "assistant.message_final") session.send({ type: "client.cancel" });
      });
    });
    expect(found).toEqual({ findings: ["end: the server's side was lost: the connection was lost"], unknown: {} });
  });
});

describe("Each known deviation is one finding, by its name:", () => {
  it("AgentSmithy's server 1.13 and the document", async () => {
    const found = await verified(agentsmithy, await agentSmithysServer(), async (options) => {
      const agent = connect(agentsmithy, options);
      for (const content of ["rename calc", "fail"]) await drained(agent.chat(asking(content)));
      await agent.complete(asking("rename calc"));
    });
    expect(found).toMatchInlineSnapshot(`
      {
        "findings": [
          "form: server: \`chat\` is read as \`content\`",
          "form: server: the answer of complete is read by a rule at /diffs",
        ],
        "unknown": {
          "chat_end": 1,
          "chat_start": 1,
          "file_edit": 1,
          "reasoning": 1,
          "reasoning_end": 1,
          "reasoning_start": 1,
          "user": 2,
        },
      }
    `);
  });

  it("the documented gateway, whose agents have no capabilities", async () => {
    const found = await verified(foldGateway, await documentedGateway(), async (options) => {
      const client = connect(foldGateway, options);
      await client.listAgents();
      await drained(client.send({ content: "go" }));
    });
    expect(found).toMatchInlineSnapshot(`
      {
        "findings": [
          "form: server: the answer of listAgents is read by a rule at /*/capabilities",
        ],
        "unknown": {},
      }
    `);
  });

  it("Emacs-Agent's backend, in its other texts", async () => {
    const { url } = await emacsBackend();
    const found = await verified(emacsAgent, url, async (options) => {
      const client = connect(emacsAgent, options);
      const { session_id } = await client.createSession({ project_path: "/p" });
      const events = client.events({ session_id });
      await events.opened;
      await client.prompt({ session_id, text: "go" });
      await drained(events, async (message) => {
        if (message.type === "tool.call") await client.approve({ session_id, tool_call_id: message.tool_call_id });
        if (message.type === "tool.result") await client.endSession({ session_id });
      });
    });
    expect(found).toMatchInlineSnapshot(`
      {
        "findings": [
          "form: server: the answer of prompt is read by a rule at /session_state, /agent_state",
          "form: server: \`message.delta\` is read by a rule at /role",
          "form: server: \`tool.call\` is read by a rule at /requiresApproval, /requires_approval",
        ],
        "unknown": {
          "lsp.diagnostics": 1,
          "tool.progress": 1,
        },
      }
    `);
  });

  it("LoCo's backend and the document", async () => {
    const found = await verified(loco, await locoBackend(), async (options) => {
      const client = connect(loco, options);
      await client.listModels().catch(() => {});
      await client.listSessions().catch(() => {});
      const session = await client.stream(
        { session_id: "s1" },
        { open: { client_info: { name: "test", version: "1", capabilities: [] } } },
      );
      session.send({ type: "client.user_message", message: "go" });
      await drained(session, (message) => {
        if (message.type === "tool.request_approval" || message.type === "command.request_approval")
          session.send({
            type: "client.approval_response",
            request_id: "request_id" in message ? message.request_id : message.command_id,
            approved: true,
            scope: "all",
          });
        if (message.type === "assistant.message_final") void session.close();
      });
    });
    expect(found).toMatchInlineSnapshot(`
      {
        "findings": [
          "form: server: the answer of listModels is read by a rule at /",
          "form: server: \`assistant.thinking\` is read by a rule at /phase",
          "form: server: \`assistant.message_delta\` is read as \`assistant.token\`",
          "form: server: \`command.request_approval\` is read as \`tool.request_approval\`",
          "form: server: \`tool.request_approval\` is read by a rule at /tool, /arguments, /tool_name, /args, /risk_level",
          "form: server: \`agent.plan\` is read by a rule at /steps/*, /rationale",
          "form: server: \`patch.proposed\` is read by a rule at /id, /rationale, /patch_id, /acceptance_criteria, /requires_approval, …",
        ],
        "unknown": {
          "assistant.tool_result": 2,
          "assistant.tool_use": 1,
          "error": 1,
        },
      }
    `);
  });
});
