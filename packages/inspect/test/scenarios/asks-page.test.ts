import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { mock } from "@parlance/recordings";
import { listenReplay } from "@parlance/recordings/node";
import { bearer, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serveAgentsmithy } from "../../../../examples/agentsmithy/server.js";
import { serveCoven } from "../../../../examples/coven/server.js";
import { checkRenamed, PROMPT } from "../../../../examples/demo/check.js";
import { copyWorkspace } from "../../../../examples/demo/workspace.js";
import { serveEmacsAgent } from "../../../../examples/emacs-agent/server.js";
import { serveFoldGateway } from "../../../../examples/fold-gateway/server.js";
import { serveLoco, TOKEN } from "../../../../examples/loco/server.js";
import { inspect } from "../../src/node.js";
import { hasBrowser, launch, opened, quit, shot, violations } from "../browser.js";
import { builtPage } from "../harbour.js";

// A person answers the asks of real servers on the page.

/** An inspector before a server on a port, on the page. */
async function facing(name: string, server: { readonly url: string; close(): Promise<void> }) {
  onTestFinished(() => server.close());
  const document = await load(`schemas/${name}`);
  const inspector = await inspect({
    contract: contractValue(document),
    document,
    target: server.url,
    page: await builtPage(),
  });
  onTestFinished(() => inspector.close());
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const options = { baseUrl: inspector.proxy!, webSocket, retryWaits: [], signal: over.signal };
  return { page: inspector.url, options };
}

const listening = (app: Parameters<typeof listen>[0]) => listen(app, { port: 0, closeAfter: 0 });
const workspaceOf = async () => {
  const workspace = await copyWorkspace();
  onTestFinished(() => workspace.remove());
  return workspace;
};

/** A message of a stream, as far as these tests look at it. */
interface Received {
  readonly type: string;
  readonly state?: unknown;
}

/** Reads a stream in the background, as the client of a person who looks at the inspector. */
function read(messages: AsyncIterable<Received>): { readonly received: Received[]; readonly ended: Promise<void> } {
  const received: Received[] = [];
  const ended = (async () => {
    for await (const message of messages) received.push(message);
  })().catch(() => {});
  return { received, ended };
}

const SECRET = "planted-4f9a-token";
const isLong = process.env.PARLANCE_LONG !== undefined;
const looks = [
  ["light", 1400],
  ["dark", 390],
  ...(isLong || process.env.SCREENSHOTS
    ? ([
        ["dark", 1400],
        ["light", 390],
      ] as const)
    : []),
] as const;

describe.skipIf(!hasBrowser)("an ask on the page", () => {
  beforeAll(launch, 60_000);
  afterAll(quit);

  /** A gateway with tokens, whose decisions a test makes. */
  async function gateway(decide: () => Promise<void> | void = () => {}) {
    const app = serve(
      coven,
      {
        async *sendToAgent(_, call) {
          yield { type: "started", thread_id: "t" };
          const tool = {
            name: "run_command",
            input_json: JSON.stringify({ command: "rm -rf build", files: ["a", "b"] }),
          };
          const { approved } = await call.ask({ type: "tool_approval", id: "call-7", ...tool, request_id: "r" });
          yield { type: "done", full_response: String(approved) };
        },
        async approveTool({ agent_id, approved }) {
          await decide();
          if (agent_id !== "otter") throw new Refusal("agent not found", { status: 404 });
          return { success: true, approved };
        },
      },
      { partial: true, authenticate: bearer({ [SECRET]: "me" }) },
    );
    const server = await listening(app);
    const { page, options } = await facing("coven", server);
    const client = connect(coven, { ...options, token: SECRET });
    return { server, page, ask: () => read(client.sendToAgent({ agent_id: "otter", message: "clean" })) };
  }

  test.each(looks)(
    "is decided with the credentials of its call, which no page and no export holds (%s, %i)",
    async (colorScheme, width) => {
      let release = () => {};
      const { page: url, ask } = await gateway(
        () =>
          new Promise((resolve) => {
            release = resolve;
          }),
      );
      const page = await opened(url, { colorScheme, width });
      const answers = ask();
      await page.locator(".question", { hasText: "rm -rf build" }).waitFor();
      expect(await page.locator(".question").textContent()).toContain("JSON in a string");
      expect(await violations(page)).toEqual([]);
      await shot(page, `ask-before-${colorScheme}-${width}`);
      await page.getByRole("button", { name: "approveTool: approved true" }).click();
      await page.locator(".outcome", { hasText: "approveTool: approved true → sending…" }).waitFor();
      expect(await page.getByRole("button", { name: "approveTool: approved false" }).isDisabled()).toBe(true);
      await shot(page, `ask-during-${colorScheme}-${width}`);
      release();
      await page.locator(".outcome .good", { hasText: "approveTool: approved true → 200: accepted" }).waitFor();
      await page.getByRole("button", { name: "Dismiss" }).waitFor();
      expect(await page.getByRole("button", { name: "approveTool: approved true" }).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      await shot(page, `ask-after-${colorScheme}-${width}`);
      await answers.ended;
      expect(answers.received.at(-1)).toEqual({ type: "done", full_response: "true" });
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export jsonl" }).click(),
      ]);
      const exported = (await (await download.createReadStream()).toArray()).join("");
      expect(exported).toContain("/api/tools/approve");
      expect(exported + (await page.content())).not.toContain(SECRET);
    },
  );

  test("shows a refusal where it was decided, and waits on", async () => {
    let refuse: (() => void) | undefined;
    const { page: url, ask } = await gateway(() => refuse?.());
    const page = await opened(url, { expected: /400 \(Bad Request\)/ });
    ask();
    const approve = page.getByRole("button", { name: "approveTool: approved true" });
    const outcome = (text: string) => page.locator(".ask .outcome .problem", { hasText: text }).waitFor();
    await page.locator(".asks").getByLabel("With").selectOption("the inspector's own headers");
    await approve.click();
    await outcome("approveTool: approved true → 401: a bearer token is needed");
    await page.locator(".asks").getByLabel("With").selectOption({ label: "Authorization of connection 1" });
    for (const [status, text] of [
      [409, "not open any more"],
      [503, "come back later"],
    ] as const) {
      refuse = () => {
        throw new Refusal(text, { status });
      };
      await approve.click();
      await outcome(`${status}: ${text}`);
    }
    refuse = undefined;
    await page.getByRole("button", { name: "Edit the answer" }).click();
    await page.getByRole("textbox", { name: "agent_id" }).fill("other");
    await page.locator(".send .primary").click();
    await outcome("approveTool, as edited → 404: agent not found");
    await page.locator("h2", { hasText: "Waiting for an answer (1)" }).waitFor();
    await shot(page, "ask-refused");
    await page.getByLabel("Only what is wrong").check();
    await expect.poll(() => page.locator("#rows .refusal").count()).toBe(8);
  });

  test("shows that the server is gone", async () => {
    const { server, page: url, ask } = await gateway();
    const page = await opened(url, { expected: /400 \(Bad Request\)/ });
    ask();
    const approve = page.getByRole("button", { name: "approveTool: approved true" });
    await approve.waitFor();
    await page.route("**/api/call", async (route) => {
      await server.close();
      await route.continue();
    });
    await approve.click();
    await page.locator(".outcome .problem", { hasText: "502: the proxy got no answer from the server" }).waitFor();
  });

  test.each(["coven", "emacs-agent"] as const)(
    "is answered for the example of %s until its work is done",
    async (name) => {
      const workspace = await workspaceOf();
      const app = name === "coven" ? serveCoven(workspace) : serveEmacsAgent(workspace);
      const { page: url, options } = await facing(name, await listening(app));
      const page = await opened(url);
      const { received } = name === "coven" ? talkCoven(options) : await talkEmacsAgent(options, workspace.root);
      const label = name === "coven" ? "approveTool: approved true" : "approve";
      const approve = page.getByRole("button", { name: label, exact: true, disabled: false });
      const isDone = () => {
        const last = received.at(-1);
        return last?.type === "done" || (last?.state === "idle" && received.some(({ type }) => type === "tool.call"));
      };
      // One approval after the other, as the agent asks.
      const goOn = async () => {
        if ((await approve.count()) > 0) await approve.first().click();
        return isDone();
      };
      await expect.poll(goOn, { timeout: 20_000 }).toBe(true);
      expect(await page.locator(".outcome .good").count()).toBeGreaterThan(1);
      expect(await page.locator(".outcome .problem").count()).toBe(0);
      await checkRenamed(workspace);
    },
  );

  const talkCoven = (options: object) =>
    read(connect(coven, options).send({ content: PROMPT, sender: "me", agent_id: "1" }));
  const talkEmacsAgent = async (options: object, project_path: string) => {
    const agent = connect(emacsAgent, options);
    const { session_id } = await agent.createSession({ project_path });
    const events = agent.events({ session_id });
    await events.opened;
    const talk = read(events);
    await agent.prompt({ session_id, text: PROMPT });
    return talk;
  };

  test("of loco leaves what only an editor knows to a person", async () => {
    const workspace = await workspaceOf();
    const { page: url, options } = await facing("loco", await listening(serveLoco(workspace)));
    const page = await opened(url);
    const agent = connect(loco, { ...options, token: TOKEN });
    const { id: workspace_id } = await agent.registerWorkspace({ path: workspace.root });
    const { id: session_id } = await agent.createSession({ workspace_id });
    const client_info = { name: "test", version: "1", capabilities: [] };
    const session = await agent.stream({ session_id }, { open: { client_info } });
    session.send({ type: "client.user_message", message: PROMPT });
    const talk = read(session);
    await page.getByRole("button", { name: 'client.approval_response: approved true, scope "all"' }).click();
    const proposal = page.locator(".ask", { hasText: "patch.proposed" });
    await proposal.locator(".missing", { hasText: "needs applied_hash, not found in the conversation" }).waitFor();
    await proposal.getByRole("button", { name: "client.patch_apply_result: success true…" }).click();
    await page.locator(".send .missing", { hasText: "applied_hash" }).waitFor();
    await shot(page, "ask-missing");
    expect(await violations(page)).toEqual([]);
    await page.locator(".send .primary").click();
    await page.locator(".send .problem", { hasText: "applied_hash" }).waitFor();
    const body = JSON.parse(await page.getByLabel("Raw text").inputValue());
    expect(Object.keys(body).sort()).toEqual(["file_path", "patch_id", "success", "type"]);
    await page.getByLabel("Raw text").fill(JSON.stringify({ ...body, applied_hash: `sha256:${"0".repeat(64)}` }));
    await page.locator(".send .primary").click();
    await proposal
      .locator(".outcome .good", { hasText: "client.patch_apply_result, as edited → Sent on connection" })
      .first()
      .waitFor();
    expect(talk.received.map(({ type }) => type)).toContain("patch.proposed");
    await session.close();
  });

  test("of a mock is answered for the agent of the call", async () => {
    const messages = coven.operations.send!.answer.stream!.messages;
    const stall = messages.indexOf("tool_approval") + 2;
    const { page: url, options } = await facing("coven", await listenReplay(mock(coven, { stall })));
    const page = await opened(url);
    read(connect(coven, options).send({ content: "hi", sender: "me", agent_id: "of-the-call" }));
    await page.getByRole("button", { name: "approveTool: approved false" }).click();
    await page.locator(".outcome .good", { hasText: "approveTool: approved false → 200: accepted" }).waitFor();
    await page.locator("#rows .row", { hasText: '"approved":false,"agent_id":"of-the-call"' }).waitFor();
  });

  test.each(["fold-gateway", "agentsmithy"] as const)("is none in %s, whose refusals are errors", async (name) => {
    const workspace = await workspaceOf();
    const app = name === "fold-gateway" ? serveFoldGateway(workspace) : serveAgentsmithy(workspace);
    const { page: url, options } = await facing(name, await listening(app));
    const page = await opened(url);
    if (name === "fold-gateway") await read(connect(foldGateway, options).send({ content: PROMPT })).ended;
    const path = name === "fold-gateway" ? "/api/send" : "/api/chat";
    const refused = await fetch(options.baseUrl + path, {
      method: "POST",
      body: "{",
      headers: { "Content-Type": "application/json" },
    });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    await page.locator("#rows .refusal").first().waitFor();
    await page.locator("#calls .state.refusal").waitFor();
    expect(await page.locator(".asks").count()).toBe(0);
  });
});
