import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { program } from "@parlance/client/node";
import { acp, type ToolCallUpdate } from "@parlance/protocols/acp";
import { describe, expect, it, onTestFinished } from "vitest";
import { DONE, scriptedModel, WAIT } from "./agents/model.js";

// Real agents of others over stdio, with Parlance's client as their editor and a scripted model. Nothing leaves this machine.

interface Agent {
  readonly name: string;
  /** The script of the installed package, and its arguments. */
  readonly args: readonly string[];
  /** Its settings, by their path in the user's home. */
  readonly settings: Readonly<Record<string, object>>;
  env(model: string): Readonly<Record<string, string>>;
}

const installed = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const quiet = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  tools: { useRipgrep: false },
};
const general = { disableAutoUpdate: true, enableAutoUpdate: false, disableUpdateNag: true };

const agents: readonly Agent[] = [
  {
    name: "Qwen Code",
    args: [installed("@qwen-code/qwen-code/cli.js"), "--acp", "--auth-type", "openai"],
    settings: {
      ".qwen/settings.json": {
        ...quiet,
        general,
        security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      },
    },
    env: (model) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: "scripted" }),
  },
  {
    name: "Gemini CLI",
    args: [installed("@google/gemini-cli/bundle/gemini.js"), "--acp"],
    settings: {
      ".gemini/settings.json": {
        ...quiet,
        general,
        model: { name: "gemini-2.5-flash" },
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      },
    },
    env: (model) => ({
      GEMINI_API_KEY: "x",
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_MODEL: "gemini-2.5-flash",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
  },
];

const BEFORE = 'def greet(name):\n    return "hello " + name\n';
const AFTER = BEFORE.replace("greet", "welcome");

/** A folder with a file to edit, and a home with an agent's settings. */
async function folders({ settings }: Agent) {
  const root = await realpath(await mkdtemp(join(tmpdir(), "parlance-agent-")));
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const [home, work] = [join(root, "home"), join(root, "work")];
  for (const [path, content] of Object.entries(settings)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), JSON.stringify(content));
  }
  await mkdir(work);
  const file = join(work, "main.py");
  await writeFile(file, BEFORE);
  return { home, work, file };
}

describe.each(agents)("$name", (agent) => {
  it("holds turns: one with an edit that is allowed, one that is refused, and one that is cancelled", async () => {
    const { home, work, file } = await folders(agent);
    const model = await scriptedModel({ path: file, from: "def greet", to: "def welcome" });
    onTestFinished(() => model.close());
    const { PATH = "" } = process.env;
    const env = { PATH, HOME: home, NO_BROWSER: "1", ...agent.env(model.url) };
    const violations: Error[] = [];
    const asked: ToolCallUpdate[] = [];
    let kind = "allow_once";
    const editor = await connect(acp, {
      ...program(process.execPath, agent.args, { cwd: work, env }),
      answerTimeout: 60_000,
      onViolation: (violation) => void violations.push(violation),
    }).acp({
      "session/request_permission": ({ toolCall, options }) => {
        asked.push(toolCall);
        const { optionId } = options.find((one) => one.kind === kind)!;
        return { outcome: { outcome: "selected", optionId } };
      },
    });
    onTestFinished(() => editor.close());

    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
    expect(await editor.call("initialize", { protocolVersion: 1, clientCapabilities })).toMatchObject({
      protocolVersion: 1,
    });
    const { sessionId } = await editor.call("session/new", { cwd: work, mcpServers: [] });

    /** A turn, with the text that it streamed. */
    async function turn(prompt: string, options = {}, onText = () => {}) {
      const call = editor.call("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] }, options);
      let text = "";
      for await (const { update } of call)
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
          text += update.content.text;
          onText();
        }
      return { text, stopReason: (await call).stopReason };
    }

    const allowed = await turn("Rename the function.");
    expect(allowed).toMatchObject({ stopReason: "end_turn", text: expect.stringContaining(DONE) });
    expect(asked[0]!.content).toContainEqual(expect.objectContaining({ type: "diff", newText: AFTER }));
    expect(await readFile(file, "utf8")).toBe(AFTER);

    await writeFile(file, BEFORE);
    kind = "reject_once";
    await turn("Rename it again.");
    expect(asked).toHaveLength(2);
    expect(await readFile(file, "utf8")).toBe(BEFORE);

    const abort = new AbortController();
    const cancelled = await turn(`Please ${WAIT}.`, { signal: abort.signal }, () => abort.abort());
    expect(cancelled.stopReason).toBe("cancelled");
    expect(violations).toEqual([]);
  }, 120_000);
});
