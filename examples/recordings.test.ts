import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { webSocket } from "@parlance/client/node";
import {
  Conversations,
  type Entry,
  type Finding,
  formatProblem,
  loadRecording,
  Recorder,
  ReplayServer,
  read,
  replayClient,
  Verifier,
} from "@parlance/recordings";
import { listenReplay, proxy, RecordingFile } from "@parlance/recordings/node";
import type { App } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { talkAgentsmithy } from "./agentsmithy/client.js";
import { serveAgentsmithy } from "./agentsmithy/server.js";
import { talkAgentsmithy1_13 } from "./agentsmithy-1.13/client.js";
import { serveAgentsmithy1_13 } from "./agentsmithy-1.13/server.js";
import { talkBased } from "./based/client.js";
import { serveBased } from "./based/server.js";
import { talkCoven } from "./coven/client.js";
import { serveCoven } from "./coven/server.js";
import { PROMPT } from "./demo/check.js";
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

// What the demo says is recorded once for each protocol, and then each side is replayed against the real other side.

interface Demo {
  readonly serve: (workspace: Workspace) => App;
  readonly talk: (story: Story) => Promise<void>;
  readonly token?: string;
}

const demos: Readonly<Record<string, Demo>> = {
  "fold-gateway": { serve: serveFoldGateway, talk: talkFoldGateway },
  agentsmithy: { serve: serveAgentsmithy, talk: talkAgentsmithy },
  "agentsmithy-1.13": { serve: serveAgentsmithy1_13, talk: talkAgentsmithy1_13 },
  "emacs-agent": { serve: serveEmacsAgent, talk: talkEmacsAgent },
  based: { serve: serveBased, talk: talkBased },
  coven: { serve: serveCoven, talk: talkCoven },
  loco: { serve: serveLoco, talk: talkLoco, token: TOKEN },
  "loco-app": { serve: serveLocoApp, talk: talkLocoApp, token: APP_TOKEN },
};

async function story({ talk }: Demo, workspace: Workspace, baseUrl: string): Promise<void> {
  const print = { text() {}, note() {} };
  await talk({ baseUrl, connection: { webSocket }, workspace, prompt: PROMPT, print });
}

async function workspaceOf(): Promise<Workspace> {
  const workspace = await copyWorkspace();
  onTestFinished(() => workspace.remove());
  return workspace;
}

/** Records the demo's conversation through the proxy. Returns the bytes of the file, and the folder that some messages name. */
async function recorded(demo: Demo, contract: AnyContract): Promise<{ bytes: Buffer; root: string }> {
  const folder = await mkdtemp(join(tmpdir(), "parlance-recording-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const workspace = await workspaceOf();
  const server = await listen(demo.serve(workspace), { port: 0 });
  const path = join(folder, "demo.jsonl");
  const file = new RecordingFile(path, (error) => expect.fail(error.message));
  const between = await proxy({ target: server.url, recorder: new Recorder(file.write, { contract }) });
  await story(demo, workspace, between.url);
  await between.close();
  file.close();
  await server.close();
  return { bytes: await readFile(path), root: dirname(workspace.root) };
}

describe.each(Object.entries(demos))("%s", (name, demo) => {
  test("a recording of the demo fits the contract, and each side of it talks to the real other side", async () => {
    const module: Record<string, AnyContract> = await import(`../packages/protocols/src/${name}.ts`);
    const contract = Object.values(module).find((one) => one.name === name)!;
    const { bytes, root } = await recorded(demo, contract);

    const findings: Finding[] = [];
    const talk = new Conversations(contract, await contract.accepts());
    const verifier = new Verifier(talk, (finding) => findings.push(finding));
    const entries: Entry[] = [];
    const ending = await read([bytes], {
      onEntry: (entry, line) => {
        entries.push(entry);
        verifier.entry(entry, line);
      },
    });
    verifier.end(ending.lines, false);
    expect({ findings, state: ending.state }).toEqual({ findings: [], state: "complete" });
    expect(verifier.totals.messages).toBeGreaterThan(5);
    if (demo.token) expect(bytes.includes(demo.token)).toBe(false);

    const another = await workspaceOf();
    const replay = new ReplayServer(await loadRecording([bytes]), {
      contract,
      values: { [root]: dirname(another.root) },
    });
    const listening = await listenReplay(replay);
    await story(demo, another, listening.url);
    await listening.close();
    expect(replay.problems.map(formatProblem)).toEqual([]);

    const third = await workspaceOf();
    const server = await listen(demo.serve(third), { port: 0 });
    const headers = demo.token ? { Authorization: `Bearer ${demo.token}` } : undefined;
    const values = { [root]: dirname(third.root) };
    const options = { contract, values, baseUrl: server.url, fetch, webSocket, ...(headers && { headers }) };
    const problems = await replayClient(await loadRecording([bytes]), options);
    await server.close();
    expect(problems.map(formatProblem)).toEqual([]);
  });
});
