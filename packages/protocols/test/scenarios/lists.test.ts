import { connect } from "@parlance/client";
import type { AnyContract } from "@parlance/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readOnlyTools, writeTools } from "../../helpers/emacs-agent.js";
import { agentsmithy } from "../../src/agentsmithy.js";
import { based } from "../../src/based.js";
import { emacsAgent } from "../../src/emacs-agent.js";
import { foldGateway } from "../../src/fold-gateway.js";
import { loco } from "../../src/loco.js";
import { subjects } from "../contracts.js";

/** What the documents list: endpoints with their answers, messages of each side, error codes, times. A word a line, in their order. */
const lists: readonly [contract: AnyContract, address: string, endpoints: string, messages: string, codes?: string][] =
  [
    [
      agentsmithy,
      "http://localhost:8765",
      `POST /api/chat 200 400 401 405 429 500 503
       POST /api/chat 200 400 401 405 429 500 503`,
      "server: classification content diff done error",
    ],
    [
      based,
      "http://localhost:8000",
      "GET /ws 101",
      `client: prompt apply_diff upload_file list_files read_file
       server: initial_state file_created diff_generated edit_error diff_applied apply_diff_error file_uploaded file_list file_content read_file_error operation_rejected error`,
    ],
    [
      emacsAgent,
      "http://localhost:9420",
      `POST /api/sessions 201 400 409
       GET /api/sessions/{session_id} 200 404
       DELETE /api/sessions/{session_id} 200 404
       POST /api/sessions/{session_id}/prompt 200 400 404
       POST /api/sessions/{session_id}/interrupt 200 404
       POST /api/sessions/{session_id}/approve 200 400 404
       POST /api/sessions/{session_id}/reject 200 400 404
       GET /api/sessions/{session_id}/transcript 200 400 404
       GET /api/sessions/{session_id}/transcript 200 400 404
       GET /api/sessions/{session_id}/transcript 200 400 404
       GET /api/transcripts 200 400
       POST /api/sessions/{session_id}/resume 200 404 409
       GET /api/sessions/{session_id}/events 200 404`,
      "server: message.delta tool.call tool.result file.changed agent.state error",
      "SESSION_NOT_FOUND:404 INVALID_TOOL_CALL:404 PERMISSION_DENIED:500 LLM_API_ERROR:500 MCP_SERVER_ERROR:500 TRANSCRIPT_ERROR:500",
    ],
    [
      foldGateway,
      "http://localhost:8080",
      `GET /health 200 405
       GET /health/ready 200 405 503
       GET /api/agents 200 405
       POST /api/send 200 400 404 405 503`,
      "server: thinking text tool_use tool_result file done error",
    ],
    [
      loco,
      "https://localhost:3199",
      `GET /v1/health 200 503
       GET /v1/workspaces 200
       POST /v1/workspaces/register 200 400
       GET /v1/workspaces/{workspace_id} 200 404
       GET /v1/workspaces/{workspace_id}/policy 200 404
       PUT /v1/workspaces/{workspace_id}/policy 200 400 404
       POST /v1/workspaces/{workspace_id}/index/rebuild 202 404 409
       POST /v1/workspaces/{workspace_id}/index/refresh 202 404 409
       POST /v1/workspaces/{workspace_id}/index/incremental 202 400 404
       GET /v1/workspaces/{workspace_id}/index/status 200 404
       POST /v1/sessions 200 400 404
       GET /v1/sessions 200
       GET /v1/sessions/{session_id} 200 404
       DELETE /v1/sessions/{session_id} 200 404
       GET /v1/models 200
       GET /v1/models/current 200 404
       PUT /v1/models/current 200 400 404 502
       GET /v1/sessions/{session_id}/stream 101`,
      `client: client.hello client.user_message client.context_update client.approval_response client.patch_apply_result client.command_result client.cancel client.file_changes
       server: server.hello assistant.thinking agent.plan agent.retrieve.status tool.execute patch.proposed tool.request_approval command.request_approval assistant.token assistant.message_final server.error session.state`,
      "RETRIEVAL_FAILED MODEL_ERROR:502 POLICY_VIOLATION:403",
    ],
  ];

/** Operations that post nothing. */
const bodiless: Readonly<Record<string, readonly string[]>> = {
  "emacs-agent": ["interrupt", "resume"],
  loco: ["rebuildIndex", "refreshIndex"],
};

const lines = (text: string) => text.split("\n").map((line) => line.trim());

describe.each(lists.map((list) => [list[0].name, list] as const))(
  "%s",
  (_, [contract, address, endpoints, messages, codes]) => {
    const operations = Object.values(contract.operations);
    const channels = Object.values(contract.channels);

    it("has the document's address", () => expect(contract.url).toBe(address));

    it("has the document's endpoints, each with its method, its status and its refusals", () => {
      const answered = operations.map(({ method, path, answer, faults = {} }) =>
        [method, path, answer.status, ...Object.keys(faults)].join(" "),
      );
      expect([...answered, ...channels.map(({ path }) => `GET ${path} 101`)]).toEqual(lines(endpoints));
    });

    it("has the document's endpoints, each with a body where it posts or puts one", () => {
      const silent = Object.entries(contract.operations).filter(([, { body }]) => body === undefined);
      const posts = silent.filter(([, { method }]) => method === "POST" || method === "PUT");
      expect(posts.map(([name]) => name)).toEqual(bodiless[contract.name] ?? []);
      expect(operations.filter(({ body, method }) => body && /^(?:GET|DELETE)$/.test(method))).toEqual([]);
    });

    it("has the document's endpoints below its base URL, where that has a path of its own", () => {
      const base = contract === emacsAgent ? "/api" : undefined;
      for (const { path, alsoAt = [] } of operations)
        expect(alsoAt).toEqual(base === undefined ? [] : [path.slice(base.length)]);
    });

    it("has the document's messages, and each side sends its own", () => {
      const streams = operations.flatMap(({ answer }) => (answer.stream ? [{ server: answer.stream.messages }] : []));
      const told = [...streams, ...channels].flatMap((carrier) =>
        Object.entries(carrier).flatMap(([side, names]) =>
          side === "client" || side === "server" ? [`${side}: ${(names as string[]).join(" ")}`] : [],
        ),
      );
      expect(told).toEqual(lines(messages));
    });

    if (codes === undefined) return;
    it("has the document's error codes, which no generic refusal is given", () => {
      for (const [code, status] of codes.split(" ").map((one) => one.split(":") as [string, string?])) {
        expect(contract.fault.codes![code]!.status).toBe(status && Number(status));
        expect(contract.fault.codes).toHaveProperty(code);
        expect(contract.fault.codes![code]).not.toHaveProperty("generic");
        // A retrieval or a model may be tried again.
        expect(contract.fault.codes![code]!.recoverable === true).toBe(/^(?:RETRIEVAL_FAILED|MODEL_ERROR)$/.test(code));
      }
    });
  },
);

it.each([
  ["agentsmithy", "1.0"],
  ["loco", "v1"],
])("%s has the document's version, %s", (name, version) => {
  expect(subjects.find(({ contract }) => contract.name === name)?.document.source.version).toBe(version);
});

it("emacs-agent's states are the document's five", () => {
  const document = subjects.find(({ contract }) => contract === emacsAgent)?.document;
  expect(document?.schemas.AgentState?.enum).toEqual([
    "idle",
    "thinking",
    "tool_execution",
    "waiting_approval",
    "error",
  ]);
});

it("emacs-agent's tools in the schema are those that the helpers call read-only, and those that ask", () => {
  const document = subjects.find(({ contract }) => contract === emacsAgent)?.document;
  expect(document?.schemas.ToolName?.anyOf).toMatchObject([{ enum: [...readOnlyTools, ...writeTools] }, {}]);
});

describe("A client asks with the headers that the documents print:", () => {
  const json = "application/json";
  const stream = { accept: "text/event-stream", "cache-control": "no-cache" };
  it.each<[string, () => { client: object; call: string; input: object }, Record<string, string>]>([
    [
      "agentsmithy's chat",
      () => ({ client: connect(agentsmithy, { fetch: record }), call: "chat", input: { messages: [] } }),
      { ...stream, "content-type": json },
    ],
    [
      "fold-gateway's send",
      () => ({ client: connect(foldGateway, { fetch: record }), call: "send", input: { content: "x" } }),
      { ...stream, "content-type": json },
    ],
    [
      "emacs-agent's events",
      () => ({ client: connect(emacsAgent, { fetch: record }), call: "events", input: { session_id: "s" } }),
      stream,
    ],
    [
      "emacs-agent's session, with a token",
      () => ({
        client: connect(emacsAgent, { fetch: record, token: "t" }),
        call: "createSession",
        input: { project_path: "/p" },
      }),
      { authorization: "Bearer t", "content-type": json, accept: json },
    ],
    [
      "loco's health, with its token",
      () => ({ client: connect(loco, { fetch: record, token: "t" }), call: "health", input: {} }),
      { authorization: "Bearer t", accept: json },
    ],
  ])("%s", async (_, asking, headers) => {
    const { client, call, input } = asking();
    const answer = (client as Record<string, (input: object) => unknown>)[call]!(input) as { opened?: Promise<void> };
    await Promise.resolve(answer.opened ?? answer).catch(() => {});
    expect(asked).toMatchObject(headers);
    expect("authorization" in asked).toBe("authorization" in headers);
  });

  let asked: Record<string, string> = {};
  async function record(request: Request): Promise<Response> {
    asked = Object.fromEntries(request.headers);
    return new Response("", { status: 500 });
  }
});

describe("A client tries again after the document's times", () => {
  afterEach(() => void vi.useRealTimers());
  it.each<[string, AnyContract, object, number[]]>([
    ["complete", agentsmithy, { messages: [] }, [1000]],
    ["prompt", emacsAgent, { session_id: "s", text: "x" }, [2000, 4000, 8000]],
    ["getSession", emacsAgent, { session_id: "s" }, [2000, 4000, 8000]],
    ["listAgents", foldGateway, {}, []],
    ["listModels", loco, {}, []],
  ])("%s, where no connection was made", async (operation, contract, input, waits) => {
    vi.useFakeTimers();
    const at: number[] = [];
    const fetch = async () => {
      at.push(Date.now());
      throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED", syscall: "connect" } });
    };
    const client = connect(contract, { fetch }) as Record<string, (input: object) => Promise<unknown>>;
    const refused = expect(client[operation]!(input)).rejects.toMatchObject({ name: "Disconnected" });
    await vi.runAllTimersAsync();
    await refused;
    expect(at.slice(1).map((time, i) => time - at[i]!)).toEqual(waits);
  });
});
