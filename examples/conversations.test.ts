import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { locoApp } from "@parlance/protocols/loco-app";
import type { App } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { type AnyContract, type OpenSocket, type Port, unfault } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { load } from "../packages/language/src/load.js";
import { talkAgentsmithy } from "./agentsmithy/client.js";
import { serveAgentsmithy } from "./agentsmithy/server.js";
import { talkAgentsmithy1_13 } from "./agentsmithy-1.13/client.js";
import { serveAgentsmithy1_13 } from "./agentsmithy-1.13/server.js";
import { talkBased } from "./based/client.js";
import { serveBased } from "./based/server.js";
import { talkCoven } from "./coven/client.js";
import { serveCoven } from "./coven/server.js";
import { checkRenamed, PROMPT } from "./demo/check.js";
import type { Story } from "./demo/story.js";
import { copyWorkspace, type Workspace } from "./demo/workspace.js";
import { talkEmacsAgent } from "./emacs-agent/client.js";
import { serveEmacsAgent } from "./emacs-agent/server.js";
import { talkFoldGateway } from "./fold-gateway/client.js";
import { serveFoldGateway } from "./fold-gateway/server.js";
import { talkLoco } from "./loco/client.js";
import { serveLoco, TOKEN } from "./loco/server.js";
import { talkLocoApp } from "./loco-app/client.js";
import { TOKEN as APP_TOKEN, serveLocoApp } from "./loco-app/server.js";
import { type Connection, overhear } from "./overhear.js";

// Every example holds its whole conversation here, and what passes between its client and its server is compared with the document.

interface Example {
  readonly contract: AnyContract;
  readonly serve: (workspace: Workspace) => App;
  readonly talk: (story: Story) => Promise<void>;
  readonly token?: string;
  /** The calls with their status, and the messages, the client's after `>`. What is repeated is there once, and `…`. */
  readonly calls: string;
  readonly messages: string;
}

const examples: Readonly<Record<string, Example>> = {
  agentsmithy: {
    contract: agentsmithy,
    serve: serveAgentsmithy,
    talk: talkAgentsmithy,
    calls: `POST /api/chat 200`,
    messages: `classification content … diff … content done`,
  },
  based: {
    contract: based,
    serve: serveBased,
    talk: talkBased,
    calls: ``,
    messages: `initial_state >upload_file file_uploaded … >list_files file_list >prompt diff_generated >apply_diff diff_applied …
      >prompt diff_generated`,
  },
  "emacs-agent": {
    contract: emacsAgent,
    serve: serveEmacsAgent,
    talk: talkEmacsAgent,
    calls: `POST /api/sessions 201
      GET /api/sessions/{session_id}/events 200
      POST /api/sessions/{session_id}/prompt 200
      POST /api/sessions/{session_id}/approve 200
      DELETE /api/sessions/{session_id} 200
      GET /api/transcripts 200
      GET /api/sessions/{session_id}/transcript 200`,
    messages: `agent.state:idle agent.state:thinking message.delta … tool.call agent.state:tool_execution tool.result:success
      agent.state:thinking message.delta … tool.call agent.state:waiting_approval agent.state:tool_execution
      tool.result:success file.changed agent.state:thinking … message.delta agent.state:idle`,
  },
  "fold-gateway": {
    contract: foldGateway,
    serve: serveFoldGateway,
    talk: talkFoldGateway,
    calls: `GET /health 200
      GET /health/ready 200
      GET /api/agents 200
      POST /api/send 200`,
    messages: `thinking text … tool_use tool_result text … done`,
  },
  loco: {
    contract: loco,
    serve: serveLoco,
    talk: talkLoco,
    token: TOKEN,
    calls: `POST /v1/workspaces/register 200
      GET /v1/workspaces/{workspace_id}/policy 200
      POST /v1/sessions 200
      DELETE /v1/sessions/{session_id} 200`,
    messages: `>client.hello server.hello >client.user_message assistant.thinking assistant.token … tool.execute … assistant.token …
      tool.request_approval >client.approval_response patch.proposed >client.patch_apply_result … assistant.token
      assistant.message_final`,
  },
  "agentsmithy-1.13": {
    contract: agentsmithy1_13,
    serve: serveAgentsmithy1_13,
    talk: talkAgentsmithy1_13,
    calls: `POST /api/dialogs 200
      POST /api/chat 200
      GET /api/dialogs/{dialog_id}/session 200
      POST /api/dialogs/{dialog_id}/approve 200
      GET /api/dialogs/{dialog_id}/history 200`,
    messages: `user chat_start chat … chat_end tool_call chat_start chat … chat_end tool_call file_edit … chat_start chat chat_end
      done`,
  },
  coven: {
    contract: coven,
    serve: serveCoven,
    talk: talkCoven,
    calls: `GET /health 200
      GET /health/ready 200
      GET /api/agents 200
      POST /api/send 200
      POST /api/tools/approve 200`,
    messages: `started text … tool_use tool_approval tool_state tool_result … text done`,
  },
  "loco-app": {
    contract: locoApp,
    serve: serveLocoApp,
    talk: talkLocoApp,
    token: APP_TOKEN,
    calls: `POST /v1/workspaces/register 200
      GET /v1/workspaces/{workspace_id}/index/stream 200
      POST /v1/sessions 200`,
    messages: `index.complete server.hello >client.user_message assistant.thinking assistant.message_delta … assistant.tool_use
      tool.request_approval >client.approval_response assistant.tool_result patch.proposed … assistant.message_delta
      assistant.message_final`,
  },
};
const each = Object.entries(examples).map(([name, example]) => ({ name, ...example }));

const carriers: Readonly<Record<string, (app: App) => Promise<Connection>>> = {
  "in memory": async ({ fetch, webSocket }) => ({ baseUrl: "http://localhost", fetch, webSocket }),
  async "over sockets"(app) {
    const { url, close } = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(close);
    return { baseUrl: url, fetch, webSocket };
  },
};

async function open({ serve }: Example) {
  const workspace = await copyWorkspace();
  const app = serve(workspace);
  onTestFinished(async () => {
    app.close();
    await workspace.remove();
  });
  return { app, workspace };
}

interface Passed {
  readonly calls: readonly string[];
  readonly messages: string;
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** Holds the example's conversation and returns what passed. The files are then as they should be. */
async function hold(example: Example, connection: Connection, workspace: Workspace): Promise<Passed> {
  const { calls, messages, ...heard } = overhear(example.contract, connection);
  const { baseUrl } = connection;
  await example.talk({
    baseUrl,
    workspace,
    prompt: PROMPT,
    print: { text() {}, note() {} },
    // Frames that belong to resume are not of the document.
    connection: { ...heard, resume: false, onUnknown: ({ body }) => expect.fail(`unknown: ${JSON.stringify(body)}`) },
  });
  await checkRenamed(workspace);
  // `a b a b c` is `a b … c`.
  const short = (names: readonly string[]) =>
    names
      .map((name) => `${name} `)
      .join("")
      .replace(/((?:\S+ )+?)\1+/g, "$1… ")
      .trim();
  return { calls: calls.filter((call, index) => call !== calls[index - 1]), messages: short(messages) };
}

describe.each(Object.entries(carriers))("%s", (_, carrier) => {
  test.each(each)("the client and the server of $name hold its document's conversation", async (example) => {
    const { app, workspace } = await open(example);
    const { calls, messages } = await hold(example, await carrier(app), workspace);
    expect(calls).toEqual(lines(example.calls));
    expect(messages).toBe(lines(example.messages).join(" "));
  });
});

/** What each document's client shows its user: the text of the answer, and what it does to the files. */
const shown: Readonly<Record<string, readonly [text: RegExp, notes: readonly RegExp[]]>> = {
  agentsmithy: [
    /I'll look for calcTotal/,
    [/^a refactor$/, /^applied src\/cart\.ts \d+-\d+: calcTotal is now sumCart$/, /^done$/],
  ],
  based: [/^--- a\/\S+\n\+\+\+ b\/\S+\n@@ /, [/^uploaded .*src\/cart\.ts/, /^the server applied src\/cart\.ts$/]],
  "emacs-agent": [/I'll look for calcTotal/, [/^edit_file .*"diff":"--- a/, /^success: /, /^changed src\/cart\.ts$/]],
  "fold-gateway": [/I'll look for calcTotal/, [/^OK, ready/, /^search_files /, /^applied src\/cart\.ts$/]],
  loco: [
    /I'll look for calcTotal/,
    [/^search_text /, /^approved write_file of src\/cart\.ts$/, /^applied src\/cart\.ts: /, /^final, 3 files$/],
  ],
};

test.each(Object.entries(shown))("the client of %s shows the answer and each change", async (name, [text, notes]) => {
  const { talk, serve } = examples[name]!;
  const { app, workspace } = await open({ serve } as Example);
  const said: string[] = [];
  const noted: string[] = [];
  const print = { text: (part: string) => void said.push(part), note: (what: string) => void noted.push(what) };
  const connection = { fetch: app.fetch, webSocket: app.webSocket };
  await talk({ baseUrl: "http://localhost", workspace, prompt: PROMPT, print, connection });
  expect(said.join("")).toMatch(text);
  for (const note of notes) expect(noted).toContainEqual(expect.stringMatching(note));
});

/** Bodies and frames that no message is. */
const malformed = [
  "",
  "{",
  "[]",
  "null",
  "1",
  '"x"',
  '{"__proto__":{}}',
  `${"[".repeat(70)}${"]".repeat(70)}`,
  "\u0000",
];

/** Requests that each operation has to refuse: of unknown things, with malformed bodies, of another type, by another method. */
function* hostileRequests(contract: AnyContract, token = ""): Generator<Request> {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const at = (path: string) => `http://localhost${path.replace(/\{\w+\}/g, "..%2F..%2Fnone")}`;
  for (const { method, path, body } of Object.values(contract.operations)) {
    yield new Request(at(path), { method: "PATCH", headers, body: "{}" });
    yield new Request(`${at(path)}/none`, { method, headers });
    if (/\{/.test(path) && !body) yield new Request(at(path), { method, headers });
    if (!body) continue;
    for (const text of malformed) yield new Request(at(path), { method, headers, body: text });
    yield new Request(at(path), { method, headers: { ...headers, "Content-Type": "text/plain" }, body: "{}" });
  }
}

test.each(each)(
  "the server of $name refuses hostile requests in its document's words, and goes on",
  async (example) => {
    const { contract, token } = example;
    const { app, workspace } = await open(example);
    const document = await load(fileURLToPath(new URL(`../schemas/${contract.name}`, import.meta.url)));
    const declared = new Set(
      [document.source, ...Object.values(document.source.operations as object)].flatMap(({ faults = {} }) =>
        Object.keys(faults),
      ),
    );
    for (const request of hostileRequests(contract, token)) {
      const what = `${request.method} ${new URL(request.url).pathname}`;
      const answer = await app.fetch(request);
      const body = await answer.text();
      if (answer.ok) expect.fail(`${what} answers ${answer.status} ${body}`);
      expect([what, declared.has(String(answer.status)), answer.status]).toEqual([what, true, answer.status]);
      expect(answer.status, what).toBeLessThan(500);
      const check = contract.checks[contract.fault.schema]!;
      expect([what, check(JSON.parse(body)), check.errors]).toEqual([what, true, null]);
      const { message, code } = unfault(contract, answer.status, body);
      expect(message).not.toBe("");
      if (contract.fault.code) expect(contract.fault.codes).toHaveProperty([code]);
    }
    const connection = await carriers["in memory"]!(app);
    expect((await hold(example, connection, workspace)).messages).toBe(lines(example.messages).join(" "));
  },
);

/** How a client opens each channel, a message that it may send at any time, and the server's answer to it. */
const channels: readonly {
  name: keyof typeof examples;
  join(connection: Connection): Promise<AsyncIterable<{ type: string }> & { send(message: never): void }>;
  good: object;
  answer: string;
}[] = [
  {
    name: "based",
    join: (connection) => connect(based, connection).session(),
    good: { type: "list_files" },
    answer: "file_list",
  },
  {
    name: "loco",
    async join(connection) {
      const agent = connect(loco, { ...connection, token: TOKEN });
      const { id: workspace_id } = await agent.registerWorkspace({ path: "/p" });
      const { id: session_id } = await agent.createSession({ workspace_id });
      const client_info = { name: "hostile", version: "0", capabilities: [] };
      return agent.stream({ session_id }, { open: { client_info } });
    },
    good: { type: "client.cancel" },
    answer: "session.state",
  },
  {
    name: "loco-app",
    async join(connection) {
      const agent = connect(locoApp, { ...connection, token: APP_TOKEN });
      const { id: workspace_id } = await agent.registerWorkspace({ path: "/p" });
      const { id: session_id } = await agent.createSession({ workspace_id });
      return agent.stream({ session_id });
    },
    good: { type: "client.user_message", message: "hello" },
    answer: "assistant.message_final",
  },
];

test.each(channels)("the server of $name answers hostile frames, and goes on", async ({ name, join, good, answer }) => {
  const example = examples[name]!;
  const [{ client, fault }] = Object.values(example.contract.channels) as [AnyContract["channels"][string]];
  const { app } = await open(example);
  const connection = await carriers["in memory"]!(app);
  let port: Port | undefined;
  const webSocket: OpenSocket = async (...given) => {
    const opened = await connection.webSocket(...given);
    if (!("refused" in opened)) port = opened;
    return opened;
  };
  const channel = await join({ ...connection, webSocket });
  const frames = [
    ...malformed,
    "{}",
    ...client.flatMap((one) => [`["${one}"]`, `{"type":"${one}","action":"${one}","x":{}}`]),
  ];
  for (const frame of frames) port!.send(frame);
  channel.send(good as never);
  const heard: string[] = [];
  for await (const { type } of channel) {
    heard.push(type);
    if (type === answer && heard.filter((one) => one === fault).length >= malformed.length) break;
  }
  expect(heard.filter((one) => one === fault).length).toBeGreaterThanOrEqual(malformed.length);
});
